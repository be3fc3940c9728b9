//! How the threshold of a batch strays from that of the whole set, measured.

use serde::{Deserialize, Serialize};

use super::order::{check_level, finite, quantile_rank, smallest};
use crate::error::{Error, Result, check_parameter};
use crate::rng::Rng;

/// Stream of the first batch size; the i-th uses the i-th stream after it.
const BATCH_STREAM: u64 = 0x7468_656f_0001_0000;

/// Gap between batch and set thresholds against the batch size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GapCurve {
    /// Quantile level.
    pub alpha: f64,
    /// Threshold of the whole set.
    pub tau: f64,
    /// Batches drawn for each size.
    pub trials: usize,
    /// One entry a batch size, in the order given.
    pub points: Vec<GapPoint>,
    /// Least-squares slope of log mean gap on log batch size, about −½ where Proposition 1 applies; `None` with fewer
    /// than two sizes of positive gap.
    pub slope: Option<f64>,
}

/// Gap at one batch size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GapPoint {
    /// Batch size.
    pub batch: usize,
    /// Mean |τ̂ − τ|.
    pub mean_gap: f64,
    /// 95 % of batches had a gap of at most this.
    pub gap_95: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
}

/// Draws `trials` batches of every size in `batches` from `margins` and compares their thresholds with the set's.
///
/// Batches are drawn with replacement, as the theory assumes; batches of an epoch are drawn without, which makes gaps
/// smaller by about sqrt(1 − s/n).
pub fn gap_curve<T: Copy + Into<f64>>(
    margins: &[T],
    alpha: f64,
    batches: &[usize],
    trials: usize,
    seed: u64,
) -> Result<GapCurve> {
    check_level("alpha", alpha)?;
    check_parameter("trials", trials as f64, trials > 0, "at least 1")?;
    if batches.is_empty() {
        return Err(Error::Empty { what: "the list of batch sizes" });
    }
    let margins = finite("margin", margins)?;
    let tau = smallest(&mut margins.clone(), quantile_rank(margins.len(), alpha));
    let mut points = Vec::with_capacity(batches.len());
    for (i, &batch) in batches.iter().enumerate() {
        check_parameter("batch size", batch as f64, batch > 0, "at least 1")?;
        let mut rng = Rng::new(seed, BATCH_STREAM.wrapping_add(i as u64));
        let point = gap_at(&margins, alpha, tau, batch, trials, &mut rng);
        if !point.standard_error.is_finite() {
            return Err(Error::non_finite(
                "spread of the gap at a batch size (the margins are too large)",
                i,
                0,
                f64::INFINITY,
            ));
        }
        points.push(point);
    }
    let slope = log_log_slope(&points);
    Ok(GapCurve { alpha, tau, trials, points, slope })
}

fn gap_at(margins: &[f64], alpha: f64, tau: f64, batch: usize, trials: usize, rng: &mut Rng) -> GapPoint {
    let rank = quantile_rank(batch, alpha);
    let mut sample = vec![0.0; batch];
    let mut gaps: Vec<f64> = (0..trials)
        .map(|_| {
            sample.fill_with(|| margins[rng.below(margins.len())]);
            (smallest(&mut sample, rank) - tau).abs()
        })
        .collect();
    let count = trials as f64;
    let mean_gap = gaps.iter().sum::<f64>() / count;
    let squares: f64 = gaps.iter().map(|gap| (gap - mean_gap).powi(2)).sum();
    let standard_error = (squares / (count - 1.0).max(1.0) / count).sqrt();
    let gap_95 = smallest(&mut gaps, crate::conformal::threshold::ceil_product(trials, 0.95).clamp(1, trials));
    GapPoint { batch, mean_gap, gap_95, standard_error }
}

/// Least-squares slope of log gap on log size.
fn log_log_slope(points: &[GapPoint]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|point| point.mean_gap > 0.0)
        .map(|point| ((point.batch as f64).ln(), point.mean_gap.ln()))
        .collect();
    let count = logs.len() as f64;
    let mean_x = logs.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = logs.iter().map(|point| point.1).sum::<f64>() / count;
    let spread: f64 = logs.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
    let together: f64 = logs.iter().map(|point| (point.0 - mean_x) * (point.1 - mean_y)).sum();
    // Also false for the NaN of no points at all.
    (spread > 0.0).then(|| together / spread)
}
