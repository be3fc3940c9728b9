//! Gradient boosting on histograms: a model, and how it is used.

use cmrm::Rows;
use cmrm::error::check_parameter;
use cmrm::scores::softmax;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::columns::TreeColumns;
use super::objective::outputs;
use super::sparse_columns::Reader;
use super::tree::Trees;
use super::wide::with_wide_vectors;
use crate::checked::Checked;
use crate::error::Result;

/// Rows that go through all trees together.
const BLOCK_ROWS: usize = 256;

/// Settings of a boosting; the defaults are LightGBM's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BoostingConfig {
    /// Rounds: trees for two classes, trees of each class for more.
    pub rounds: usize,
    /// What every leaf is multiplied by.
    pub rate: f64,
    /// Most leaves of a tree.
    pub leaves: usize,
    /// Fewest rows of a leaf.
    pub min_leaf: usize,
    /// Least curvature of a leaf.
    pub min_hessian: f64,
    /// Penalty of the leaves' values.
    pub l2: f64,
    /// Share of the columns that a round's trees may ask about.
    pub columns: f64,
    /// Share of the rows that a round's trees are grown on.
    pub rows: f64,
    /// Rounds without a better log loss on held-out rows after which training ends.
    pub patience: Option<usize>,
    /// Seed of the draws of columns and rows.
    pub seed: u64,
}

impl Default for BoostingConfig {
    fn default() -> Self {
        BoostingConfig {
            rounds: 100,
            rate: 0.1,
            leaves: 31,
            min_leaf: 20,
            min_hessian: 1e-3,
            l2: 0.0,
            columns: 1.0,
            rows: 1.0,
            patience: None,
            seed: 0,
        }
    }
}

impl BoostingConfig {
    /// Refuses settings out of range.
    pub fn validate(self) -> Result<Checked<Self>> {
        let whole = |name, value: usize, least: usize, range| {
            check_parameter(name, value as f64, (least..=1 << 20).contains(&value), range)
        };
        whole("rounds", self.rounds, 1, "1 to 1048576")?;
        whole("leaves", self.leaves, 2, "2 to 1048576")?;
        whole("min-leaf", self.min_leaf, 1, "1 to 1048576")?;
        let positive = |value: f64| value > 0.0 && value.is_finite();
        check_parameter("rate", self.rate, positive(self.rate), "a finite positive number")?;
        let at_least_zero = |value: f64| value >= 0.0 && value.is_finite();
        check_parameter(
            "min-hessian",
            self.min_hessian,
            at_least_zero(self.min_hessian),
            "a finite number, at least 0",
        )?;
        check_parameter("l2", self.l2, at_least_zero(self.l2), "a finite number, at least 0")?;
        for (name, share) in [("columns", self.columns), ("rows", self.rows)] {
            check_parameter(name, share, share > 0.0 && share <= 1.0, "above 0, at most 1")?;
        }
        Ok(Checked::new(self))
    }
}

/// A sum of trees, which are the logits.
#[derive(Debug, Clone, PartialEq)]
pub struct Boosting {
    pub(super) trees: Trees,
    pub(super) classes: usize,
    /// Where every row's logits start.
    pub(super) start: Vec<f32>,
}

impl Boosting {
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Rounds of trees.
    pub fn rounds(&self) -> usize {
        self.trees.len() / self.start.len()
    }

    /// How rows are read.
    pub fn columns(&self) -> &TreeColumns {
        &self.trees.columns
    }

    /// Keeps the first `rounds` rounds.
    pub fn truncate(&mut self, rounds: usize) {
        self.trees.truncate(rounds.saturating_mul(self.start.len()));
    }

    /// What the questions about each column gained, summed over all trees.
    pub fn importance(&self) -> Vec<f64> {
        self.trees.importance()
    }

    /// Logits, `[rows, classes]`. Of two classes the first has zero.
    pub fn logits<'x>(&self, x: impl Into<Rows<'x, f32>>) -> Result<Vec<f32>> {
        self.logits_of(x.into())
    }

    fn logits_of(&self, x: Rows<'_, f32>) -> Result<Vec<f32>> {
        let reader = Reader::new(&self.trees.columns, x)?;
        let width = self.start.len();
        let mut logits = vec![0.0; x.rows() * self.classes];
        logits.par_chunks_mut(BLOCK_ROWS * self.classes).enumerate().for_each(|(block, logits)| {
            let first = block * BLOCK_ROWS;
            let values = reader.read(x.slice(first..first + logits.len() / self.classes));
            let mut sums: Vec<f32> =
                self.start.iter().copied().cycle().take(logits.len() / self.classes * width).collect();
            for tree in 0..self.trees.len() {
                let output = tree % width;
                self.trees.walk(tree, &values, |row, leaf| sums[row * width + output] += f32::from_bits(leaf));
            }
            expand(&sums, self.classes, logits);
        });
        Ok(logits)
    }

    /// Probabilities, `[rows, classes]`.
    pub fn probabilities<'x>(&self, x: impl Into<Rows<'x, f32>>) -> Result<Vec<f32>> {
        let mut values = self.logits(x)?;
        to_probabilities(&mut values, self.classes);
        Ok(values)
    }
}

/// The logits of all classes from those that boosting keeps.
pub(super) fn expand(kept: &[f32], classes: usize, logits: &mut [f32]) {
    if outputs(classes) == classes {
        logits.copy_from_slice(kept);
    } else {
        logits.chunks_exact_mut(2).zip(kept).for_each(|(pair, &logit)| pair.copy_from_slice(&[0.0, logit]));
    }
}

/// Turns rows of logits into probabilities.
pub(super) fn to_probabilities(logits: &mut [f32], classes: usize) {
    logits.par_chunks_mut(BLOCK_ROWS * classes).for_each(|block| {
        // Exponentials are fast where the processor's widest vectors are enabled around them.
        with_wide_vectors(
            #[inline(always)]
            || block.chunks_exact_mut(classes).for_each(softmax),
        );
    });
}
