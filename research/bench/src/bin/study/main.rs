//! The study behind `research/study.md`: which envelope helps, where, and what it costs.
//!
//! ```text
//! study run DATA_DIR OUT.jsonl [--minutes M] [--threads N] [--shard I/N] [--sets A,B]
//!           [--seeds N|FROM..TO] [--losses A,B] [--noises A,B] [--arms A,B] [--folds K]
//! study report RESULTS.jsonl… > research/study.md
//! ```
//!
//! `run` adds one line a cell to OUT.jsonl and skips the cells that are there already. With `--folds` it judges arms as `cmrm
//! tune` does, by observed labels in K folds of all rows that are learned from, and not by a hold-out. DATA_DIR has the folders `uci`,
//! `features` and `cifar-n` that research/README.md describes; sets whose files are missing are left out, and said so.

use std::ops::Range;
use std::path::PathBuf;

use cmrm_bench::Result;

mod arms;
mod cells;
mod report;
mod run;
mod split;
mod train;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("run") => run::run(&parse(arguments)?),
        Some("report") => report::report(&arguments.collect::<Vec<_>>()),
        _ => Err(
            "usage: study run DATA_DIR OUT.jsonl [--minutes M] [--threads N] [--shard I/N] [--sets A,B] \
                  [--seeds N|FROM..TO] [--losses A,B] [--noises A,B] [--arms A,B] [--folds K]\n       study report RESULTS.jsonl…"
                .into(),
        ),
    }
}

/// What to run.
pub struct Options {
    folder: PathBuf,
    out: PathBuf,
    minutes: f64,
    threads: usize,
    /// Which of how many parts of the cells.
    shard: (usize, usize),
    sets: Option<Vec<String>>,
    seeds: Range<u64>,
    losses: Option<Vec<String>>,
    noises: Option<Vec<String>>,
    /// Arms besides the base arm; all if absent.
    arms: Option<Vec<String>>,
    /// Folds to judge by; 1 is a hold-out.
    folds: usize,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let folder = arguments.next().ok_or("study run: no data folder")?.into();
    let out = arguments.next().ok_or("study run: no output file")?.into();
    let (threads, shard) = (1, (0, 1));
    let mut options = Options {
        folder,
        out,
        minutes: f64::INFINITY,
        threads,
        shard,
        sets: None,
        seeds: 0..cells::SEEDS,
        losses: None,
        noises: None,
        arms: None,
        folds: 1,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let list = || Some(value.split(',').map(str::to_owned).collect());
        match name.as_str() {
            "--minutes" => options.minutes = value.parse()?,
            "--threads" => options.threads = value.parse()?,
            "--seeds" => {
                let (from, to) = value.split_once("..").unwrap_or(("0", &value));
                options.seeds = from.parse()?..to.parse()?;
            }
            "--folds" => options.folds = value.parse()?,
            "--sets" => options.sets = list(),
            "--losses" => options.losses = list(),
            "--noises" => options.noises = list(),
            "--arms" => options.arms = list(),
            "--shard" => {
                let (part, parts) = value.split_once('/').ok_or("--shard takes I/N, as in 0/4")?;
                options.shard = (part.parse()?, parts.parse()?);
                if options.shard.0 >= options.shard.1 {
                    return Err(format!("--shard {value}: parts are counted from 0").into());
                }
            }
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok(options)
}
