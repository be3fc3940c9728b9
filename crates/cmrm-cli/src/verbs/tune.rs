//! `cmrm tune`: search for settings by observed labels only, and write those of the best for `cmrm fit --config`.

use std::process::ExitCode;

use clap::Args;
use cmrm::criterion::Criterion;
use cmrm_data::Fingerprint;
use cmrm_fit::{Candidate, Fit, FitConfig, Space, choose};
use cmrm_run::RunDir;
use cmrm_run::names::{BEST, SEARCH, SUMMARY, SUMMARY_TEXT, TRIALS};
use cmrm_train::tune::{SearchConfig, Trial};
use serde::{Deserialize, Serialize};

use crate::args::FitArgs;
use crate::config;
use crate::failure::{Failure, Result};
use crate::load::{Loaded, load};
use crate::progress::{decide_penalty, decide_transition, stop_at_interrupt, watch_interrupts};
use crate::resume::{self, Begun};
use crate::terminal::Terminal;
use crate::tuning::{Found, SpaceArgs, run_search};
use crate::verbs::fit::show_rows;

#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub fit: FitArgs,
    #[command(flatten)]
    pub space: SpaceArgs,
    /// Folds; 1 for a single hold-out (--hold-out) [default: 5].
    #[arg(long)]
    pub folds: Option<usize>,
    /// Share of the rows to hold out with a single fold [default: 0.2].
    #[arg(long, value_name = "SHARE", value_parser = crate::args::share)]
    pub hold_out: Option<f64>,
    /// Criterion that decides: observed, weighted, corrected, posterior or agreement [default: observed].
    #[arg(long)]
    pub criterion: Option<Criterion>,
}

/// What makes two searches the same, besides the settings of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchInfo {
    space: Space,
    folds: usize,
    hold_out: f64,
    criterion: Criterion,
    seed: u64,
    fingerprint: String,
}

/// A trial with its setting's values, as a line of `trials.jsonl`.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    trial: Trial,
    values: serde_json::Value,
}

