//! Where the envelope did harm: held-back rows say so by their observed labels, and the base arm's model is kept.

use cmrm::envelope::Preset;
use cmrm_train::train::Trained;

use crate::defaults::ENOUGH_TO_CHOOSE;
use crate::error::Result;
use crate::fit::Fit;
use crate::kinds::{Keep, OptimiserKind};

/// Standard errors that the base arm must be ahead by. Wrong labels among the held-back rows hide part of any lead: asking for
/// more lets harm pass, asking for less gives up gains.
const STANDARD_ERRORS: f64 = 1.0;

/// What the held-back rows said where the envelope's arm was given the base arm's model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaveWay {
    /// Rows that were held back.
    pub rows: usize,
    /// Share of their observed labels that the base arm predicts.
    pub base: f64,
    /// The same of the envelope's arm.
    pub envelope: f64,
}

/// Whether the base arm agrees with more of the observed labels of held-back rows than the envelope's: on the
/// rows where one of them is right and the other wrong, its lead is compared with its standard error (McNemar).
pub fn gives_way(base: &[u32], envelope: &[u32], observed: &[u32]) -> Option<GaveWay> {
    let right = |predicted: &[u32]| predicted.iter().zip(observed).map(|(a, b)| a == b).collect::<Vec<bool>>();
    let (base, envelope) = (right(base), right(envelope));
    let only = |one: &[bool], other: &[bool]| one.iter().zip(other).filter(|(one, other)| **one && !**other).count();
    let (ahead, behind) = (only(&base, &envelope) as f64, only(&envelope, &base) as f64);
    let share = |right: &[bool]| right.iter().filter(|right| **right).count() as f64 / observed.len() as f64;
    (ahead - behind > STANDARD_ERRORS * (ahead + behind).sqrt()).then(|| GaveWay {
        rows: observed.len(),
        base: share(&base),
        envelope: share(&envelope),
    })
}

impl Fit {
    /// Gives the envelope's arm the base arm's model and epoch where held-back rows say that `robust` did harm. What it saw of
    /// the training rows stays. The other presets are those of the paper, to be compared as they are; and who keeps the last epoch
    /// of a network wants nothing chosen.
    pub(crate) fn let_base_lead(&self, arms: &mut [Trained<f32>]) -> Result<Option<GaveWay>> {
        let held = &self.rows.validation.data;
        let chooses = self.config.optimiser() == OptimiserKind::Lbfgs || self.config.keep() == Some(Keep::Best);
        let robust = self.config.preset == Preset::Robust && !self.config.class_conditional;
        let [base, envelope] = arms else { return Ok(None) };
        if !robust || !chooses || held.len() < ENOUGH_TO_CHOOSE {
            return Ok(None);
        }
        let found = gives_way(&base.model.predict(held.x()?)?, &envelope.model.predict(held.x()?)?, &held.labels);
        if found.is_some() {
            (envelope.model, envelope.epoch) = (base.model.clone(), base.epoch);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Predictions of rows whose label is 0: right where they are 0.
    fn ask(ahead: usize, behind: usize, alike: usize) -> Option<GaveWay> {
        let rows = |first: u32, then: u32| [vec![first; ahead], vec![then; behind], vec![0; alike]].concat();
        gives_way(&rows(0, 1), &rows(1, 0), &vec![0; ahead + behind + alike])
    }

    #[test]
    fn a_lead_beyond_chance_counts_and_rows_that_both_get_right_do_not() {
        // Leads of 2 with standard errors of 2 and of √2.
        assert_eq!(ask(3, 1, 96), None);
        assert_eq!(ask(2, 0, 98), Some(GaveWay { rows: 100, base: 1.0, envelope: 0.98 }));
        assert_eq!(ask(2, 0, 98).is_some(), ask(2, 0, 5000).is_some());
        assert_eq!(ask(0, 9, 91), None);
        assert_eq!(ask(0, 0, 60), None);
    }
}
