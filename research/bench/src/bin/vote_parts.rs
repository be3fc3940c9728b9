//! What the parts of a vote are worth: the default is fitted, taken apart, and each part judged by clean test labels.
//!
//!     vote_parts PATH... [--seeds N] [--first-seed N]
//!
//! A PATH is a folder of CSV files (label in the column `class`), an NPZ file (A, y to train on, B, t to test on), or the name
//! of an embedded data set. Of a CSV file or an embedded set, three fifths of the rows train, at most 3,000; the others test,
//! at most 5,000. Labels are corrupted by `symmetric` noise; with two classes 0.35 of them at most.

use std::path::{Path, PathBuf};

use cmrm::metric::accuracy;
use cmrm::noise::{Rate, symmetric};
use cmrm::rng::Rng;
use cmrm_bench::Result;
use cmrm_data::read::{ArrayNames, ReadOptions, read_path};
use cmrm_data::table::Values;
use cmrm_data::{Column, ColumnRef, Input, LabelOptions};
use cmrm_datasets::{Cache, load};
use cmrm_fit::{Fit, FitConfig, FitOutcome, Loaded};
use cmrm_run::summary::WEIGHED;
use cmrm_train::Stop;
use cmrm_train::train::Silent;
use cmrm_train::vote::{Calibration, Predictor, Vote, Voter};

const RATES: [f64; 3] = [0.0, 0.2, 0.4];
const MOST_OF_TWO_CLASSES: f64 = 0.35;
const TRAIN_ROWS: usize = 3000;
const TEST_ROWS: usize = 5000;
const SPLIT_STREAM: u64 = 0x7061_7274;

/// The parts, as they are printed.
const PARTS: [&str; 7] = [
    "the default: both votes",
    "the first vote alone",
    "the weighed vote alone",
    "both, without calibration",
    "both, all learners that vote alike",
    "the best learner by observed labels",
    "the best learner in hindsight",
];

fn main() -> Result<()> {
    let (paths, seeds) = arguments()?;
    let mut found: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); RATES.len()]; PARTS.len()];
    for path in &paths {
        for (name, rows) in sets(path)? {
            for seed in seeds.clone() {
                for (at, &rate) in RATES.iter().enumerate() {
                    let parts = measure(&name, &rows, rate, seed)?;
                    eprintln!("{name} {seed} {rate}: {parts:.4?}");
                    found.iter_mut().zip(parts).for_each(|(part, accuracy)| part[at].push(100.0 * accuracy));
                }
            }
        }
    }
    let cells = found[0][0].len();
    println!("Accuracy by clean test labels, mean over {cells} cells\n\n| | 0 % | 20 % | 40 % |\n|---|---|---|---|");
    let mean = |values: &Vec<f64>| format!("{:.2}", values.iter().sum::<f64>() / values.len().max(1) as f64);
    for (name, part) in PARTS.iter().zip(&found) {
        println!("| {name} | {} |", part.iter().map(mean).collect::<Vec<_>>().join(" | "));
    }
    Ok(())
}

fn arguments() -> Result<(Vec<String>, std::ops::Range<u64>)> {
    let (mut paths, mut seeds, mut first) = (Vec::new(), 1, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().ok_or("a number is missing")?.parse::<u64>().map_err(|e| e.to_string());
        match argument.as_str() {
            "--seeds" => seeds = number()?,
            "--first-seed" => first = number()?,
            _ => paths.push(argument),
        }
    }
    if paths.is_empty() {
        return Err("name a folder of CSV files, an NPZ file, or an embedded data set".into());
    }
    Ok((paths, first..first + seeds))
}

/// Rows to draw from; or rows to train on and to test on.
enum Rows {
    Together(Input),
    Apart(Input, Input),
}

