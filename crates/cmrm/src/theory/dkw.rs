//! An interval for the threshold τ that assumes nothing about the margins but independence.

use serde::{Deserialize, Serialize};

use super::gap_bound::dkw_epsilon;
use super::order::{check_level, finite, smallest};
use crate::error::Result;

/// Interval for the α-quantile of the distribution that the margins were drawn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DkwInterval {
    /// Quantile level.
    pub alpha: f64,
    /// The interval misses the quantile with at most this probability.
    pub delta: f64,
    /// Number of margins, s.
    pub rows: usize,
    /// Half-width of the band around the distribution function, ε_s.
    pub epsilon: f64,
    /// Lower end; `None` where s margins are too few to bound it.
    pub lower: Option<f64>,
    /// Upper end; `None` where s margins are too few to bound it.
    pub upper: Option<f64>,
}

impl DkwInterval {
    /// Whether `tau` lies within; an end that is missing excludes nothing.
    pub fn contains(&self, tau: f64) -> bool {
        self.lower.is_none_or(|lower| lower <= tau) && self.upper.is_none_or(|upper| tau <= upper)
    }
}

/// The order statistics ⌈s(α−ε)⌉ and ⌊s(α+ε)⌋+1 of s margins (Dvoretzky–Kiefer–Wolfowitz with Massart's constant).
pub fn dkw_interval<T: Copy + Into<f64>>(margins: &[T], alpha: f64, delta: f64) -> Result<DkwInterval> {
    check_level("alpha", alpha)?;
    check_level("delta", delta)?;
    let mut margins = finite("margin", margins)?;
    let rows = margins.len();
    let epsilon = dkw_epsilon(rows, delta)?;
    let s = rows as f64;
    // Casts of negative numbers give 0: no such order statistic, hence no bound.
    let lower_rank = (s * (alpha - epsilon)).ceil() as usize;
    let upper_rank = ((s * (alpha + epsilon)).floor() as usize).saturating_add(1);
    let mut at = |rank: usize| (1..=rows).contains(&rank).then(|| smallest(&mut margins, rank));
    Ok(DkwInterval { alpha, delta, rows, epsilon, lower: at(lower_rank), upper: at(upper_rank) })
}
