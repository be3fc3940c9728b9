//! Which candidate becomes the default.

use super::results::{Results, Setting};
use super::summary::Gains;
use crate::arms::CANDIDATES;

/// Most that a clean setting may lose, in points.
pub const ALLOWED_LOSS: f64 = 0.1;

/// How a candidate does on some settings, with cross-entropy.
pub struct Candidate {
    pub name: &'static str,
    /// Mean gain over the settings with 20 and with 40 %, each level counted once.
    pub gain: f64,
    pub clean: Gains,
}

pub fn candidates(results: &Results, pass: impl Fn(&Setting) -> bool) -> Vec<Candidate> {
    let of = |name: &'static str| {
        let at = |level: u32| Gains::of(&results.gains("cross-entropy", name, |s| s.level == level && pass(s)));
        Some(Candidate { name, gain: (at(20)?.mean + at(40)?.mean) / 2.0, clean: at(0)? })
    };
    CANDIDATES.iter().filter_map(|(name, _)| of(name)).collect()
}

/// The largest gain among the candidates that lose no more than allowed on clean labels: on any setting, or, where that
/// leaves none, on average.
pub fn choose(candidates: &[Candidate]) -> Option<&Candidate> {
    let best = |allowed: &dyn Fn(&Candidate) -> bool| {
        candidates.iter().filter(|c| allowed(c)).max_by(|a, b| a.gain.total_cmp(&b.gain))
    };
    best(&|c| c.clean.worst >= -ALLOWED_LOSS).or_else(|| best(&|c| c.clean.mean >= -ALLOWED_LOSS))
}
