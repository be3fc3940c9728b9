//! Circular noise.

use super::{NoisyLabels, Rate, STREAM, check_input, check_two_classes, flip_any};
use crate::error::Result;
use crate::rng::Rng;

/// Moves `⌊ρn⌋` rows to the next class, `(y + 1) mod K` (method, "Noise", circular).
///
/// K is the number of classes of the data. The paper writes "mod 100" for Food-101 as well, which has 101.
pub fn circular(labels: &[u32], classes: usize, rate: Rate, seed: u64) -> Result<NoisyLabels> {
    check_input(labels, classes)?;
    check_two_classes(labels, classes, rate)?;
    let mut rng = Rng::new(seed, STREAM);
    Ok(flip_any(labels, rate, &mut rng, |_, label| if label as usize + 1 == classes { 0 } else { label + 1 }))
}
