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
    Ok(bins_of(predictions(probabilities, labels), bins))
}

/// The confidence of every row, and whether it was right.
fn predictions<T: Copy + Into<f64>>(probabilities: Matrix<'_, T>, labels: &[u32]) -> impl Iterator<Item = (f64, bool)> {
    probabilities.iter_rows().zip(labels).map(|(row, &label)| {
        let class = most_likely(row);
        (row[class as usize].into(), class == label)
    })
}

fn bins_of(predictions: impl Iterator<Item = (f64, bool)>, bins: usize) -> Vec<ReliabilityBin> {
    let mut found = vec![ReliabilityBin { rows: 0, confidence: 0.0, accuracy: 0.0 }; bins];
    for (confidence, right) in predictions {
        let bin = &mut found[bin_of(confidence, bins)];
        bin.rows += 1;
        bin.confidence += confidence;
        bin.accuracy += f64::from(u8::from(right));
    }
    for bin in found.iter_mut().filter(|bin| bin.rows > 0) {
        bin.confidence /= bin.rows as f64;
        bin.accuracy /= bin.rows as f64;
    }
    found
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
    Ok(error_of(&found, labels.len()))
}

/// The same of rows whose confidence is known, each with whether it was right: for resampling, which would look for it again in
/// every sample. No rows and no bins have no error.
pub fn calibration_error_of(predictions: impl Iterator<Item = (f64, bool)>, bins: usize) -> f64 {
    let found = bins_of(predictions, bins.clamp(1, MAX_BINS));
    let rows = found.iter().map(|bin| bin.rows).sum::<usize>();
    error_of(&found, rows.max(1))
}

fn error_of(bins: &[ReliabilityBin], rows: usize) -> f64 {
    let sum: f64 = bins.iter().map(|bin| bin.rows as f64 * (bin.accuracy - bin.confidence).abs()).sum();
    sum / rows as f64
}

/// A row for [`calibration_error_beyond`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowCalibration {
    /// The largest probability.
    pub confidence: f64,
    /// 1 if its class is the label, else 0; or an estimate of that.
    pub right: f64,
    /// What the row adds by chance to the square of its bin's sum of `right − confidence`, in the mean.
    pub variance: f64,
}

impl RowCalibration {
    /// Of a row with a label that is taken as it is: all that is not the bin's own error is chance.
    pub fn by_label(confidence: f64, right: bool) -> Self {
        let right = f64::from(u8::from(right));
        RowCalibration { confidence, right, variance: (right - confidence).powi(2) }
    }
}

/// Expected calibration error without what chance adds to it: `Σ_b √max(0, S_b² − V_b) / n` over the bins of [`reliability`], where
/// `S_b = Σ_i c_i (right_i − confidence_i)`, `V_b = Σ_i c_i² variance_i`, and each row comes with the number of times `c_i` it counts.
///
/// With `V_b = 0` it is [`expected_calibration_error`], which chance alone keeps above 0, the more so the more bins a model uses. Of two
/// models that are calibrated equally well, the one with more varied confidence would look worse, and resampling the rows would call
/// that significant. `c_i²`, because a row that a resample has drawn twice repeats its own chance. No rows and no bins have no error.
pub fn calibration_error_beyond(rows: impl Iterator<Item = (RowCalibration, u32)>, bins: usize) -> f64 {
    let bins = bins.clamp(1, MAX_BINS);
    let mut sums = vec![(0.0, 0.0); bins];
    let mut all = 0.0;
    for (row, times) in rows {
        let times = f64::from(times);
        let (sum, variance) = &mut sums[bin_of(row.confidence, bins)];
        *sum += times * (row.right - row.confidence);
        *variance += times * times * row.variance;
        all += times;
    }
    sums.iter().map(|(sum, variance)| (sum * sum - variance).max(0.0).sqrt()).sum::<f64>() / f64::max(all, 1.0)
}
