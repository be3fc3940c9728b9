//! The data sets of the study, cut to a size at which the study is a matter of minutes: what is left out is stated in its report.

use std::path::Path;

use crate::tables::{self, Table, read_cells};
use crate::{Result, npy};
use cmrm_data::preprocess::{Encoder, Preprocess, PreprocessOptions};
use cmrm_data::read::{ArrayNames, ReadOptions, read_path};
use cmrm_data::{ColumnRef, Input, Kind, LabelOptions};
use cmrm_datasets::{Cache, load};

/// Rows of the CIFAR training features that are used, from the first, and leading principal components.
const CIFAR_ROWS: usize = 14_000;
const CIFAR_COLUMNS: usize = 192;

/// A data set in memory.
pub struct Set {
    /// The name it is asked for by.
    pub name: &'static str,
    /// Number of classes.
    pub classes: usize,
    /// Features in a row.
    pub width: usize,
    /// Features, row after row, as they are in the files.
    pub x: Vec<f32>,
    /// Clean labels.
    pub labels: Vec<u32>,
    /// Columns to standardise.
    pub numeric: Vec<usize>,
    /// Rows from here on are a test set of their own; all rows where the split is drawn.
    pub test_from: usize,
    /// Human labels of the rows before `test_from`.
    pub human: Vec<(&'static str, Vec<u32>)>,
}

/// The sets that defaults were chosen on.
pub const CHOSEN_ON: [&str; 7] = ["cifar10", "adult", "digits", "cifar100", "spambase", "credit", "breast-cancer"];
/// Sentence embeddings.
pub const TREC: &str = "trec";
/// Sentence embeddings that chose nothing: one-line descriptions of Debian's packages, by section.
pub const DEBIAN: &str = "debian";
/// Twelve tables.
pub const TABLES: [&str; 12] = [
    "australian",
    "banana",
    "chess",
    "contraceptive",
    "letter",
    "mushroom",
    "phoneme",
    "ring",
    "satimage",
    "tic-tac-toe",
    "titanic",
    "vehicle",
];

/// Eleven tables that chose nothing.
pub const OTHER_TABLES: [&str; 11] = [
    "bupa",
    "german",
    "led7digit",
    "mammographic",
    "monk-2",
    "optdigits",
    "pima",
    "segment",
    "splice",
    "twonorm",
    "wdbc",
];

/// Every set of the study, in its order.
pub fn names() -> impl Iterator<Item = &'static str> {
    CHOSEN_ON.into_iter().chain([TREC]).chain(TABLES).chain([DEBIAN]).chain(OTHER_TABLES)
}

/// Whether no default was ever chosen or looked at on a set.
pub fn is_left_out(name: &str) -> bool {
    name == DEBIAN || OTHER_TABLES.contains(&name)
}

impl Set {
    /// Reads a set from the folder that `research/README.md` describes.
    pub fn load(name: &str, folder: &Path) -> Result<Self> {
        let uci = folder.join("uci");
        match name {
            "cifar10" => cifar(
                folder,
                ("cifar10", 10, "cifar10n.csv"),
                &[
                    ("aggre", "aggre_label"),
                    ("random1", "random_label1"),
                    ("random2", "random_label2"),
                    ("random3", "random_label3"),
                    ("worst", "worse_label"),
                ],
            ),
            "cifar100" => cifar(folder, ("cifar100", 100, "cifar100n.csv"), &[("human", "noisy_label")]),
            "adult" => Ok(table("adult", tables::adult(&uci)?)),
            "spambase" => Ok(table("spambase", tables::spambase(&uci)?)),
            "credit" => Ok(table("credit", tables::credit(&uci)?)),
            "digits" => embedded("digits"),
            "breast-cancer" => embedded("breast-cancer"),
            TREC => embeddings(TREC, folder),
            DEBIAN => embeddings(DEBIAN, folder),
            other => match TABLES.into_iter().chain(OTHER_TABLES).find(|table| *table == other) {
                Some(table) => csv(table, &folder.join("tables").join(format!("{table}.csv"))),
                None => {
                    let known = names().collect::<Vec<_>>().join(", ");
                    Err(format!("unknown set '{other}': expected one of {known}").into())
                }
            },
        }
    }

