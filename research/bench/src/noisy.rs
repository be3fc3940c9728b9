//! Tables, arrays and embedded sets with planted noise, for comparisons of whole fits.
//!
//! A path is a folder of CSV files (label in the column `class`), an NPZ file (A, y to train on, B, t to test on), or the name
//! of an embedded data set. Of a CSV file or an embedded set, three fifths of the rows train, at most 3,000; the others test,
//! at most 5,000. Labels are corrupted by `symmetric` noise; with two classes 0.35 of them at most.

use std::ops::Range;
use std::path::{Path, PathBuf};

use cmrm::noise::{Rate, symmetric};
use cmrm::rng::Rng;
use cmrm_data::read::{ArrayNames, ReadOptions, read_path};
use cmrm_data::table::Values;
use cmrm_data::{Column, ColumnRef, Input, LabelOptions};
use cmrm_datasets::{Cache, load};
use cmrm_fit::Loaded;

use crate::Result;

/// Shares of wrong labels.
pub const RATES: [f64; 3] = [0.0, 0.2, 0.4];
const MOST_OF_TWO_CLASSES: f64 = 0.35;
const TRAIN_ROWS: usize = 3000;
const TEST_ROWS: usize = 5000;
const SPLIT_STREAM: u64 = 0x7061_7274;

/// Accuracies of named arms by clean test labels, for every rate.
pub struct Means {
    arms: Vec<&'static str>,
    found: Vec<Vec<Vec<f64>>>,
}

/// Hands every set, drawn with every seed that the command line names (`PATH... [--seeds N] [--first-seed N]`), to `one`: its name, a
/// way to draw it with a share of wrong labels, and the seed.
pub fn each_set(mut one: impl FnMut(&str, &dyn Fn(f64) -> Result<Loaded>, u64) -> Result<()>) -> Result<()> {
    let (paths, seeds) = arguments()?;
    for path in &paths {
        for (name, rows) in sets(path)? {
            for seed in seeds.clone() {
                one(&name, &|rate| draw(&name, &rows, rate, seed), seed)?;
            }
        }
    }
    Ok(())
}

impl Means {
    /// Measures every arm on every set, rate and seed that the command line names: `PATH... [--seeds N] [--first-seed N]`.
    pub fn measure<const N: usize>(
        arms: [&'static str; N],
        one: impl Fn(Loaded, u64) -> Result<[f64; N]>,
    ) -> Result<Self> {
        let mut means = Means { found: vec![vec![Vec::new(); RATES.len()]; N], arms: arms.to_vec() };
        each_set(|name, draw, seed| {
            for (at, &rate) in RATES.iter().enumerate() {
                let accuracies = one(draw(rate)?, seed)?;
                eprintln!("{name} {seed} {rate}: {accuracies:.4?}");
                means.found.iter_mut().zip(accuracies).for_each(|(arm, one)| arm[at].push(100.0 * one));
            }
            Ok(())
        })?;
        Ok(means)
    }

    /// Prints a table in Markdown.
    pub fn print(&self) {
        let cells = self.found[0][0].len();
        println!(
            "Accuracy by clean test labels, mean over {cells} cells\n\n| | 0 % | 20 % | 40 % |\n|---|---|---|---|"
        );
        let mean = |values: &Vec<f64>| format!("{:.2}", values.iter().sum::<f64>() / values.len().max(1) as f64);
        for (name, arm) in self.arms.iter().zip(&self.found) {
            println!("| {name} | {} |", arm.iter().map(mean).collect::<Vec<_>>().join(" | "));
        }
    }
}

fn arguments() -> Result<(Vec<String>, Range<u64>)> {
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

/// Rows to draw from, or to train on if there are others to test on.
struct Rows {
    rows: Input,
    test: Option<Input>,
}

fn sets(path: &str) -> Result<Vec<(String, Rows)>> {
    let named = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if path.ends_with(".npz") {
        let part = |features: &str, labels: &str| {
            let arrays = ArrayNames { features: Some(features.into()), labels: Some(labels.into()) };
            read_path(Path::new(path), &ReadOptions { arrays, ..ReadOptions::default() })
        };
        return Ok(vec![(named(Path::new(path)), Rows { rows: part("A", "y")?, test: Some(part("B", "t")?) })]);
    }
    if !Path::new(path).is_dir() {
        return Ok(vec![(path.into(), Rows { rows: load(path, &Cache::at("unused"))?.train, test: None })]);
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    let options = ReadOptions { label: Some(ColumnRef("class".into())), ..ReadOptions::default() };
    files.iter().map(|file| Ok((named(file), Rows { rows: read_path(file, &options)?, test: None }))).collect()
}

/// Rows to learn from, with noise, and rows to test on.
fn draw(name: &str, rows: &Rows, rate: f64, seed: u64) -> Result<Loaded> {
    let Rows { rows, test } = rows;
    let classes = rows.encode_labels(&LabelOptions::default())?.labels.classes;
    let (mut train, test) = match test {
        Some(test) => (rows.clone(), test.clone()),
        None => {
            let order = Rng::new(seed, SPLIT_STREAM).permutation(rows.features.rows());
            let (learn, rest) = order.split_at(TRAIN_ROWS.min(order.len() * 3 / 5));
            (rows.gather(learn)?, rows.gather(&rest[..TEST_ROWS.min(rest.len())])?)
        }
    };
    corrupt(&mut train, &classes, rate, seed)?;
    Ok(Loaded { test: Some(test), classes: Some(classes), ..Loaded::new(name, train) })
}

/// Makes labels wrong.
fn corrupt(rows: &mut Input, classes: &[String], rate: f64, seed: u64) -> Result<()> {
    let known = LabelOptions { classes: Some(classes.to_vec()), ..LabelOptions::default() };
    let labels = rows.encode_labels(&known)?.labels.indices;
    let rate = if classes.len() == 2 { rate.min(MOST_OF_TWO_CLASSES) } else { rate };
    let codes = symmetric(&labels, classes.len(), Rate::new(rate)?, seed)?.labels;
    rows.labels = Some(Column::new("class", Values::Categorical { codes, levels: classes.to_vec() }));
    Ok(())
}
