//! When learning by heart begins.

use super::epoch::EpochStats;

/// Epochs in a row that must show it: the accuracy on a few hundred held-back rows moves by chance.
const IN_A_ROW: usize = 2;

/// The epoch after the first [`IN_A_ROW`] of one arm in which the accuracy on observed labels is at least `gap` higher on the
/// training rows than on those held back.
pub(super) fn onset(of_arm: &[&EpochStats], gap: f64) -> Option<usize> {
    let ahead = |stats: &EpochStats| match (stats.training_accuracy, stats.validation_accuracy) {
        (Some(training), Some(held_back)) => training - held_back >= gap,
        _ => false,
    };
    let found = of_arm.windows(IN_A_ROW).position(|epochs| epochs.iter().all(|stats| ahead(stats)))?;
    Some(found + IN_A_ROW)
}