    /// Rows of both parts.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }
}

fn table(name: &'static str, table: Table) -> Set {
    let Table { values, columns, numeric, labels } = table;
    Set { name, classes: 2, width: columns, x: values, test_from: labels.len(), labels, numeric, human: Vec::new() }
}

fn embedded(name: &'static str) -> Result<Set> {
    let named = load(name, &Cache::at("unused"))?;
    of_input(name, &named.train, Some(named.classes))
}

fn csv(name: &'static str, path: &Path) -> Result<Set> {
    let options = ReadOptions { label: Some(ColumnRef("class".into())), ..ReadOptions::default() };
    of_input(name, &read_path(path, &options)?, None)
}

/// Training rows and, after them, its own test rows.
fn embeddings(name: &'static str, folder: &Path) -> Result<Set> {
    let path = &folder.join("text").join(format!("{name}.minilm.npz"));
    let part = |features: &str, labels: &str| {
        let arrays = ArrayNames { features: Some(features.into()), labels: Some(labels.into()) };
        read_path(path, &ReadOptions { arrays, ..ReadOptions::default() })
    };
    let mut input = part("A", "y")?;
    let test_from = input.features.rows();
    input.append(part("B", "t")?)?;
    Ok(Set { test_from, ..of_input(name, &input, None)? })
}

/// Columns become features as they do in the command, except that each split standardises numbers by itself.
fn of_input(name: &'static str, input: &Input, classes: Option<Vec<String>>) -> Result<Set> {
    let labels = input.encode_labels(&LabelOptions { classes, ..LabelOptions::default() })?.labels;
    let all: Vec<usize> = (0..input.features.rows()).collect();
    let options = PreprocessOptions { standardise: false, ..PreprocessOptions::default() };
    let preprocess = Preprocess::fit(&input.features, &all, &options)?.0;
    let (mut numeric, mut at) = (Vec::new(), 0);
    for column in preprocess.columns() {
        if column.kind == Kind::Numeric && matches!(column.encoder, Encoder::Number(_)) {
            numeric.push(at);
        }
        at += column.width();
    }
    Ok(Set {
        name,
        classes: labels.classes.len(),
        width: preprocess.width(),
        x: preprocess.transform(&input.features)?.rows.values().to_vec(),
        test_from: all.len(),
        labels: labels.indices,
        numeric,
        human: Vec::new(),
    })
}

fn cifar(
    folder: &Path,
    (name, classes, file): (&'static str, usize, &str),
    variants: &[(&'static str, &str)],
) -> Result<Set> {
    let features = folder.join("features");
    let part = |which: &str| npy::read(&features.join(format!("{name}.lite2.{which}.npy")));
    let labels = |which: &str| npy::read_labels(&features.join(format!("{name}.{which}-labels.npy")));
    let (train, test) = (part("train0")?, part("test")?);
    let width = CIFAR_COLUMNS.min(train.columns);
    let rows = CIFAR_ROWS.min(train.values.len() / train.columns);
    let cut = |values: &[f32], columns: usize, rows: usize| -> Vec<f32> {
        values.chunks_exact(columns).take(rows).flat_map(|row| row[..width].iter().copied()).collect()
    };
    let mut x = cut(&train.values, train.columns, rows);
    x.extend(cut(&test.values, test.columns, usize::MAX));
    let mut clean = labels("train")?;
    clean.truncate(rows);
    clean.extend(labels("test")?);
    let cells = read_cells(&folder.join("cifar-n").join(file))?;
    let head = cells.first().ok_or_else(|| format!("{file} is empty"))?;
    let mut human = Vec::new();
    for &(variant, column) in variants {
        let at = head.iter().position(|name| name == column).ok_or_else(|| format!("{file} has no {column}"))?;
        let parse = |row: &Vec<String>| row[at].parse::<u32>();
        human.push((variant, cells[1..].iter().take(rows).map(parse).collect::<std::result::Result<Vec<_>, _>>()?));
    }
    Ok(Set { name, classes, width, x, labels: clean, numeric: (0..width).collect(), test_from: rows, human })
}
