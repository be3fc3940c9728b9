//! RAPS, regularised APS: late ranks cost extra, which cuts the long tails of APS sets when there are many classes.

use super::aps;
use super::ranking::Place;

/// The APS score plus `penalty · max(0, rank − free_ranks)`, the most likely class having rank 1 and classes of equal
/// probability sharing the first of their ranks. Not randomised, unlike the usual reference implementation.
pub fn score(place: Place, penalty: f64, free_ranks: usize) -> f64 {
    aps::score(place) + penalty * place.rank.saturating_sub(free_ranks) as f64
}
