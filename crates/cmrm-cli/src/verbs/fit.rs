//! `cmrm fit`: train the envelope and the fair base arm beside it, judge both, keep everything in a run's folder.

use std::process::ExitCode;

use cmrm_fit::{
    FitConfig, Material, Parts, Prepared, TrainingParts, auto_candidates, check_memory, judged, known_wrong, prepare,
    rows_to_search, summarise, trainer, training_rows,
};
use cmrm_run::{BASE, MARGINS, TrainingRows};
use cmrm_train::Checkpoint;
use cmrm_train::train::{EpochStats, Trained, Trainer};
use cmrm_train::tune::{SearchConfig, Setting, choose};

use crate::args::FitArgs;
use crate::calibration::Calibration;
use crate::config;
use crate::failure::{Failure, Result, in_read_file, in_stored};
use crate::load::load;
use crate::penalty;
use crate::progress::{Watch, interrupted, watch_interrupts};
use crate::reporting::{self, sensitivity};
use crate::resume::{self, Begun, DataStamp};
use crate::run_dir::{RunDir, RunInfo, write_file};
use crate::summary::FitSummary;
use crate::terminal::Terminal;
use crate::tuning::run_search;
use crate::verbs::report;

pub fn run(args: FitArgs, terminal: &Terminal) -> Result<ExitCode> {
    let begun = resume::begun(&args, Begun::Fit)?;
    let mut config = config::resolve(&args, begun.as_ref().map(|(_, own)| own))?;
    if args.dry_run {
        terminal.data(config.to_toml()?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let run = match begun {
        None => None,
        Some((run, own)) => {
            config = resume::agree(&run, &own, config, &args, Begun::Fit)?;
            let run = Begun::Fit.take(run)?;
            if run.is_finished() {
                return show_finished(&run, &args, terminal);
            }
            Some(run)
        }
    };
    let loaded = load(&config, args.read.cache.as_deref())?;
    let (prepared, words) = prepare(&config, &loaded)?;
    drop(loaded);
    words.iter().for_each(|words| terminal.say(words));
    check_memory(&config, &prepared).map_err(|error| error.in_data(&config.data))?;
    let run = run.map_or_else(|| RunDir::create(args.out.as_deref(), &prepared.name), Ok)?;
    let parts = TrainingParts::of(&prepared)?;
    // A run that goes on has the settings that were found when it began.
    config = penalty::decide(&config, parts.examples()?, prepared.data.classes.len(), terminal)?;
    if args.auto && !args.resume {
        config = search_first(&config, &prepared, terminal)?;
    }
    let stamp = DataStamp::of(&prepared, &parts)?;
    let mut trainer = trainer(&config, &prepared, &parts)?;
    if args.resume {
        stamp.check(&run, &config)?;
        restore(&mut trainer, &run, terminal)?;
    }
    // Everything has been checked: only now the folder changes. From here on Ctrl-C leaves a run that can go on.
    watch_interrupts();
    run.begin(&config.to_toml()?)?;
    stamp.write(&run)?;
    let trained = train(trainer, &run, terminal)?;
    let (args, config, prepared, fingerprint) = (&args, &config, &prepared, &stamp.train.0);
    let summary = finish(&Fit { args, config, prepared, parts: &parts, fingerprint, run: &run, terminal }, &trained)?;
    terminal.result(&summary, &summary.to_text())?;
    Ok(ExitCode::SUCCESS)
}

/// The summary of a run that is finished already. Nothing is trained or written.
fn show_finished(run: &RunDir, args: &FitArgs, terminal: &Terminal) -> Result<ExitCode> {
    RunDir::open(run.path())?;
    let place = run.path().display();
    if args.sensitivity && report::read(run)?.sensitivity.is_none() {
        return Err(Failure::input(format!(
            "{place}: the run is finished, without --sensitivity; fit again with the flag and a new --out"
        )));
    }
    let summary: FitSummary = run.read_json("summary.json")?;
    // A process that was killed in its very last moment has left its checkpoint. It does no harm where it cannot go.
    if run.has_progress()
        && let Ok(run) = RunDir::lock(run.path())
    {
        let _ = run.remove_progress();
    }
    terminal.say(format!("{place}: the run is finished already; nothing was trained"));
    terminal.result(&summary, &summary.to_text())?;
    Ok(ExitCode::SUCCESS)
}

/// Settings by a short search: six of them, three folds of the rows that are not for testing, observed labels only.
fn search_first(config: &FitConfig, prepared: &Prepared, terminal: &Terminal) -> Result<FitConfig> {
    let candidates = auto_candidates(config)?;
    let data = rows_to_search(prepared)?;
    let search = SearchConfig { folds: 3, finalists: candidates.len(), seed: config.seed, ..SearchConfig::default() };
    watch_interrupts();
    let searched = run_search(&search, &candidates, &data, Vec::new(), terminal, &mut |_| Ok(()))?;
    if !searched.complete {
        return Err(Failure::interrupted("interrupted while searching for settings; nothing was trained"));
    }
    let settings: Vec<Setting> = candidates.iter().map(|candidate| candidate.setting.clone()).collect();
    let choice = choose(&settings, &searched.trials, search.criterion)
        .ok_or_else(|| Failure::input("no setting could be judged; fit without --auto"))?;
    terminal.say(format!("chosen by observed labels: {}", choice.setting));
    let chosen = candidates.into_iter().find(|candidate| candidate.setting.name == choice.setting);
    Ok(chosen.map_or_else(|| config.clone(), |candidate| candidate.config))
}

/// The arms, and the figures of all epochs.
type Done = (Vec<Trained<f32>>, Vec<EpochStats>);

/// Goes on from the run's checkpoint, if there is one.
fn restore(trainer: &mut Trainer<'_, f32>, run: &RunDir, terminal: &Terminal) -> Result<()> {
    let checkpoint = run.checkpoint();
    if !checkpoint.exists() {
        terminal.say("no checkpoint yet: training starts with the first epoch");
        return Ok(());
    }
    let bytes = std::fs::read(&checkpoint).map_err(|error| in_read_file(&checkpoint, error))?;
    Checkpoint::from_bytes(&bytes)
        .and_then(|saved| saved.resume(trainer))
        .map_err(|error| in_stored(&checkpoint, error))?;
    let ended = if trainer.has_ended() { ", the last; writing the results" } else { "" };
    terminal.say(format!("resumed after epoch {}{ended}", trainer.epochs_done()));
    Ok(())
}

/// Trains to the end. The checkpoint of the last epoch stays until the run is finished.
fn train(mut trainer: Trainer<'_, f32>, run: &RunDir, terminal: &Terminal) -> Result<Done> {
    let checkpoint = run.checkpoint();
    let mut watch = Watch::new(terminal, trainer.epochs(), checkpoint.clone());
    let outcome = trainer.run(&mut watch);
    watch.finish();
    outcome.map_err(|error| {
        let kept = if checkpoint.exists() {
            format!("; the last good checkpoint is {}", checkpoint.display())
        } else {
            String::new()
        };
        Failure::input(format!("{error}{kept}"))
    })?;
    if interrupted() && !trainer.has_ended() {
        // The epoch under way was thrown away: this is the state after the last whole one.
        write_file(&checkpoint, &Checkpoint::of(&trainer).to_bytes()?)?;
        return Err(Failure::interrupted(format!(
            "interrupted after epoch {}; go on with `cmrm fit --resume --out {}`",
            trainer.epochs_done(),
            run.path().display()
        )));
    }
    let mut lines = String::new();
    for stats in trainer.history() {
        lines += &serde_json::to_string(stats).map_err(|e| Failure::input(format!("metrics.jsonl: {e}")))?;
        lines.push('\n');
    }
    run.write("metrics.jsonl", &lines)?;
    let history = trainer.history().to_vec();
    Ok((trainer.finish()?, history))
}

/// A fit whose training has ended.
struct Fit<'a> {
    args: &'a FitArgs,
    config: &'a FitConfig,
    prepared: &'a Prepared,
    parts: &'a TrainingParts,
    fingerprint: &'a str,
    run: &'a RunDir,
    terminal: &'a Terminal,
}

/// Writes models, records, calibration and the report, and sums the run up.
fn finish(fit: &Fit<'_>, (trained, history): &Done) -> Result<FitSummary> {
    let &Fit { args, config, prepared, parts, fingerprint, run, terminal } = fit;
    let data = &prepared.data;
    let chosen = config.preset.name();
    let TrainingParts { train, validation, .. } = parts;
    let names = trained.iter().map(|arm| arm.name.clone()).collect();
    let info = RunInfo::new(data.classes.clone(), names, chosen.into(), fingerprint.into());
    for arm in trained {
        write_file(&run.model_file(&arm.name, chosen), &arm.model.to_bytes()?)?;
    }
    run.write("preprocess.json", &(prepared.preprocess.to_json()? + "\n"))?;
    let robust = trained.iter().rfind(|arm| arm.name != BASE || trained.len() == 1);
    let robust = robust.ok_or_else(|| Failure::input("no arm was trained"))?;
    let wrong = known_wrong(prepared);
    let ids = prepared.ids_of(&train.rows);
    let rows = TrainingRows { ids: &ids, ..training_rows(train, robust, wrong.as_deref()) };
    rows.write(&run.file(MARGINS))?;
    if !validation.is_empty() {
        for arm in trained {
            let probabilities = arm.model.probabilities(validation.matrix()?)?;
            Calibration { probabilities, labels: validation.labels.clone(), classes: data.classes.len() }
                .write(&run.calibration_file(&arm.name, chosen))?;
        }
    }
    let (test, labels) = judged(prepared)?;
    let test = test.as_ref();
    let place = run.path().display().to_string();
    let summary = summarise(Parts { config, prepared, run: place, trained, rows: &rows, test, labels, info: &info })?;
    run.write_json("summary.json", &summary)?;
    run.write("report.md", &summary.to_markdown())?;
    let sensitivity = if args.sensitivity {
        terminal.say("training with other values of α and λ …");
        let measured = sensitivity::measure(config, prepared, train, test, labels.words())?;
        if measured.is_none() {
            terminal.say("note: interrupted; the run is finished without them");
        }
        measured
    } else {
        None
    };
    let material =
        Material { config, prepared, train, trained, robust, rows: &rows, history, summary: &summary, sensitivity };
    let rows_fingerprint = reporting::write(run, material, args.read.cache.as_deref(), terminal)?;
    run.finish(&RunInfo { rows_fingerprint, ..info })?;
    Ok(summary)
}
