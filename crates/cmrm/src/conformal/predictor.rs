//! From thresholds to prediction sets.

use serde::{Deserialize, Serialize};

use super::check::{check_probabilities, check_uniforms};
use super::config::{ConformalConfig, EmptySets, ScoreKind};
use super::ranking::{self, Scratch};
use super::sets::PredictionSets;
use super::threshold::Thresholds;
use super::{aps, aps_randomised, lac, raps};
use crate::error::{Result, check_length};
use crate::matrix::Matrix;

/// A calibrated predictor of label sets. Plain data: it can be stored beside the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetPredictor {
    /// The choices it was calibrated with.
    pub config: ConformalConfig,
    /// Number of classes.
    pub classes: usize,
    /// The thresholds.
    pub thresholds: Thresholds,
}

impl SetPredictor {
    /// The classes whose threshold is infinite for want of calibration rows; they are in every set.
    pub fn unbounded_classes(&self) -> Vec<u32> {
        (0..self.classes as u32).filter(|&class| self.thresholds.of(class) == f64::INFINITY).collect()
    }

    /// The set of each row. `uniforms` as in [`super::Conformal::scores`].
    pub fn predict<T: Copy + Into<f64>>(
        &self,
        probabilities: Matrix<'_, T>,
        uniforms: &[f64],
    ) -> Result<PredictionSets> {
        check_length("classes of the calibrated predictor", self.classes, probabilities.columns())?;
        if let Thresholds::PerClass(limits) = &self.thresholds {
            check_length("thresholds, one a class", self.classes, limits.len())?;
        }
        check_probabilities(probabilities)?;
        if self.config.score == ScoreKind::ApsRandomised {
            check_uniforms(uniforms, probabilities.rows())?;
        }
        Ok(self.predict_checked(probabilities, uniforms, 0..probabilities.rows()))
    }

    /// The sets of the given rows, whose inputs are already checked.
    pub(super) fn predict_checked<T: Copy + Into<f64>>(
        &self,
        probabilities: Matrix<'_, T>,
        uniforms: &[f64],
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> PredictionSets {
        let mut sets = PredictionSets::with_capacity(self.classes, rows.len());
        let mut scratch = Scratch::default();
        let mut buffer = vec![0; self.classes];
        for i in rows {
            let row = probabilities.row(i);
            let members = sets.members_mut();
            let before = members.len();
            match self.config.score {
                ScoreKind::Lac => {
                    let count = lac::select(row, &self.thresholds, &mut buffer);
                    members.extend_from_slice(&buffer[..count]);
                }
                ScoreKind::Aps => ranking::select(row, &self.thresholds, &mut scratch, members, aps::score),
                ScoreKind::ApsRandomised => {
                    let uniform = uniforms[i];
                    let score = |place| aps_randomised::score(place, uniform);
                    ranking::select(row, &self.thresholds, &mut scratch, members, score);
                }
                ScoreKind::Raps => {
                    let (penalty, free_ranks) = (self.config.raps_penalty, self.config.raps_free_ranks);
                    let score = |place| raps::score(place, penalty, free_ranks);
                    ranking::select(row, &self.thresholds, &mut scratch, members, score);
                }
            }
            if members.len() == before && self.config.empty_sets == EmptySets::TopClass {
                members.push(top_class(row));
            }
            sets.close_row();
        }
        sets
    }
}

/// The most likely class; the lowest index on ties.
fn top_class<T: Copy + Into<f64>>(row: &[T]) -> u32 {
    let mut best = (0, f64::NEG_INFINITY);
    for (class, &p) in row.iter().enumerate() {
        let p = p.into();
        if p > best.1 {
            best = (class as u32, p);
        }
    }
    best.0
}
