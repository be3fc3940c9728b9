//! Randomised APS: the class counts for a random part of its own probability, which makes the coverage exact instead
//! of at least the level.

use super::ranking::Place;

/// Mass of the strictly more likely classes plus `uniform` times the class's own probability; one uniform number in
/// `[0, 1]` serves all classes of a row.
pub fn score(place: Place, uniform: f64) -> f64 {
    place.above + uniform * place.probability
}
