//! Mean negative log-likelihood.

use super::check::check_probabilities;
use crate::error::Result;
use crate::matrix::Matrix;

/// Mean of `−log p[y]`, with natural logarithms.
///
/// A probability below 2.2e-16 counts as that much, as scikit-learn's `log_loss` does for f64, so that one row that the
/// model calls impossible costs 36 and not infinity.
pub fn log_loss<T: Copy + Into<f64>>(probabilities: Matrix<'_, T>, labels: &[u32]) -> Result<f64> {
    check_probabilities(probabilities, labels)?;
    let sum: f64 = probabilities
        .iter_rows()
        .zip(labels)
        .map(|(row, &label)| -row[label as usize].into().clamp(f64::EPSILON, 1.0).ln())
        .sum();
    Ok(sum / labels.len() as f64)
}
