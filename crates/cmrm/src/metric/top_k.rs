//! Share of rows with the label among the k best classes.

use super::check::check_scores;
use crate::error::{Result, check_parameter};
use crate::matrix::Matrix;

/// Share of rows whose label is among the `k` classes with the largest scores.
///
/// Of equal scores the lower class index is ahead, so that `k = 1` is the accuracy of
/// [`predicted_classes`](super::predicted_classes). (scikit-learn puts the higher index ahead.)
pub fn top_k_accuracy<T: Copy + Into<f64>>(scores: Matrix<'_, T>, labels: &[u32], k: usize) -> Result<f64> {
    check_parameter("k", k as f64, k >= 1, "at least 1")?;
    check_scores(scores, labels)?;
    let right = scores
        .iter_rows()
        .zip(labels)
        .filter(|(row, label)| {
            let label = **label as usize;
            let own: f64 = row[label].into();
            let ahead = row.iter().enumerate().filter(|&(class, &score)| {
                let score: f64 = score.into();
                score > own || (score == own && class < label)
            });
            ahead.count() < k
        })
        .count();
    Ok(right as f64 / labels.len() as f64)
}
