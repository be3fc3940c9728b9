//! `cmrm fit`: train the envelope and the fair base arm beside it, judge both, keep everything in a run's folder.

use std::process::ExitCode;

use cmrm_data::Fingerprint;
use cmrm_fit::{
    FitConfig, Material, Parts, Prepared, TrainingParts, auto_candidates, judged, known_wrong, prepare, rows_to_search,
    summarise, trainer, training_rows,
};
use cmrm_run::{BASE, MARGINS};
use cmrm_train::Checkpoint;
use cmrm_train::train::{EpochStats, Trained};
use cmrm_train::tune::{SearchConfig, Setting, choose};

use crate::args::FitArgs;
use crate::calibration::Calibration;
use crate::config;
use crate::failure::{Failure, Result, in_stored};
use crate::load::load;
use crate::penalty;
use crate::progress::{Watch, interrupted, watch_interrupts};
use crate::reporting::{self, sensitivity};
use crate::run_dir::{RunDir, RunInfo};
use crate::summary::FitSummary;
use crate::terminal::Terminal;
use crate::tuning::run_search;

pub fn run(args: FitArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut config = config::resolve(&args)?;
    if args.dry_run {
        terminal.data(config.to_toml()?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = load(&config, args.read.cache.as_deref())?;
    let (prepared, words) = prepare(&config, &loaded)?;
    drop(loaded);
    words.iter().for_each(|words| terminal.say(words));
    let run = RunDir::create(args.out.as_deref(), &prepared.name, args.resume)?;
    let parts = TrainingParts::of(&prepared)?;
    // A run that goes on has the settings that were found when it began.
    config = penalty::decide(&config, parts.examples()?, prepared.data.classes.len(), terminal)?;
    if args.auto && !args.resume {
        config = search_first(&config, &prepared, terminal)?;
    }
    run.write("config.toml", &config.to_toml()?)?;

    let trained = train(&config, &prepared, &parts, &run, args.resume, terminal)?;
    let summary = finish(&args, &config, &prepared, &parts, &run, &trained, terminal)?;
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

fn train(
    config: &FitConfig,
    prepared: &Prepared,
    parts: &TrainingParts,
    run: &RunDir,
    resume: bool,
    terminal: &Terminal,
) -> Result<Done> {
    let mut trainer = trainer(config, prepared, parts)?;
    let checkpoint = run.checkpoint();
    if resume && checkpoint.exists() {
        Checkpoint::read(&checkpoint)
            .and_then(|saved| saved.resume(&mut trainer))
            .map_err(|error| in_stored(&checkpoint, error))?;
        terminal.say(format!("resumed after epoch {}", trainer.epochs_done()));
    }
    watch_interrupts();
    let mut watch = Watch::new(terminal, config.epochs(), checkpoint.clone());
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
    let trained = trainer.finish()?;
    // A finished run is described by its models; the checkpoint is only for going on.
    if checkpoint.exists() {
        std::fs::remove_file(&checkpoint).map_err(|error| crate::failure::in_file(&checkpoint, error))?;
    }
    Ok((trained, history))
}

/// Writes models, records, calibration and the report, and sums the run up.
fn finish(
    args: &FitArgs,
    config: &FitConfig,
    prepared: &Prepared,
    parts: &TrainingParts,
    run: &RunDir,
    (trained, history): &Done,
    terminal: &Terminal,
) -> Result<FitSummary> {
    let data = &prepared.data;
    let chosen = config.preset.name();
    let TrainingParts { train, validation, .. } = parts;
    let fingerprint = Fingerprint::of(train);
    let names = trained.iter().map(|arm| arm.name.clone()).collect();
    let info = RunInfo::new(data.classes.clone(), names, chosen.into(), fingerprint.0);
    for arm in trained {
        arm.model.write(&run.model_file(&arm.name, chosen))?;
    }
    run.write("preprocess.json", &(prepared.preprocess.to_json()? + "\n"))?;
    let robust = trained.iter().rfind(|arm| arm.name != BASE || trained.len() == 1);
    let robust = robust.ok_or_else(|| Failure::input("no arm was trained"))?;
    let wrong = known_wrong(prepared);
    let rows = training_rows(train, robust, wrong.as_deref());
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
    reporting::write(run, material, args.read.cache.as_deref(), terminal)?;
    // Last of all: a folder with this file is a finished run.
    run.write_json("run.json", &info)?;
    Ok(summary)
}
