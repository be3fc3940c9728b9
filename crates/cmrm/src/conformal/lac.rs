//! LAC, the least ambiguous classifier's score: one minus the probability of the class. Needs no sorting and gives the
//! smallest sets on average; hard rows may get an empty set.

use super::threshold::Thresholds;

/// `1 − p` of the class (the paper's score for prediction sets).
pub fn score(probability: f64) -> f64 {
    1.0 - probability
}

/// Adds the classes of `row` within their thresholds to `members`, ascending.
#[inline(always)]
pub(super) fn select<T: Copy + Into<f64>>(row: &[T], thresholds: &Thresholds, members: &mut Vec<u32>) {
    let mut count = members.len();
    members.resize(count + row.len(), 0);
    // The write happens for every class and only the count depends on the comparison: no branch to mispredict.
    let mut add = |class: usize, p: T, limit: f64| {
        members[count] = class as u32;
        count += usize::from(score(p.into()) <= limit);
    };
    match thresholds {
        Thresholds::Marginal(limit) => row.iter().enumerate().for_each(|(class, &p)| add(class, p, *limit)),
        Thresholds::PerClass(limits) => {
            row.iter().zip(limits).enumerate().for_each(|(class, (&p, limit))| add(class, p, *limit));
        }
    }
    members.truncate(count);
}

/// Says of each class of `row` whether it is within its threshold. `mask` is as long as the row.
#[inline(always)]
pub(super) fn mark<T: Copy + Into<f64>>(row: &[T], thresholds: &Thresholds, mask: &mut [bool]) {
    match thresholds {
        Thresholds::Marginal(limit) => {
            for (marked, &p) in mask.iter_mut().zip(row) {
                *marked = score(p.into()) <= *limit;
            }
        }
        Thresholds::PerClass(limits) => {
            for ((marked, &p), limit) in mask.iter_mut().zip(row).zip(limits) {
                *marked = score(p.into()) <= *limit;
            }
        }
    }
}
