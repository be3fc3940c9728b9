//! Share of right predictions.

use super::check::{check_finite, check_rows};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::scores::most_likely;

/// Share of rows whose predicted class is the label.
pub fn accuracy(predicted: &[u32], labels: &[u32]) -> Result<f64> {
    check_rows(predicted.len(), labels)?;
    let right = predicted.iter().zip(labels).filter(|(p, y)| p == y).count();
    Ok(right as f64 / labels.len() as f64)
}

/// The class with the largest score in every row; the lowest index on ties, as everywhere in the method.
pub fn predicted_classes<T: Copy + Into<f64>>(scores: Matrix<'_, T>) -> Result<Vec<u32>> {
    if scores.rows() == 0 {
        return Err(Error::Empty { what: "the matrix of scores" });
    }
    check_finite(scores)?;
    Ok(scores.iter_rows().map(most_likely).collect())
}
