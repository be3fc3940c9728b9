//! `cmrm fit`: train the envelope and the fair base arm beside it, judge both, keep everything in a run's folder.

use std::path::Path;
use std::process::ExitCode;

use cmrm_data::Fingerprint;
use cmrm_fit::{Fit, FitConfig, FitOutcome, Prepared, Shown, auto_candidates, choose};
use cmrm_run::summary::FitSummary;
use cmrm_run::{DataRoot, RunDir, write_file};
use cmrm_train::Checkpoint;
use cmrm_train::train::Trainer;
use cmrm_train::tune::SearchConfig;

use crate::args::FitArgs;
use crate::config;
use crate::failure::{Failure, Result, in_read_file, in_stored};
use crate::load::{load, names_data_set};
use crate::progress::{
    Steps, Watch, decide_penalty, decide_transition, interrupted, stop_at_interrupt, watch_interrupts,
};
use crate::resume::{self, Begun, DataStamp};
use crate::sources::{STANDARD_INPUT, is_stream};
use crate::terminal::Terminal;
use crate::tuning::run_search;

pub fn run(args: FitArgs, terminal: &Terminal) -> Result<ExitCode> {
    let begun = resume::begun(&args, Begun::Fit)?;
    let mut config = config::resolve(&args, begun.as_ref().map(|(_, own)| own))?;
    for (flag, given) in [("--auto", args.auto), ("--sensitivity", args.sensitivity)] {
        if given {
            config = config.for_one_model(flag)?;
        }
    }
    if args.dry_run {
        // What is here is looked at; what would have to be downloaded, or is not there yet, is not.
        let here =
            Path::new(&config.data).exists() || config.data == STANDARD_INPUT || config.data.contains(['*', '?']);
        if here && !names_data_set(&config.data) {
            let loaded = load(&config, args.read.cache.as_deref())?;
            show_rows(&Prepared::new(&config, &loaded, &stop_at_interrupt())?, terminal);
        }
        terminal.data(config.to_toml()?.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let own = begun.as_ref().map(|(_, own)| own.clone());
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
    if let (None, Some(out)) = (&run, &args.out) {
        RunDir::refuse_used(out)?;
    }
    let loaded = load(&config, args.read.cache.as_deref())?;
    let mut fit = Fit::new(&config, &loaded, &stop_at_interrupt())?;
    drop(loaded);
    if let (Some(run), Some(own)) = (&run, &own) {
        resume::agree_on_rows(run, own, fit.config(), Begun::Fit)?;
    }
    show_rows(fit.rows(), terminal);
    if is_stream(Path::new(&fit.config().data)) {
        terminal.say(
            "note: rows from standard input or a pipe are not kept; `cmrm review` will ask for them as a file (--data FILE)",
        );
    }
    fit.check_memory()?;
    // A run that goes on has the settings that were found when it began.
    decide_transition(&mut fit, false, terminal)?;
    decide_penalty(&mut fit, terminal)?;
    if args.auto && !args.resume {
        fit = search_first(fit, terminal)?;
    }
    let stamp = DataStamp::of(fit.rows())?;
    // A vote has no epochs to go on from.
    let mut trainer = if fit.config().is_vote() { None } else { Some(fit.trainer()?) };
    let run = run.map_or_else(|| RunDir::create(args.out.as_deref(), &fit.rows().name), Ok)?;
    if args.resume {
        stamp.check(&run, fit.config())?;
        match &mut trainer {
            Some(trainer) => restore(trainer, &run, terminal)?,
            None => {
                terminal.say(format!("the model {} keeps no checkpoint: it starts over", fit.config().model().name()))
            }
        }
    }
    // Everything has been checked: only now the folder changes. From here on Ctrl-C leaves a run that can go on.
    watch_interrupts();
    run.begin(&fit.config().to_toml()?)?;
    stamp.write(&run)?;
    let outcome = match trainer {
        Some(mut trainer) => {
            train(&mut trainer, &run, terminal)?;
            let history = trainer.history().to_vec();
            let arms = trainer.finish()?;
            fit.finish(arms, history)?
        }
        None => vote(fit, &run, terminal)?,
    };
    let summary = finish(&outcome, stamp.train, &run, &args, terminal)?;
    terminal.result(&summary, &summary.to_text())?;
    Ok(ExitCode::SUCCESS)
}

/// What the columns are and what becomes of them, and what else there is to say about the rows.
pub fn show_rows(rows: &Prepared, terminal: &Terminal) {
    if let Some(columns) = &rows.columns {
        terminal.say(columns.to_string().trim_end());
    }
    rows.notes.iter().for_each(|note| terminal.say(note));
}

/// The summary of a run that is finished already. Nothing is trained or written.
fn show_finished(run: &RunDir, args: &FitArgs, terminal: &Terminal) -> Result<ExitCode> {
    RunDir::open(run.path())?;
    let place = run.path().display();
    if args.sensitivity && run.read_report()?.sensitivity.is_none() {
        return Err(Failure::input(format!(
            "{place}: the run is finished, without --sensitivity; fit again with the flag and a new --out"
        )));
    }
    let summary = run.read_summary()?;
    // A process that was killed in its very last moment has left its checkpoint. It does no harm where it cannot go.
    if run.has_progress()
        && let Ok(run) = RunDir::lock(run.path())
    {
        let _ = run.remove_progress();
    }
    terminal.say(format!("{place}: the run is already finished; nothing was trained"));
    terminal.result(&summary, &summary.to_text())?;
    Ok(ExitCode::SUCCESS)
}

/// Settings by a short search: six of them, three folds of the rows that are not for testing, observed labels only.
fn search_first(fit: Fit, terminal: &Terminal) -> Result<Fit> {
    let candidates = auto_candidates(fit.config())?;
    let seed = fit.config().seed;
    let search = SearchConfig { folds: 3, finalists: candidates.len(), seed, ..SearchConfig::default() };
    watch_interrupts();
    let searching = fit.to_search()?;
    let rows = &searching.rows().train;
    let searched = run_search(&search, &candidates, rows, Vec::new(), terminal, &mut |_| Ok(()))?;
    if !searched.complete {
        return Err(Failure::interrupted("interrupted while searching for settings; nothing was trained"));
    }
    let (chosen, choice) = choose(&candidates, &searched.trials, search.criterion)?;
    terminal.say(format!("chosen by observed labels: {}", choice.setting));
    Ok(fit.with_config(chosen.config.clone()))
}

/// Goes on from the run's checkpoint, if there is one.
fn restore(trainer: &mut Trainer<'_, f32>, run: &RunDir, terminal: &Terminal) -> Result<()> {
    let checkpoint = run.checkpoint();
    if !checkpoint.exists() {
        terminal.say("no checkpoint yet: training starts with the first epoch");
        return Ok(());
    }
    let bytes = std::fs::read(&checkpoint).map_err(|error| in_read_file(&checkpoint, &error))?;
    Checkpoint::from_bytes(&bytes)
        .and_then(|saved| saved.resume(trainer))
        .map_err(|error| in_stored(&checkpoint, error))?;
    let ended = if trainer.has_ended() { " (the last); writing the results" } else { "" };
    terminal.say(format!("resumed after epoch {}{ended}", trainer.epochs_done()));
    Ok(())
}

/// Trains to the end. The checkpoint of the last epoch stays until the run is finished.
fn train(trainer: &mut Trainer<'_, f32>, run: &RunDir, terminal: &Terminal) -> Result<()> {
    let checkpoint = run.checkpoint();
    let mut watch = Watch::new(terminal, trainer.epochs(), checkpoint.clone());
    let outcome = trainer.run(&mut watch);
    watch.finish();
    outcome.map_err(|error| {
        if error.is_internal() {
            return error.into();
        }
        let kept = if checkpoint.exists() {
            format!("; the last good checkpoint is {}", checkpoint.display())
        } else {
            String::new()
        };
        Failure::input(format!("{error}{kept}"))
    })?;
    if interrupted() && !trainer.has_ended() {
        // The epoch under way was thrown away: this is the state after the last whole one.
        write_file(&checkpoint, &Checkpoint::of(trainer).to_bytes()?)?;
        return Err(Failure::interrupted(format!(
            "interrupted after epoch {}; continue with `cmrm fit --resume --out {}`",
            trainer.epochs_done(),
            run.path().display()
        )));
    }
    Ok(())
}

/// Fits a vote to the end. Interrupted or killed, it has left nothing to go on from, and starts over with the same bits.
fn vote(fit: Fit, run: &RunDir, terminal: &Terminal) -> Result<FitOutcome> {
    let mut steps = Steps::new(terminal);
    let outcome = fit.run_vote(&mut steps);
    steps.finish();
    match outcome {
        Err(cmrm_fit::Error::Train(cmrm_train::Error::Stopped)) => Err(Failure::interrupted(format!(
            "interrupted; start over with `cmrm fit --resume --out {}`",
            run.path().display()
        ))),
        outcome => Ok(outcome?),
    }
}

/// Writes models, records, calibration and the report, and sums the run up.
fn finish(
    outcome: &FitOutcome,
    fingerprint: Fingerprint,
    run: &RunDir,
    args: &FitArgs,
    terminal: &Terminal,
) -> Result<FitSummary> {
    outcome.write(run)?;
    let mut info = outcome.info(fingerprint)?;
    let summary = outcome.summary(run.path().display().to_string(), &info)?;
    run.write_summary(&summary)?;
    let mut sensitivity = None;
    if args.sensitivity {
        terminal.say("training with other values of α and λ …");
        sensitivity = outcome.sensitivity(&mut stop_at_interrupt())?;
        if sensitivity.is_none() {
            terminal.say("note: interrupted; the report will have no sensitivity section");
        }
    }
    let shown = shown(outcome, args.read.cache.as_deref()).unwrap_or_else(|failure| {
        // The run is worth more than the rows in its report.
        terminal.say(format!("note: the report does not show rows, since they could not be read again: {failure}"));
        Shown::default()
    });
    let data = &outcome.config.data;
    if !names_data_set(data) && !is_stream(Path::new(data)) {
        info.data_root = DataRoot::here(run.path());
    }
    outcome.finish_run(run, info, &summary, shown, sensitivity)?;
    Ok(summary)
}

/// The suspects as the data has them, and the fingerprint of its rows. The data is read again: to hold it beside the features
/// all through training would cost as much memory as they do.
fn shown(outcome: &FitOutcome, cache: Option<&Path>) -> Result<Shown> {
    let config: &FitConfig = &outcome.config;
    Ok(outcome.shown(load(config, cache)?.train)?)
}
