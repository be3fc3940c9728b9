//! F1 that gives every class the same say.

use super::confusion::{Confusion, mean_defined};
use crate::error::Result;

/// Mean F1 over the classes that occur among the labels or the predictions, as scikit-learn's
/// `f1_score(average="macro")`. A class that occurs in one of them only counts 0.
pub fn macro_f1(predicted: &[u32], labels: &[u32], classes: usize) -> Result<f64> {
    Ok(mean_defined(&Confusion::new(predicted, labels, classes)?.f1_scores()))
}
