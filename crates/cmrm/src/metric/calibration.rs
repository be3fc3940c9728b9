//! Does a stated confidence of 80 % come true in 80 % of the cases?

use serde::{Deserialize, Serialize};

use super::check::check_probabilities;
use crate::error::{Result, check_parameter};
use crate::matrix::Matrix;
use crate::scores::most_likely;

/// More bins than this are a mistake.
const MAX_BINS: usize = 1_000_000;

/// The rows whose confidence falls in one bin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Number of rows.
    pub rows: usize,
    /// Their mean confidence; 0 without rows.
    pub confidence: f64,
    /// Share of them that were right; 0 without rows.
    pub accuracy: f64,
}

/// The bins of a reliability diagram.
///
/// Confidence is the largest probability of a row, right means that its class (the lowest on ties) is the label. `bins`
/// bins of equal width, `(b/B, (b+1)/B]`, open below and closed above; a confidence of 0 belongs to the first.
pub fn reliability<T: Copy + Into<f64>>(
    probabilities: Matrix<'_, T>,
    labels: &[u32],
    bins: usize,
) -> Result<Vec<ReliabilityBin>> {
    check_parameter("bins", bins as f64, (1..=MAX_BINS).contains(&bins), "between 1 and 1000000; 15 is usual")?;
    check_probabilities(probabilities, labels)?;
    let mut found = vec![ReliabilityBin { rows: 0, confidence: 0.0, accuracy: 0.0 }; bins];
    for (row, &label) in probabilities.iter_rows().zip(labels) {
        let class = most_likely(row);
        let confidence = row[class as usize].into();
        let bin = &mut found[bin_of(confidence, bins)];
        bin.rows += 1;
        bin.confidence += confidence;
        bin.accuracy += f64::from(u8::from(class == label));
    }
    for bin in found.iter_mut().filter(|bin| bin.rows > 0) {
        bin.confidence /= bin.rows as f64;
        bin.accuracy /= bin.rows as f64;
    }
    Ok(found)
}

fn bin_of(confidence: f64, bins: usize) -> usize {
    let above = (confidence * bins as f64).ceil() as usize; // a cast from a float saturates
    above.saturating_sub(1).min(bins - 1)
}

/// Expected calibration error: `Σ_b (n_b/n) |accuracy_b − confidence_b|` over the bins of [`reliability`].
///
/// The value depends on the number of bins (15 is usual) and is biased upwards for few rows: compare only values with
/// the same bins and a like number of rows.
pub fn expected_calibration_error<T: Copy + Into<f64>>(
    probabilities: Matrix<'_, T>,
    labels: &[u32],
    bins: usize,
) -> Result<f64> {
    let found = reliability(probabilities, labels, bins)?;
    let sum: f64 = found.iter().map(|bin| bin.rows as f64 * (bin.accuracy - bin.confidence).abs()).sum();
    Ok(sum / labels.len() as f64)
}
