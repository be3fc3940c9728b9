//! Proposition 1: how far the threshold of a batch may lie from that of the population.

use serde::{Deserialize, Serialize};

use super::density::{MarginDensity, NEAR_STEP};
use super::order::check_level;
use crate::error::{Result, check_parameter};

/// Beyond this batch size counts are no longer exact in floating point.
const LARGEST_BATCH: f64 = 9e15;

/// The bound of Proposition 1 for one batch size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantileGapBound {
    /// Batch size s.
    pub batch: usize,
    /// The bound fails with at most this probability.
    pub delta: f64,
    /// ε_s = sqrt(log(2/δ)/(2s)).
    pub epsilon: f64,
    /// Lower bound g0 on the margin density within `radius` of τ.
    pub density_floor: f64,
    /// Radius η around τ.
    pub radius: f64,
    /// Whether ε_s + 1/s ≤ g0 η.
    pub precondition_holds: bool,
    /// (ε_s + 1/s)/g0, the largest |τ̂ − τ|; `None` where the precondition fails and nothing is promised.
    pub bound: Option<f64>,
    /// The smallest batch for which the precondition holds with this g0 and η; `None` if no batch suffices.
    pub smallest_batch: Option<usize>,
    /// What to tell a user where the precondition fails.
    pub warning: Option<String>,
}

/// ε_s = sqrt(log(2/δ)/(2s)): the distribution function of s margins is this close to the true one with probability at
/// least 1−δ.
pub fn dkw_epsilon(rows: usize, delta: f64) -> Result<f64> {
    check_level("delta", delta)?;
    check_parameter("rows", rows as f64, rows > 0, "at least 1")?;
    Ok((log_two_over(delta) / (2.0 * rows as f64)).sqrt())
}

/// log(2/δ) without forming 2/δ, which overflows for the smallest δ.
fn log_two_over(delta: f64) -> f64 {
    std::f64::consts::LN_2 - delta.ln()
}

/// Proposition 1: if the margin density is at least `density_floor` (g0) within `radius` (η) of τ and
/// ε_s + 1/s ≤ g0 η, then |τ̂ − τ| ≤ (ε_s + 1/s)/g0 with probability at least 1−δ.
pub fn quantile_gap_bound(batch: usize, delta: f64, density_floor: f64, radius: f64) -> Result<QuantileGapBound> {
    let epsilon = dkw_epsilon(batch, delta)?;
    let is_density = density_floor >= 0.0 && density_floor.is_finite();
    check_parameter("density_floor", density_floor, is_density, "0 or more, finite")?;
    check_parameter("radius", radius, radius > 0.0 && radius.is_finite(), "above 0, finite")?;
    let needed = epsilon + 1.0 / batch as f64;
    let available = density_floor * radius;
    let precondition_holds = needed <= available;
    let smallest_batch = smallest_batch(delta, available);
    let warning = (!precondition_holds).then(|| {
        let way_out = match smallest_batch {
            Some(rows) => format!("a batch of at least {rows} rows would do"),
            None => "the density vanishes near the threshold, so no batch size would do".to_string(),
        };
        format!(
            "the bound on the batch quantile does not apply: epsilon + 1/s = {needed:.4} for a batch of {batch}, above \
             density * radius = {available:.4}; {way_out}"
        )
    });
    let bound = precondition_holds.then(|| needed / density_floor);
    Ok(QuantileGapBound {
        batch,
        delta,
        epsilon,
        density_floor,
        radius,
        precondition_holds,
        bound,
        smallest_batch,
        warning,
    })
}

/// The bound of Proposition 1 with the density estimated from margins and the smallest radius whose precondition
/// holds, which gives the smallest bound. If none up to `largest_radius` does, the bound of that radius, which says so.
/// The estimated density stands in for the true one, so the probability is no longer a guarantee.
pub fn tightest_gap_bound(
    density: &MarginDensity,
    tau: f64,
    batch: usize,
    delta: f64,
    largest_radius: f64,
) -> Result<QuantileGapBound> {
    let needed = dkw_epsilon(batch, delta)? + 1.0 / batch as f64;
    let widest = density.near(tau, largest_radius)?;
    // Outward in the steps that `near` takes, the running minimum being g0 of the radius reached.
    let step = (density.bandwidth() * NEAR_STEP).max(largest_radius / 4096.0);
    let mut floor = widest.at_tau;
    let mut radius = 0.0;
    while radius + step < largest_radius && floor > 0.0 {
        radius += step;
        floor = floor.min(density.at(tau - radius)).min(density.at(tau + radius));
        if floor * radius >= needed {
            return quantile_gap_bound(batch, delta, floor, radius);
        }
    }
    quantile_gap_bound(batch, delta, widest.minimum, largest_radius)
}

/// The smallest s with ε_s + 1/s ≤ `available`: with x = 1/√s, the root of x² + √(log(2/δ)/2)·x = available.
fn smallest_batch(delta: f64, available: f64) -> Option<usize> {
    if available <= 0.0 {
        return None;
    }
    let slope = (log_two_over(delta) / 2.0).sqrt();
    let root = 2.0 * available / (slope + (slope * slope + 4.0 * available).sqrt());
    let rows = (1.0 / (root * root)).ceil().max(1.0);
    if rows.is_nan() || rows >= LARGEST_BATCH {
        return None;
    }
    // The root is rounded, so the true answer may be a neighbour.
    let suffices = |s: f64| slope / s.sqrt() + 1.0 / s <= available;
    (-1..=1).map(|shift| rows + f64::from(shift)).find(|&s| s >= 1.0 && suffices(s)).map(|s| s as usize)
}
