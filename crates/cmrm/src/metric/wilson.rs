//! An interval for a share of rows.

use statrs::function::erf::erfc_inv;

use super::interval::{Interval, check_level};
use crate::error::{Error, Result};

/// Wilson's score interval for `successes` of `trials`, without continuity correction.
///
/// It stays within `[0, 1]` and keeps its level near 0 and 1, where the textbook `p ± z·sqrt(p(1−p)/n)` collapses. It
/// speaks of the rows drawn, not of the seeds trained.
pub fn wilson(successes: usize, trials: usize, level: f64) -> Result<Interval> {
    check_level(level)?;
    if trials == 0 {
        return Err(Error::Empty { what: "the number of trials" });
    }
    if successes > trials {
        return Err(Error::Invalid {
            what: "Wilson interval",
            reason: format!("{successes} successes of {trials} trials; there cannot be more successes than trials"),
        });
    }
    let n = trials as f64;
    let share = successes as f64 / n;
    // The two-sided normal quantile; from 1 − level, so that a level close to 1 keeps its digits.
    let z = std::f64::consts::SQRT_2 * erfc_inv(1.0 - level);
    let shrink = 1.0 + z * z / n;
    let centre = (share + z * z / (2.0 * n)) / shrink;
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt() / shrink;
    // The ends at 0 and n are exact in theory; rounding must not leave 1e-19 behind.
    let low = if successes == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if successes == trials { 1.0 } else { (centre + half).min(1.0) };
    Ok(Interval { low, high, level })
}
