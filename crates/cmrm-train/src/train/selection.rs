//! Which epoch's parameters an arm keeps, and when its patience ends.

use cmrm::Scalar;

use super::config::Selection;

/// The best epoch of one arm so far, by observed validation labels only. There is none before the terms of all arms are on
/// ([`Selection::Best`]), so that patience, which counts from here, cannot run out before.
#[derive(Debug, Clone)]
pub(crate) struct Best<T> {
    pub epoch: usize,
    pub accuracy: f64,
    pub loss: f64,
    pub parameters: Vec<T>,
}

/// Whether an arm has gone `patience` epochs without improvement.
pub(super) fn exhausted<T>(selection: Selection, best: Option<&Best<T>>, epoch: usize) -> bool {
    match (selection, best) {
        (Selection::Best { patience }, Some(best)) => patience > 0 && epoch >= best.epoch + patience,
        _ => false,
    }
}

/// Replaces `best` if this epoch is better: higher accuracy, or the same with a lower loss.
pub(super) fn consider<T: Scalar>(
    best: &mut Option<Best<T>>,
    epoch: usize,
    accuracy: f64,
    loss: f64,
    parameters: impl FnOnce() -> Vec<T>,
) {
    let better =
        best.as_ref().is_none_or(|best| accuracy > best.accuracy || (accuracy == best.accuracy && loss < best.loss));
    if better {
        *best = Some(Best { epoch, accuracy, loss, parameters: parameters() });
    }
}
