//! LAC, the least ambiguous classifier's score: one minus the probability of the class. Needs no sorting and gives the
//! smallest sets on average; hard rows may get an empty set.

use super::threshold::Thresholds;

/// `1 − p` of the class (the paper's score for prediction sets).
pub fn score(probability: f64) -> f64 {
    1.0 - probability
}

/// Writes the classes of `row` within their thresholds to the front of `members`, ascending; returns how many.
/// `members` is as long as the row.
pub(super) fn select<T: Copy + Into<f64>>(row: &[T], thresholds: &Thresholds, members: &mut [u32]) -> usize {
    // The write happens for every class and only the count depends on the comparison: no branch to mispredict.
    let mut count = 0;
    match thresholds {
        Thresholds::Marginal(limit) => {
            for (class, &p) in row.iter().enumerate() {
                members[count] = class as u32;
                count += usize::from(score(p.into()) <= *limit);
            }
        }
        Thresholds::PerClass(limits) => {
            for (class, (&p, limit)) in row.iter().zip(limits).enumerate() {
                members[count] = class as u32;
                count += usize::from(score(p.into()) <= *limit);
            }
        }
    }
    count
}
