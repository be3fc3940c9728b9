//! Noise for two classes.

use super::{NoisyLabels, Rate, STREAM, check_input, flip_any};
use crate::error::Result;
use crate::rng::Rng;

/// Turns `⌊ρn⌋` rows from 0 to 1 or from 1 to 0, drawn from both classes alike (method, "Noise", binary flip).
///
/// For different rates per class use a [`TransitionMatrix`](super::TransitionMatrix).
pub fn binary_flip(labels: &[u32], rate: Rate, seed: u64) -> Result<NoisyLabels> {
    check_input(labels, 2)?;
    let mut rng = Rng::new(seed, STREAM);
    Ok(flip_any(labels, rate, &mut rng, |_, label| 1 - label))
}
