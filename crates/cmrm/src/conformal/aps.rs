//! APS, adaptive prediction sets: how much probability is spent once the class is reached from the top.

use super::ranking::Place;

/// Mass of the strictly more likely classes plus the class's own probability. Classes of equal probability share a
/// score, so the order in which classes are numbered does not matter.
pub fn score(place: Place) -> f64 {
    place.above + place.probability
}
