//! Which epoch's parameters an arm keeps, and when its patience ends.

use cmrm::Scalar;

use super::config::Selection;

/// The best epoch of one arm so far, by observed validation labels only. There is none before the terms of all arms with a
/// fixed start are on ([`Selection::Best`]), so that patience, which counts from here, cannot run out before.
#[derive(Debug, Clone)]
pub(crate) struct Best<T> {
    pub epoch: usize,
    pub accuracy: f64,
    /// The first epoch with this accuracy: equals move `epoch` on, but patience is for better ones.
    pub improved: usize,
    pub parameters: Vec<T>,
}

/// Whether an arm has gone `patience` epochs without improvement by the end of `epoch`.
pub(super) fn exhausted<T>(selection: Selection, best: Option<&Best<T>>, epoch: usize) -> bool {
    match (selection, best) {
        (Selection::Best { patience }, Some(best)) => patience > 0 && epoch >= best.improved + patience,
        _ => false,
    }
}

/// Replaces `best` unless this epoch's accuracy is lower.
pub(super) fn consider<T: Scalar>(
    best: &mut Option<Best<T>>,
    epoch: usize,
    accuracy: f64,
    parameters: impl FnOnce() -> Vec<T>,
) {
    let improved = match best {
        Some(best) if accuracy < best.accuracy => return,
        Some(best) if accuracy == best.accuracy => best.improved,
        _ => epoch,
    };
    *best = Some(Best { epoch, accuracy, improved, parameters: parameters() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_later_epoch_and_do_not_prolong_patience() {
        let mut best: Option<Best<f32>> = None;
        let mut kept = Vec::new();
        for (epoch, accuracy) in [0.5, 0.75, 0.75, 0.5, 0.75, 0.25].into_iter().enumerate() {
            consider(&mut best, epoch, accuracy, || vec![epoch as f32]);
            let best = best.as_ref().unwrap();
            assert_eq!(best.parameters, [best.epoch as f32]);
            kept.push((best.epoch, best.improved));
        }
        assert_eq!(kept, [(0, 0), (1, 1), (2, 1), (2, 1), (4, 1), (4, 1)]);
        let ends =
            |patience: usize| (4..9).find(|&epoch| exhausted(Selection::Best { patience }, best.as_ref(), epoch));
        assert_eq!([ends(0), ends(3), ends(5)], [None, Some(4), Some(6)]);
    }
}
