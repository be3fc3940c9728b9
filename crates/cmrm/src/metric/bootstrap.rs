//! An interval for any metric, by drawing the rows again.

use serde::{Deserialize, Serialize};

use super::interval::{Interval, check_level};
use crate::error::{Error, Result, check_parameter};
use crate::rng::Rng;

/// The stream of [`Rng`] that resampling draws from.
const STREAM: u64 = 0x62_6f6f_7473;

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BootstrapConfig {
    /// Number of resamples, 10 to a million.
    pub resamples: usize,
    /// Confidence of the interval.
    pub level: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for BootstrapConfig {
    fn default() -> Self {
        BootstrapConfig { resamples: 1000, level: 0.95, seed: 0 }
    }
}

/// What resampling found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// The metric on the rows as they are.
    pub estimate: f64,
    /// The percentile interval.
    pub interval: Interval,
    /// Standard deviation over the resamples (divided by their number less one).
    pub standard_error: f64,
    /// Resamples that gave a number.
    pub resamples: usize,
    /// Resamples left out because the metric was undefined on them, such as an AUROC without positives.
    pub undefined: usize,
}

/// Percentile bootstrap: draws `rows` of `rows` indices with replacement, many times, and takes the quantiles of the
/// metric (linear between order statistics).
///
/// `metric` gets the indices of the rows to compute on. It is first called with `0..rows`, and its error there is
/// returned. An error or a number that is not finite on a resample leaves that resample out; if fewer than half
/// remain, that is an error. The interval speaks of the rows drawn, not of the seeds trained.
pub fn bootstrap(
    rows: usize,
    config: &BootstrapConfig,
    mut metric: impl FnMut(&[usize]) -> Result<f64>,
) -> Result<Bootstrap> {
    check_level(config.level)?;
    let sensible = (10..=1_000_000).contains(&config.resamples);
    check_parameter("resamples", config.resamples as f64, sensible, "between 10 and 1000000")?;
    check_parameter("rows", rows as f64, rows >= 2, "at least 2; a single row has no spread")?;
    let mut drawn: Vec<usize> = (0..rows).collect();
    let estimate = metric(&drawn)?;
    if !estimate.is_finite() {
        return Err(Error::non_finite("metric on all rows", 0, 0, estimate));
    }
    let mut rng = Rng::new(config.seed, STREAM);
    let mut values = Vec::with_capacity(config.resamples);
    for _ in 0..config.resamples {
        drawn.fill_with(|| rng.below(rows));
        if let Ok(value) = metric(&drawn)
            && value.is_finite()
        {
            values.push(value);
        }
    }
    let undefined = config.resamples - values.len();
    if values.len() < undefined || values.len() < 2 {
        return Err(Error::Invalid {
            what: "bootstrap",
            reason: format!(
                "the metric is undefined on {undefined} of {} resamples; too few rows of some class for an interval",
                config.resamples
            ),
        });
    }
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - config.level) / 2.0;
    let interval = Interval { low: quantile(&values, tail), high: quantile(&values, 1.0 - tail), level: config.level };
    let standard_error = standard_deviation(&values);
    Ok(Bootstrap { estimate, interval, standard_error, resamples: values.len(), undefined })
}

/// Quantile of sorted numbers at position `q(n−1)`, linear in between.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let below = (position.floor() as usize).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    let share = position - below as f64;
    sorted[below] * (1.0 - share) + sorted[above] * share
}

fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}
