//! Area under the receiver operating characteristic.

use super::check::{binary_scores, no_rows_of};
use crate::error::Result;

/// Probability that a random row of class 1 scores higher than a random row of class 0, a tie counting one half.
///
/// Counted in integers from the sorted scores, so that it does not depend on the order of the rows, nor on the scale
/// of the scores.
pub fn auroc<T: Copy + Into<f64>>(scores: &[T], labels: &[u32]) -> Result<f64> {
    let mut rows = binary_scores(scores, labels)?;
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut positives, mut twice_wins) = (0u128, 0u128, 0u128);
    for tied in rows.chunk_by(|a, b| a.0 == b.0) {
        let up = tied.iter().filter(|row| row.1).count() as u128;
        let down = tied.len() as u128 - up;
        twice_wins += up * (2 * below + down);
        below += down;
        positives += up;
    }
    match (below, positives) {
        (0, _) => Err(no_rows_of(0, "AUROC", rows.len())),
        (_, 0) => Err(no_rows_of(1, "AUROC", rows.len())),
        (negatives, positives) => Ok(twice_wins as f64 / (2 * negatives * positives) as f64),
    }
}
