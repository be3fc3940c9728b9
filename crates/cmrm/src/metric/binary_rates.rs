//! False alarms and misses of a two-class decision.

use serde::{Deserialize, Serialize};

use super::check::{binary_scores, check_predicted, check_rows, no_rows_of};
use crate::error::{Result, check_labels, check_parameter};

/// The four counts of a two-class decision; class 1 is the positive one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryCounts {
    /// Label 1, predicted 1.
    pub true_positives: u64,
    /// Label 0, predicted 1.
    pub false_positives: u64,
    /// Label 0, predicted 0.
    pub true_negatives: u64,
    /// Label 1, predicted 0.
    pub false_negatives: u64,
}

impl BinaryCounts {
    /// Counts predicted classes, all 0 or 1.
    pub fn new(predicted: &[u32], labels: &[u32]) -> Result<Self> {
        check_rows(predicted.len(), labels)?;
        check_labels(labels, 2)?;
        check_predicted(predicted, 2)?;
        Ok(Self::count(predicted.iter().zip(labels).map(|(&p, &y)| (p == 1, y == 1))))
    }

    /// Counts the decision "1 where the score is at least `threshold`".
    pub fn at_threshold<T: Copy + Into<f64>>(scores: &[T], labels: &[u32], threshold: f64) -> Result<Self> {
        check_parameter("threshold", threshold, true, "a number")?;
        let rows = binary_scores(scores, labels)?;
        Ok(Self::count(rows.into_iter().map(|(score, positive)| (score >= threshold, positive))))
    }

    fn count(rows: impl Iterator<Item = (bool, bool)>) -> Self {
        let mut counts = BinaryCounts { true_positives: 0, false_positives: 0, true_negatives: 0, false_negatives: 0 };
        for row in rows {
            match row {
                (true, true) => counts.true_positives += 1,
                (true, false) => counts.false_positives += 1,
                (false, false) => counts.true_negatives += 1,
                (false, true) => counts.false_negatives += 1,
            }
        }
        counts
    }

    /// Number of rows of class 1.
    pub fn positives(&self) -> u64 {
        self.true_positives.saturating_add(self.false_negatives)
    }

    /// Number of rows of class 0.
    pub fn negatives(&self) -> u64 {
        self.false_positives.saturating_add(self.true_negatives)
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.positives().saturating_add(self.negatives())
    }

    /// Share of the rows of class 0 that are predicted as 1; an error without such rows.
    pub fn false_positive_rate(&self) -> Result<f64> {
        let negatives = self.negatives();
        if negatives == 0 {
            return Err(no_rows_of(0, "false positive rate", self.rows() as usize));
        }
        Ok(self.false_positives as f64 / negatives as f64)
    }

    /// Share of the rows of class 1 that are predicted as 0; an error without such rows.
    pub fn false_negative_rate(&self) -> Result<f64> {
        let positives = self.positives();
        if positives == 0 {
            return Err(no_rows_of(1, "false negative rate", self.rows() as usize));
        }
        Ok(self.false_negatives as f64 / positives as f64)
    }
}

/// [`BinaryCounts::false_positive_rate`] of predicted classes.
pub fn false_positive_rate(predicted: &[u32], labels: &[u32]) -> Result<f64> {
    BinaryCounts::new(predicted, labels)?.false_positive_rate()
}

/// [`BinaryCounts::false_negative_rate`] of predicted classes.
pub fn false_negative_rate(predicted: &[u32], labels: &[u32]) -> Result<f64> {
    BinaryCounts::new(predicted, labels)?.false_negative_rate()
}
