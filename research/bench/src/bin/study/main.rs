//! The study behind `research/study.md`: what `robust` adds to each base loss, and how it stands against the best of them.
//!
//! ```text
//! study run DATA_DIR OUT.jsonl [--minutes M] [--threads N] [--seeds N|FROM..TO] [--sets A,B] [--losses A,B] [--arms A,B]
//! study report RESULTS.jsonl… > research/study.md
//! ```
//!
//! `run` adds one line a cell to OUT.jsonl and skips what is there already: cells, and arms of a cell. The arms base and
//! `robust` are in every cell; `--arms` says which others (`before` if absent; `all` for all of them). DATA_DIR has the folders
//! that research/README.md describes; sets whose files are missing are left out, and said so.

use std::ops::Range;
use std::path::PathBuf;

use cmrm_bench::Result;

mod arms;
mod cells;
mod report;
mod results;
mod run;
mod split;
mod train;
mod voted;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("run") => run::run(&parse(arguments)?),
        Some("report") => report::report(&arguments.collect::<Vec<_>>()),
        _ => Err("usage: study run DATA_DIR OUT.jsonl [--minutes M] [--threads N] [--seeds N|FROM..TO] [--sets A,B] \
                  [--losses A,B] [--arms A,B]\n       study report RESULTS.jsonl…"
            .into()),
    }
}

/// What to run.
pub struct Options {
    folder: PathBuf,
    out: PathBuf,
    minutes: f64,
    threads: usize,
    seeds: Range<u64>,
    /// All if absent.
    sets: Option<Vec<String>>,
    losses: Vec<String>,
    /// Arms besides base and `robust`.
    arms: Vec<String>,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        folder: arguments.next().ok_or("study run: no data folder")?.into(),
        out: arguments.next().ok_or("study run: no output file")?.into(),
        minutes: f64::INFINITY,
        threads: 1,
        seeds: 0..3,
        sets: None,
        losses: cells::LOSSES.map(str::to_owned).to_vec(),
        arms: vec![arms::BEFORE.into()],
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let list = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
        match name.as_str() {
            "--minutes" => options.minutes = value.parse()?,
            "--threads" => options.threads = value.parse()?,
            "--seeds" => {
                let (from, to) = value.split_once("..").unwrap_or(("0", &value));
                options.seeds = from.parse()?..to.parse()?;
            }
            "--sets" => options.sets = Some(list()),
            "--losses" => options.losses = list(),
            "--arms" if value == "all" => options.arms = arms::known().into_iter().map(str::to_owned).collect(),
            "--arms" => options.arms = list(),
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    let known = arms::known();
    if let Some(arm) = options.arms.iter().find(|arm| !known.contains(&arm.as_str())) {
        return Err(format!("--arms: unknown arm '{arm}': expected all, or some of {}", known.join(", ")).into());
    }
    Ok(options)
}
