//! From thresholds to prediction sets.

use serde::{Deserialize, Serialize};

use super::check::{check_probabilities, check_row, check_uniforms};
use super::config::{ConformalConfig, EmptySets, ScoreKind};
use super::ranking::{self, Scratch};
use super::sets::PredictionSets;
use super::threshold::Thresholds;
use super::{aps, aps_randomised, lac, raps};
use crate::error::{Result, check_length};
use crate::matrix::Matrix;
use crate::scores::most_likely;

/// Rows that one thread takes at a time.
#[cfg(feature = "rayon")]
const BLOCK_ROWS: usize = 1024;

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
        self.check(probabilities, uniforms)?;
        check_probabilities(probabilities)?;
        Ok(self.predict_checked(probabilities, uniforms, 0..probabilities.rows()))
    }

    /// Says of each class of each row whether it is in the row's set: [`SetPredictor::predict`] as a table of the shape
    /// of the probabilities, which is faster where sets are large and is what array languages want.
    pub fn predict_mask<T: Copy + Into<f64> + Sync>(
        &self,
        probabilities: Matrix<'_, T>,
        uniforms: &[f64],
        mask: &mut [bool],
    ) -> Result<()> {
        self.check(probabilities, uniforms)?;
        check_length("marks, one per probability", probabilities.values().len(), mask.len())?;
        #[cfg(feature = "rayon")]
        {
            use rayon::prelude::*;
            let blocks = mask.par_chunks_mut(BLOCK_ROWS * self.classes.max(1)).enumerate();
            let errors = blocks.filter_map(|(b, mask)| {
                let first = b * BLOCK_ROWS;
                pulp::Arch::new().dispatch(Mark { predictor: self, probabilities, uniforms, first, mask }).err()
            });
            // The first bad row is named, whichever thread met one first.
            errors.collect::<Vec<_>>().into_iter().next().map_or(Ok(()), Err)
        }
        #[cfg(not(feature = "rayon"))]
        pulp::Arch::new().dispatch(Mark { predictor: self, probabilities, uniforms, first: 0, mask })
    }

    fn check<T: Copy + Into<f64>>(&self, probabilities: Matrix<'_, T>, uniforms: &[f64]) -> Result<()> {
        check_length("classes of the calibrated predictor", self.classes, probabilities.columns())?;
        if let Thresholds::PerClass(limits) = &self.thresholds {
            check_length("thresholds, one per class", self.classes, limits.len())?;
        }
        if self.config.score == ScoreKind::ApsRandomised {
            check_uniforms(uniforms, probabilities.rows())?;
        }
        Ok(())
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
        for i in rows {
            self.select(probabilities.row(i), i, uniforms, &mut scratch, sets.members_mut());
            sets.close_row();
        }
        sets
    }

    /// Adds the set of row `i` to `members`.
    #[inline(always)]
    fn select<T: Copy + Into<f64>>(
        &self,
        row: &[T],
        i: usize,
        uniforms: &[f64],
        scratch: &mut Scratch,
        members: &mut Vec<u32>,
    ) {
        let before = members.len();
        match self.config.score {
            ScoreKind::Lac => lac::select(row, &self.thresholds, members),
            ScoreKind::Aps => ranking::select(row, &self.thresholds, scratch, members, aps::score),
            ScoreKind::ApsRandomised => {
                let uniform = uniforms[i];
                let score = |place| aps_randomised::score(place, uniform);
                ranking::select(row, &self.thresholds, scratch, members, score);
            }
            ScoreKind::Raps => {
                let (penalty, free_ranks) = (self.config.raps_penalty, self.config.raps_free_ranks);
                let score = |place| raps::score(place, penalty, free_ranks);
                ranking::select(row, &self.thresholds, scratch, members, score);
            }
        }
        if members.len() == before && self.config.empty_sets == EmptySets::TopClass {
            members.push(most_likely(row));
        }
    }
}

/// Checks and marks the rows from `first` on, as many as `mask` is for.
struct Mark<'a, T> {
    predictor: &'a SetPredictor,
    probabilities: Matrix<'a, T>,
    uniforms: &'a [f64],
    first: usize,
    mask: &'a mut [bool],
}

impl<T: Copy + Into<f64>> pulp::WithSimd for Mark<'_, T> {
    type Output = Result<()>;

    // The loops of what is inlined here vectorise: the processor's widest vectors are enabled around it.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> Result<()> {
        let SetPredictor { config, classes, thresholds } = self.predictor;
        let (mut scratch, mut members) = (Scratch::default(), Vec::new());
        for (i, mask) in (self.first..).zip(self.mask.chunks_exact_mut((*classes).max(1))) {
            let row = self.probabilities.row(i);
            check_row(i, row)?;
            if config.score == ScoreKind::Lac {
                lac::mark(row, thresholds, mask);
                if config.empty_sets == EmptySets::TopClass && !mask.contains(&true) {
                    mask[most_likely(row) as usize] = true;
                }
                continue;
            }
            members.clear();
            self.predictor.select(row, i, self.uniforms, &mut scratch, &mut members);
            mask.fill(false);
            members.iter().for_each(|&class| mask[class as usize] = true);
        }
        Ok(())
    }
}