fn sets(path: &str) -> Result<Vec<(String, Rows)>> {
    let named = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if path.ends_with(".npz") {
        let part = |features: &str, labels: &str| {
            let arrays = ArrayNames { features: Some(features.into()), labels: Some(labels.into()) };
            read_path(Path::new(path), &ReadOptions { arrays, ..ReadOptions::default() })
        };
        return Ok(vec![(named(Path::new(path)), Rows::Apart(part("A", "y")?, part("B", "t")?))]);
    }
    if !Path::new(path).is_dir() {
        return Ok(vec![(path.into(), Rows::Together(load(path, &Cache::at("unused"))?.train))]);
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    let options = ReadOptions { label: Some(ColumnRef("class".into())), ..ReadOptions::default() };
    files.iter().map(|file| Ok((named(file), Rows::Together(read_path(file, &options)?)))).collect()
}

/// The accuracies of [`PARTS`].
fn measure(name: &str, rows: &Rows, rate: f64, seed: u64) -> Result<[f64; 7]> {
    let (mut train, test) = match rows {
        Rows::Apart(train, test) => (train.clone(), test.clone()),
        Rows::Together(all) => {
            let order = Rng::new(seed, SPLIT_STREAM).permutation(all.features.rows());
            let (learn, rest) = order.split_at(TRAIN_ROWS.min(order.len() * 3 / 5));
            (all.gather(learn)?, all.gather(&rest[..TEST_ROWS.min(rest.len())])?)
        }
    };
    let classes = corrupt(&mut train, rate, seed)?;
    let loaded = Loaded { test: Some(test), classes: Some(classes), ..Loaded::new(name, train) };
    let config = FitConfig { seed, ..FitConfig::default() };
    let outcome = Fit::new(&config, &loaded, &Stop::default())?.run(&mut Silent)?;
    let (Predictor::Vote(both), Predictor::Vote(first)) =
        (&outcome.envelope_arm()?.model, &outcome.base_arm().ok_or("no base arm")?.model)
    else {
        return Err("the default is not a vote".into());
    };
    let judge = |voters: Vec<Voter>| judge(voters, &outcome);
    let weighed: Vec<Voter> = both.voters().iter().filter(|voter| voter.name.ends_with(WEIGHED)).cloned().collect();
    let plain = |voter: &Voter| Voter { calibration: Calibration::default(), ..voter.clone() };
    let alike = |voter: &Voter| Voter { share: 1.0, ..voter.clone() };
    let best = outcome.members.iter().min_by(|a, b| {
        let score = |member: &cmrm_run::summary::MemberSummary| {
            if member.name.ends_with(WEIGHED) { f64::INFINITY } else { member.brier }
        };
        score(a).total_cmp(&score(b))
    });
    let best = first.voters().iter().find(|voter| best.is_some_and(|best| best.name == voter.name));
    let singles = both.voters().iter().map(|voter| judge(vec![voter.clone()])).collect::<Result<Vec<f64>>>()?;
    Ok([
        judge(both.voters().to_vec())?,
        judge(first.voters().to_vec())?,
        // Where no label was in doubt there was no second round.
        judge(if weighed.is_empty() { first.voters().to_vec() } else { weighed })?,
        judge(both.voters().iter().map(plain).collect())?,
        judge(both.voters().iter().map(alike).collect())?,
        judge(best.into_iter().cloned().collect())?,
        singles.into_iter().fold(0.0, f64::max),
    ])
}

/// Makes labels wrong. Returns the classes in the order of the indices.
fn corrupt(rows: &mut Input, rate: f64, seed: u64) -> Result<Vec<String>> {
    let labels = rows.encode_labels(&LabelOptions::default())?.labels;
    let rate = if labels.classes.len() == 2 { rate.min(MOST_OF_TWO_CLASSES) } else { rate };
    let wrong = symmetric(&labels.indices, labels.classes.len(), Rate::new(rate)?, seed)?.labels;
    let values = Values::Categorical { codes: wrong, levels: labels.classes.clone() };
    rows.labels = Some(Column::new("class", values));
    Ok(labels.classes)
}

fn judge(voters: Vec<Voter>, outcome: &FitOutcome) -> Result<f64> {
    let (test, _) = outcome.rows.test.as_ref().ok_or("no test rows")?;
    let vote = Predictor::Vote(Vote::new(voters)?);
    Ok(accuracy(&vote.predict(test.matrix()?)?, &test.labels)?)
}
