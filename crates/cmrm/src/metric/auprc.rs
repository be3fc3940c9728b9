//! Area under the precision-recall curve.

use super::check::{binary_scores, no_rows_of};
use crate::error::Result;

/// Average precision, `Σ (R_k − R_{k−1}) P_k` over the distinct scores from the largest down.
///
/// A step function as scikit-learn's `average_precision_score`, without the optimistic straight lines between points.
/// Equal scores enter together.
pub fn average_precision<T: Copy + Into<f64>>(scores: &[T], labels: &[u32]) -> Result<f64> {
    let mut rows = binary_scores(scores, labels)?;
    let positives = rows.iter().filter(|row| row.1).count();
    if positives == 0 {
        return Err(no_rows_of(1, "AUPRC", rows.len()));
    }
    rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let (mut found, mut taken, mut area) = (0usize, 0usize, 0.0);
    for tied in rows.chunk_by(|a, b| a.0 == b.0) {
        let up = tied.iter().filter(|row| row.1).count();
        found += up;
        taken += tied.len();
        area += up as f64 * (found as f64 / taken as f64);
    }
    Ok(area / positives as f64)
}
