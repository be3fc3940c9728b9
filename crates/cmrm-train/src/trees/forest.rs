//! A random forest: a model, and how it is used.

use cmrm::Rows;
use cmrm::error::check_parameter;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::columns::TreeColumns;
use super::sparse_columns::Reader;
use super::tree::Trees;
use crate::checked::Checked;
use crate::error::Result;

/// Rows that go through all trees together: many, because each of the trees is larger than the fast caches.
const BLOCK_ROWS: usize = 1024;

/// How many columns a node looks at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnShare {
    /// The square root of their number.
    Sqrt,
    /// This share of them, above 0 and at most 1.
    Share(f64),
}

impl ColumnShare {
    /// At least one.
    pub(crate) fn of(self, columns: usize) -> usize {
        let wanted = match self {
            ColumnShare::Sqrt => (columns as f64).sqrt(),
            ColumnShare::Share(share) => columns as f64 * share,
        };
        (wanted as usize).clamp(1, columns)
    }
}

/// Settings of a forest; the defaults are scikit-learn's, but for the number of trees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ForestConfig {
    /// Trees.
    pub trees: usize,
    /// Fewest rows of a leaf.
    pub min_leaf: usize,
    /// How many columns a node looks at.
    pub columns: ColumnShare,
    /// Seed of the draws of rows and columns.
    pub seed: u64,
}

impl Default for ForestConfig {
    fn default() -> Self {
        ForestConfig { trees: 200, min_leaf: 1, columns: ColumnShare::Sqrt, seed: 0 }
    }
}

impl ForestConfig {
    /// Refuses settings out of range.
    pub fn validate(self) -> Result<Checked<Self>> {
        for (name, value) in [("trees", self.trees), ("min-leaf", self.min_leaf)] {
            check_parameter(name, value as f64, (1..=1 << 20).contains(&value), "1 to 1048576")?;
        }
        if let ColumnShare::Share(share) = self.columns {
            check_parameter("columns", share, share > 0.0 && share <= 1.0, "above 0, at most 1")?;
        }
        Ok(Checked::new(self))
    }
}

/// Trees whose leaves vote with their classes' shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// The payload of a leaf is its class if all its rows have one; else it is the number of classes plus the index of its
    /// shares.
    pub(super) trees: Trees,
    pub(super) classes: usize,
    /// Shares of the classes in leaves of several, `classes` numbers each.
    pub(super) shares: Vec<f32>,
}

/// What the trees that had not drawn a row say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfBag {
    /// `[rows, classes]`. A row that every tree had drawn has the shares of the classes in all rows.
    pub probabilities: Vec<f32>,
    /// How many trees had not drawn each row.
    pub counts: Vec<u32>,
}

impl Forest {
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    /// How rows are read.
    pub fn columns(&self) -> &TreeColumns {
        &self.trees.columns
    }

    /// What the questions about each column gained, summed over all trees.
    pub fn importance(&self) -> Vec<f64> {
        self.trees.importance()
    }

    /// Probabilities, `[rows, classes]`.
    pub fn probabilities<'x>(&self, x: impl Into<Rows<'x, f32>>) -> Result<Vec<f32>> {
        self.probabilities_of(x.into())
    }

    fn probabilities_of(&self, x: Rows<'_, f32>) -> Result<Vec<f32>> {
        let reader = Reader::new(&self.trees.columns, x)?;
        let classes = self.classes;
        let mut sums = vec![0.0; x.rows() * classes];
        sums.par_chunks_mut(BLOCK_ROWS * classes).enumerate().for_each(|(block, sums)| {
            let first = block * BLOCK_ROWS;
            let values = reader.read(x.slice(first..first + sums.len() / classes));
            for tree in 0..self.trees.len() {
                self.trees.walk(tree, &values, |row, leaf| {
                    vote(leaf, &self.shares, &mut sums[row * classes..][..classes]);
                });
            }
            sums.iter_mut().for_each(|sum| *sum /= self.trees.len() as f32);
        });
        Ok(sums)
    }
}

/// Adds the vote of a leaf.
pub(super) fn vote(leaf: u32, shares: &[f32], sums: &mut [f32]) {
    let classes = sums.len();
    match (leaf as usize).checked_sub(classes) {
        None => sums[leaf as usize] += 1.0,
        Some(index) => {
            sums.iter_mut().zip(&shares[index * classes..][..classes]).for_each(|(sum, share)| *sum += share)
        }
    }
}
