//! Mean squared error of probabilities.

use super::check::{binary_scores, check_probabilities, check_probability};
use crate::error::Result;
use crate::matrix::Matrix;

/// Mean over rows of `Σ_k (p[k] − 1[k = y])²`: Brier's own form, between 0 and 2.
///
/// For two classes it is twice [`binary_brier`] (scikit-learn: `scale_by_half=False`).
pub fn brier<T: Copy + Into<f64>>(probabilities: Matrix<'_, T>, labels: &[u32]) -> Result<f64> {
    check_probabilities(probabilities, labels)?;
    let sum: f64 = probabilities
        .iter_rows()
        .zip(labels)
        .map(|(row, &label)| {
            row.iter()
                .enumerate()
                .map(|(class, &p)| (p.into() - f64::from(u8::from(class == label as usize))).powi(2))
                .sum::<f64>()
        })
        .sum();
    Ok(sum / labels.len() as f64)
}

/// Mean of `(p − y)²` for the probability `p` of class 1: the usual form for two classes, between 0 and 1.
pub fn binary_brier<T: Copy + Into<f64>>(probabilities: &[T], labels: &[u32]) -> Result<f64> {
    let rows = binary_scores(probabilities, labels)?;
    let mut sum = 0.0;
    for (row, &(p, positive)) in rows.iter().enumerate() {
        check_probability(row, 0, p)?;
        sum += (p - f64::from(u8::from(positive))).powi(2);
    }
    Ok(sum / rows.len() as f64)
}
