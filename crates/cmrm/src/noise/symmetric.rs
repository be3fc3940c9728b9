//! Symmetric noise.

use super::{NoisyLabels, Rate, STREAM, check_input, check_two_classes, flip_any};
use crate::error::Result;
use crate::rng::Rng;

/// Gives `⌊ρn⌋` rows a uniformly chosen *different* class (method, "Noise", symmetric).
///
/// Some published code draws from all classes, the old one included, and so flips a `1/K` share less than it says.
pub fn symmetric(labels: &[u32], classes: usize, rate: Rate, seed: u64) -> Result<NoisyLabels> {
    check_input(labels, classes)?;
    check_two_classes(labels, classes, rate)?;
    let mut rng = Rng::new(seed, STREAM);
    Ok(flip_any(labels, rate, &mut rng, |rng, label| {
        let other = rng.below(classes.saturating_sub(1)) as u32;
        // The classes without `label`, renumbered without a gap: those from `label` on move up by one.
        if other >= label { other + 1 } else { other }
    }))
}
