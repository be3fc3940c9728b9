//! Accuracy that gives every class the same say.

use super::confusion::{Confusion, mean_defined};
use crate::error::Result;

/// Mean recall over the classes that have rows, as scikit-learn's `balanced_accuracy_score` (not adjusted for chance).
pub fn balanced_accuracy(predicted: &[u32], labels: &[u32], classes: usize) -> Result<f64> {
    Ok(mean_defined(&Confusion::new(predicted, labels, classes)?.recalls()))
}
