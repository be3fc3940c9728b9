//! `cmrm tune`: search for settings by observed labels only, and write those of the best for `cmrm fit --config`.

use std::process::ExitCode;

use clap::Args;
use cmrm::criterion::Criterion;
use cmrm_data::Fingerprint;
use cmrm_fit::{Candidate, FitConfig, Space, prepare, rows_to_search};
use cmrm_train::train::Examples;
use cmrm_train::tune::{SearchConfig, Trial};
use serde::{Deserialize, Serialize};

use crate::args::FitArgs;
use crate::config;
use crate::failure::{Failure, Result};
use crate::load::{Loaded, load};
use crate::penalty;
use crate::progress::watch_interrupts;
use crate::run_dir::RunDir;
use crate::terminal::Terminal;
use crate::tuning::{Found, SpaceArgs, run_search};

#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub fit: FitArgs,
    #[command(flatten)]
    pub space: SpaceArgs,
    /// Folds; 1 judges by a hold-out of --hold-out of the rows.
    #[arg(long, default_value_t = 5)]
    pub folds: usize,
    /// Share of the rows to judge by with a single fold.
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    pub hold_out: f64,
    /// What decides: observed, weighted, corrected, posterior or agreement.
    #[arg(long, default_value = "observed")]
    pub criterion: Criterion,
}

/// What makes two searches the same.
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
    let mut config = config::resolve(&args.fit)?;
    let space = Space::from(args.space);
    let space = match (&args.fit.out, args.fit.resume && space == Space::default()) {
        (Some(out), true) => RunDir::at(out).read_json::<SearchInfo>("search.json")?.space,
        _ => space,
    };
    if args.fit.dry_run {
        let candidates = space.candidates(&config)?;
        let names: Vec<String> = candidates.iter().map(|candidate| candidate.setting.name.clone() + "\n").collect();
        terminal.data(names.concat().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    // The test data is for `fit`; a search that never reads it cannot be led by it.
    let reading = FitConfig { test: None, ..config.clone() };
    let loaded = Loaded { test: None, ..load(&reading, args.fit.read.cache.as_deref())? };
    let (prepared, words) = prepare(&config, &loaded)?;
    drop(loaded);
    words.iter().for_each(|words| terminal.say(words));
    let data = rows_to_search(&prepared)?;
    config = penalty::decide(&config, Examples::new(data.matrix()?, &data.labels), data.classes.len(), terminal)?;
    let candidates = space.candidates(&config)?;
    let folder = RunDir::make(args.fit.out.as_deref(), &format!("{}-tune", prepared.name), args.fit.resume)?;
    let info = SearchInfo {
        space,
        folds: args.folds,
        hold_out: args.hold_out,
        criterion: args.criterion,
        seed: config.seed,
        fingerprint: Fingerprint::of(&data).0,
    };
    let done = if args.fit.resume { earlier_trials(&folder, &info)? } else { Vec::new() };
    folder.write("config.toml", &config.to_toml()?)?;
    folder.write_json("search.json", &info)?;
    terminal.say(format!("{} settings to try, {} folds", candidates.len(), args.folds));
    watch_interrupts();
    let search = SearchConfig {
        folds: args.folds,
        hold_out: args.hold_out,
        criterion: args.criterion,
        seed: config.seed,
        ..SearchConfig::default()
    };
    let mut save = |trials: &[Trial]| folder.write("trials.jsonl", &lines(&candidates, trials)?);
    let searched = run_search(&search, &candidates, &data, done, terminal, &mut save)?;
    let path = folder.path().display();
    if !searched.complete {
        return Err(Failure::interrupted(format!(
            "interrupted after {} trials; go on with `cmrm tune --resume --out {path}`",
            searched.trials.len()
        )));
    }
    let place = (path.to_string(), prepared.name.clone(), data.len());
    let found = Found::new(place, &search, &candidates, &searched.trials)?;
    let best = candidates.iter().find(|candidate| candidate.setting.name == found.chosen.setting);
    let best = best.ok_or_else(|| Failure::input("the chosen setting is not among those tried"))?;
    folder.write("best.toml", &best.config.to_toml()?)?;
    folder.write_json("summary.json", &found)?;
    folder.write("report.md", &found.to_markdown())?;
    let next = format!("\nTrain with it: cmrm fit --config {path}/best.toml\n");
    terminal.result(&found, &(found.to_text() + &next))?;
    Ok(ExitCode::SUCCESS)
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
        text += &serde_json::to_string(&line).map_err(|error| Failure::input(format!("trials.jsonl: {error}")))?;
        text.push('\n');
    }
    Ok(text)
}

/// The trials of a search under way, if it is the same search.
fn earlier_trials(folder: &RunDir, info: &SearchInfo) -> Result<Vec<Trial>> {
    let before: SearchInfo = folder.read_json("search.json")?;
    if before != *info {
        let what = if before.fingerprint == info.fingerprint { "settings" } else { "data" };
        return Err(Failure::input(format!(
            "{}: this search was begun with other {what}; give it the same, or begin another with a new --out",
            folder.path().display()
        )));
    }
    let path = folder.file("trials.jsonl");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let read = |(row, line): (usize, &str)| {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| Failure::input(format!("{}: line {}: {error}", path.display(), row + 1)))?;
        Ok(line.trial)
    };
    folder.read("trials.jsonl")?.lines().enumerate().map(read).collect()
}
