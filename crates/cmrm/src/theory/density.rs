//! The density of margins by a Gaussian kernel estimate.

use serde::{Deserialize, Serialize};

use super::order::finite;
use crate::error::{Result, check_parameter};

/// Kernels further away than this many bandwidths weigh less than 1e-17 of a kernel at its centre.
const REACH: f64 = 9.0;

/// Step, in bandwidths, with which [`MarginDensity::near`] looks for the minimum. A kernel estimate bends so slowly
/// that between two such points it dips by at most 0.2 % of a kernel's height.
pub(super) const NEAR_STEP: f64 = 0.125;

/// Most steps on each side of τ.
const MOST_STEPS: f64 = 4096.0;

/// How wide the kernels are.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bandwidth {
    /// Silverman's rule of thumb, 0.9 · min(standard deviation, interquartile range / 1.34) · n^(−1/5); the standard
    /// deviation alone where the interquartile range is 0.
    #[default]
    Silverman,
    /// The given number, above 0.
    Fixed(f64),
}

/// Gaussian kernel density of margins. Nothing is done at the ends of the range: of probability margins near ±1 some
/// mass lies outside [−1, 1], and the density there is too low, which errs on the safe side as a lower bound.
#[derive(Debug, Clone, PartialEq)]
pub struct MarginDensity {
    /// Ascending.
    margins: Vec<f64>,
    bandwidth: f64,
}

/// The density around a threshold; what Proposition 1 asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DensityNear {
    /// The threshold.
    pub tau: f64,
    /// Radius η around it.
    pub radius: f64,
    /// Kernel bandwidth.
    pub bandwidth: f64,
    /// Density at τ.
    pub at_tau: f64,
    /// Smallest density within η of τ (g0).
    pub minimum: f64,
    /// Where it is.
    pub minimum_at: f64,
}

impl MarginDensity {
    /// Estimates the density of `margins`. Equal margins have no density: then Silverman's rule gives 0 and is refused.
    pub fn new<T: Copy + Into<f64>>(margins: &[T], bandwidth: Bandwidth) -> Result<Self> {
        let mut margins = finite("margin", margins)?;
        margins.sort_unstable_by(f64::total_cmp);
        let bandwidth = match bandwidth {
            Bandwidth::Silverman => silverman(&margins),
            Bandwidth::Fixed(width) => width,
        };
        let usable = bandwidth > 0.0 && bandwidth.is_finite();
        check_parameter("bandwidth", bandwidth, usable, "above 0, finite (if all margins are equal, give one)")?;
        Ok(MarginDensity { margins, bandwidth })
    }

    /// The kernel bandwidth.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// The density at `x`.
    pub fn at(&self, x: f64) -> f64 {
        let reach = REACH * self.bandwidth;
        let start = self.margins.partition_point(|&margin| margin < x - reach);
        let end = self.margins.partition_point(|&margin| margin <= x + reach);
        // An infinite or NaN x can put the ends in the wrong order; the density there is 0.
        let near = self.margins.get(start..end).unwrap_or_default();
        let sum: f64 = near.iter().map(|&margin| (-0.5 * ((x - margin) / self.bandwidth).powi(2)).exp()).sum();
        sum / (self.margins.len() as f64 * self.bandwidth * std::f64::consts::TAU.sqrt())
    }

    /// `points` pairs of place and density from `low` to `high`, for a plot.
    pub fn curve(&self, low: f64, high: f64, points: usize) -> Vec<(f64, f64)> {
        let last = points.saturating_sub(1).max(1) as f64;
        (0..points).map(|i| low + (high - low) * (i as f64 / last)).map(|x| (x, self.at(x))).collect()
    }

    /// The density at `tau` and its minimum within `radius` of it, looked for on a grid an eighth of a bandwidth fine
    /// (coarser only where the radius spans more than 512 bandwidths).
    pub fn near(&self, tau: f64, radius: f64) -> Result<DensityNear> {
        check_parameter("tau", tau, tau.is_finite(), "finite")?;
        check_parameter("radius", radius, radius > 0.0 && radius.is_finite(), "above 0, finite")?;
        let steps = (radius / (NEAR_STEP * self.bandwidth)).ceil().clamp(1.0, MOST_STEPS);
        let at_tau = self.at(tau);
        let (mut minimum, mut minimum_at) = (at_tau, tau);
        for i in 1..=steps as usize {
            let offset = radius * (i as f64 / steps);
            for x in [tau - offset, tau + offset] {
                let density = self.at(x);
                if density < minimum {
                    (minimum, minimum_at) = (density, x);
                }
            }
        }
        Ok(DensityNear { tau, radius, bandwidth: self.bandwidth, at_tau, minimum, minimum_at })
    }
}

/// Silverman's bandwidth of ascending values.
fn silverman(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let mean = sorted.iter().map(|value| value / n).sum::<f64>();
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let range = (interpolated(sorted, 0.75) - interpolated(sorted, 0.25)) / 1.34;
    let deviation = variance.sqrt();
    let scale = if range > 0.0 { deviation.min(range) } else { deviation };
    0.9 * scale * n.powf(-0.2)
}

/// Quantile of ascending values by linear interpolation at position `level`·(n−1).
fn interpolated(sorted: &[f64], level: f64) -> f64 {
    let position = level * (sorted.len() - 1) as f64;
    let below = position as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}
