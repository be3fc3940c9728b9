//! From labelled calibration rows to thresholds.

use super::check::{check_probabilities, check_uniforms};
use super::config::{ConformalConfig, ScoreKind, ThresholdKind};
use super::predictor::SetPredictor;
use super::ranking::{Scratch, place_of};
use super::threshold::{Thresholds, conformal_threshold};
use super::{aps, aps_randomised, lac, raps};
use crate::error::{Error, Result, check_labels, check_length};
use crate::matrix::Matrix;
use crate::rng::Rng;

/// Stream of the uniform numbers of randomised APS.
const UNIFORM_STREAM: u64 = 0x636f_6e66_0001;

/// One uniform number a row for randomised APS, from `seed`.
pub fn draw_uniforms(rows: usize, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed, UNIFORM_STREAM);
    (0..rows).map(|_| rng.uniform()).collect()
}

/// Checked choices for prediction sets; made by [`ConformalConfig::validate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Conformal {
    config: ConformalConfig,
}

impl Conformal {
    pub(super) fn checked(config: ConformalConfig) -> Self {
        Conformal { config }
    }

    /// The choices.
    pub fn config(&self) -> &ConformalConfig {
        &self.config
    }

    /// The score of each row's label. `uniforms` holds one number in `[0, 1]` a row for randomised APS (see
    /// [`draw_uniforms`]); the other scores ignore it and an empty slice will do.
    pub fn scores<T: Copy + Into<f64>>(
        &self,
        probabilities: Matrix<'_, T>,
        labels: &[u32],
        uniforms: &[f64],
    ) -> Result<Vec<f64>> {
        check_length("labels, one per row of probabilities", probabilities.rows(), labels.len())?;
        check_labels(labels, probabilities.columns())?;
        check_probabilities(probabilities)?;
        if self.config.score == ScoreKind::ApsRandomised {
            check_uniforms(uniforms, probabilities.rows())?;
        }
        let mut scratch = Scratch::default();
        let rows = probabilities.iter_rows().zip(labels).enumerate();
        let score =
            |(i, (row, &label)): (usize, (&[T], &u32))| self.score(row, label as usize, i, uniforms, &mut scratch);
        Ok(rows.map(score).collect())
    }

    /// The score of one class of row `i`.
    pub(super) fn score<T: Copy + Into<f64>>(
        &self,
        row: &[T],
        class: usize,
        i: usize,
        uniforms: &[f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let mut place = || place_of(row, class, scratch);
        match self.config.score {
            ScoreKind::Lac => lac::score(row[class].into()),
            ScoreKind::Aps => aps::score(place()),
            ScoreKind::ApsRandomised => aps_randomised::score(place(), uniforms[i]),
            ScoreKind::Raps => raps::score(place(), self.config.raps_penalty, self.config.raps_free_ranks),
        }
    }

    /// Thresholds from labelled rows that the model was not trained on.
    pub fn calibrate<T: Copy + Into<f64>>(
        &self,
        probabilities: Matrix<'_, T>,
        labels: &[u32],
        uniforms: &[f64],
    ) -> Result<SetPredictor> {
        let scores = self.scores(probabilities, labels, uniforms)?;
        self.predictor_from_scores(scores, labels, probabilities.columns())
    }

    /// The predictor of given calibration scores; labels are already known to be below `classes`.
    pub(super) fn predictor_from_scores(
        &self,
        mut scores: Vec<f64>,
        labels: &[u32],
        classes: usize,
    ) -> Result<SetPredictor> {
        if scores.is_empty() {
            return Err(Error::Empty { what: "the calibration set" });
        }
        let coverage = self.config.coverage;
        let thresholds = match self.config.thresholds {
            ThresholdKind::Marginal => Thresholds::Marginal(conformal_threshold(&mut scores, coverage)),
            ThresholdKind::PerClass => Thresholds::per_class(&scores, labels, classes, coverage),
        };
        Ok(SetPredictor { config: self.config.clone(), classes, thresholds })
    }
}