pub fn run(args: TuneArgs, terminal: &Terminal) -> Result<ExitCode> {
    if args.fit.auto || args.fit.sensitivity {
        return Err(Failure::input("--auto and --sensitivity belong to `cmrm fit`"));
    }
    if let Some(folds) = args.folds.filter(|folds| !(1..=100).contains(folds)) {
        return Err(Failure::input(format!("--folds {folds} is out of range: expected 1 to 100")));
    }
    let begun = resume::begun(&args.fit, Begun::Search)?;
    let config = config::resolve(&args.fit, begun.as_ref().map(|(_, own)| own))?;
    let mut config = config.for_one_model("a search for settings")?;
    let before = begun.as_ref().map(|(folder, _)| SearchInfo::read(folder)).transpose()?.flatten();
    let mut info = SearchInfo::asked(&args, config.seed, before.as_ref());
    if args.hold_out.is_some() && info.folds > 1 {
        return Err(Failure::input("--hold-out is for a single fold; add --folds 1, or leave it out"));
    }
    if let Some((folder, own)) = &begun {
        config = resume::agree(folder, own, config, &args.fit, Begun::Search)?;
        if let Some(before) = &before {
            resume::refuse_difference(folder, before, &info, Begun::Search)?;
        }
    }
    if args.fit.dry_run {
        let candidates = info.space.candidates(&config)?;
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.setting.name.clone() + "\n").collect();
        terminal.data(names.concat().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let own = begun.as_ref().map(|(_, own)| own.clone());
    let folder = match begun {
        None => None,
        Some((folder, _)) => {
            let folder = Begun::Search.take(folder)?;
            if Begun::Search.is_finished(&folder) {
                let place = folder.path().display();
                terminal.say(format!("{place}: the search is already finished; nothing was trained"));
                return show(&folder.read_json(SUMMARY)?, terminal);
            }
            Some(folder)
        }
    };
    if let (None, Some(out)) = (&folder, &args.fit.out) {
        RunDir::refuse_used(out)?;
    }
    // The test data is for `fit`; a search that never reads it cannot be led by it.
    let reading = FitConfig { test: None, ..config.clone() };
    let loaded = Loaded { test: None, ..load(&reading, args.fit.read.cache.as_deref())? };
    let mut fit = Fit::new(&config, &loaded, &stop_at_interrupt())?;
    drop(loaded);
    if let (Some(folder), Some(own)) = (&folder, &own) {
        resume::agree_on_rows(folder, own, fit.config(), Begun::Search)?;
    }
    show_rows(fit.rows(), terminal);
    fit.check_memory()?;
    fit = fit.to_search()?;
    decide_transition(&mut fit, info.space.losses.iter().any(|loss| loss.needs_transition()), terminal)?;
    decide_penalty(&mut fit, terminal)?;
    let (config, rows) = (fit.config(), fit.rows());
    let candidates = info.space.candidates(config)?;
    let name = format!("{}-tune", rows.name);
    let folder = folder.map_or_else(|| RunDir::create(args.fit.out.as_deref(), &name), Ok)?;
    info.fingerprint = Fingerprint::of(&rows.train.data).0;
    let done = match &before {
        Some(before) if before.fingerprint != info.fingerprint => {
            return Err(resume::other_data(&folder, "data", &config.data));
        }
        Some(_) => earlier_trials(&folder)?,
        None => Vec::new(),
    };
    // Everything has been checked: only now the folder changes.
    folder.begin(&config.to_toml()?)?;
    folder.write_json(SEARCH, &info)?;
    terminal.say(format!("{} settings to try, {} folds", candidates.len(), info.folds));
    watch_interrupts();
    let search = SearchConfig {
        folds: info.folds,
        hold_out: info.hold_out,
        criterion: info.criterion,
        seed: info.seed,
        ..SearchConfig::default()
    };
    let mut save = |trials: &[Trial]| Ok(folder.write(TRIALS, &lines(&candidates, trials)?)?);
    let searched = run_search(&search, &candidates, &rows.train, done, terminal, &mut save)?;
    let path = folder.path().display();
    if !searched.complete {
        return Err(Failure::interrupted(format!(
            "interrupted after {} trials; continue with `cmrm tune --resume --out {path}`",
            searched.trials.len()
        )));
    }
    let place = (path.to_string(), rows.name.clone(), rows.train.data.len());
    let found = Found::new(place, &search, &candidates, &searched.trials)?;
    let (best, _) = choose(&candidates, &searched.trials, search.criterion)?;
    folder.write(BEST, &best.config.to_toml()?)?;
    folder.write(SUMMARY_TEXT, &found.to_markdown())?;
    // Last of all: a folder with this file is a finished search.
    folder.write_json(SUMMARY, &found)?;
    show(&found, terminal)
}

/// What a search found, and what to do with it.
fn show(found: &Found, terminal: &Terminal) -> Result<ExitCode> {
    let next = format!("\nTrain with it: cmrm fit --config {}/{BEST}\n", found.search);
    terminal.result(found, &(found.to_text() + &next))?;
    Ok(ExitCode::SUCCESS)
}

impl SearchInfo {
    /// Of a search that was begun.
    fn read(folder: &RunDir) -> Result<Option<Self>> {
        Ok(if folder.file(SEARCH).exists() { Some(folder.read_json(SEARCH)?) } else { None })
    }

    /// What the flags ask for; what they leave open is as `before`, or the default. The data is looked at later.
    fn asked(args: &TuneArgs, seed: u64, before: Option<&Self>) -> Self {
        let default = SearchConfig::default();
        SearchInfo {
            space: Space::from(args.space.clone()).or(before.map(|before| &before.space)),
            folds: args.folds.or(before.map(|before| before.folds)).unwrap_or(default.folds),
            hold_out: args.hold_out.or(before.map(|before| before.hold_out)).unwrap_or(default.hold_out),
            criterion: args.criterion.or(before.map(|before| before.criterion)).unwrap_or(default.criterion),
            seed,
            fingerprint: before.map(|before| before.fingerprint.clone()).unwrap_or_default(),
        }
    }
}

/// Every trial as a line of JSON.
fn lines(candidates: &[Candidate], trials: &[Trial]) -> Result<String> {
    let mut text = String::new();
    for trial in trials {
        let candidate = candidates.iter().find(|candidate| candidate.setting.name == trial.setting);
        let values = candidate.map(|Candidate { config, .. }| {
            let envelope = config.envelope();
            serde_json::json!({
                "preset": config.preset, "lambda": envelope.lambda, "alpha": envelope.alpha,
                "temperature": envelope.temperature, "loss": config.loss, "learning_rate": config.learning_rate,
                "l2": config.l2(), "epochs": config.epochs(),
            })
        });
        let line = Line { trial: trial.clone(), values: values.unwrap_or_default() };
        text += &serde_json::to_string(&line).map_err(|error| Failure::internal(format!("trials.jsonl: {error}")))?;
        text.push('\n');
    }
    Ok(text)
}

/// The trials of a search under way.
fn earlier_trials(folder: &RunDir) -> Result<Vec<Trial>> {
    let path = folder.file(TRIALS);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let read = |(row, line): (usize, &str)| {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| Failure::input(format!("{}: line {}: {error}", path.display(), row + 1)))?;
        Ok(line.trial)
    };
    folder.read(TRIALS)?.lines().enumerate().map(read).collect()
}
