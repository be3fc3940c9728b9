//! The data sets of the study, cut to a size at which the study is a matter of minutes: what is left out is stated in its report.

use std::path::Path;

use crate::tables::{self, Table, read_cells};
use crate::{Result, npy};
use cmrm_data::{Features, LabelOptions};
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

/// Every set of the study, in its order.
pub const NAMES: [&str; 7] = ["cifar10", "adult", "digits", "cifar100", "spambase", "credit", "breast-cancer"];

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
            other => Err(format!("unknown set '{other}': expected one of {}", NAMES.join(", ")).into()),
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
    let classes = named.classes.len();
    let options = LabelOptions { classes: Some(named.classes), ..LabelOptions::default() };
    let labels = named.train.encode_labels(&options)?.labels.indices;
    let (x, width) = match named.train.features {
        Features::Array(array) => (array.values().to_vec(), array.width()),
        Features::Table(table) => {
            let mut x = Vec::with_capacity(labels.len() * table.columns().len());
            for row in 0..labels.len() {
                for column in table.columns() {
                    let text = column.text(row).ok_or_else(|| format!("{name}: row {row} has an empty cell"))?;
                    x.push(text.parse()?);
                }
            }
            (x, table.columns().len())
        }
    };
    let test_from = labels.len();
    Ok(Set { name, classes, width, x, labels, numeric: (0..width).collect(), test_from, human: Vec::new() })
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
