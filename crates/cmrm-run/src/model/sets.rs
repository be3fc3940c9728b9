//! Prediction sets of a model, calibrated on the rows that its run kept for that.

use cmrm::conformal::{Conformal, ConformalConfig, PredictionSets, ScoreKind, SetPredictor, ThresholdKind};
use cmrm_data::Features;

use super::{Arm, Model};
use crate::calibration::CalibratedFor;
use crate::error::{Error, Result};

/// How prediction sets are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetOptions {
    /// Share of the rows whose class is in their set.
    pub coverage: f64,
    /// How classes are ranked for a row's set.
    pub score: ScoreKind,
    /// Whether the coverage is reached within every class.
    pub by_class: bool,
    /// True classes or observed ones; nothing for true classes where the noise in the labels was estimated, else observed ones.
    pub calibrated_for: Option<CalibratedFor>,
}

impl Default for SetOptions {
    /// Sets of 90 %, by LAC, over all rows.
    fn default() -> Self {
        let ConformalConfig { coverage, score, .. } = ConformalConfig::default();
        SetOptions { coverage, score, by_class: false, calibrated_for: None }
    }
}

impl SetOptions {
    /// What calibrates such sets.
    pub fn conformal(&self) -> Result<Conformal> {
        let thresholds = if self.by_class { ThresholdKind::PerClass } else { ThresholdKind::Marginal };
        let &SetOptions { coverage, score, .. } = self;
        Ok(ConformalConfig { coverage, score, thresholds, ..ConformalConfig::default() }.validate()?)
    }
}

impl Model {
    /// Prediction sets of new rows by the chosen arm. To predict again and again, calibrate once with [`Model::set_predictor`].
    pub fn predict_sets(&self, features: &Features, options: &SetOptions) -> Result<PredictionSets> {
        let predictor = self.set_predictor(self.chosen(), options)?;
        let said = self.predict(features)?;
        Ok(predictor.predict(said.matrix()?, &[])?)
    }

    /// Calibrates an arm. What comes of it turns probabilities ([`super::Predictions::matrix`]) into sets.
    pub fn set_predictor(&self, arm: &Arm, options: &SetOptions) -> Result<SetPredictor> {
        let conformal = options.conformal()?;
        let in_file = |error: Error| match arm.calibration_file() {
            Some(file) => Error::in_file(file, error),
            None => error,
        };
        let Some(calibration) = arm.calibration()? else {
            return Err(in_file(Error::refused(format!(
                "missing; the run kept no calibration rows for the arm {}; fit with validation rows, or calibrate on rows whose labels are \
                 right",
                arm.name()
            ))));
        };
        self.check_calibration(calibration).map_err(in_file)?;
        let calibrated_for = options.calibrated_for.unwrap_or(calibration.usual());
        calibration.predictor(&conformal, calibrated_for).map_err(in_file)
    }
}
