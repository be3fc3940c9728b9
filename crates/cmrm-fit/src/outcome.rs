//! What a fit leaves: trained arms, and everything that can be said of them.

use std::sync::Arc;

use cmrm_data::Fingerprint;
use cmrm_run::names::{MARGINS, PREPROCESS};
use cmrm_run::{BASE, Calibration, RunDir, RunInfo, TrainingRows, write_file};
use cmrm_train::train::{EpochStats, Trained};
use cmrm_train::{Predictor, Stop};

use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::prepare::Prepared;

/// One arm of a fit that has run.
#[derive(Debug, Clone)]
pub struct FittedArm {
    /// Its name.
    pub name: String,
    /// What it predicts with.
    pub model: Predictor,
    /// The epoch whose model is kept, from zero; nothing where there were no epochs.
    pub epoch: Option<usize>,
}

impl From<Trained<f32>> for FittedArm {
    fn from(trained: Trained<f32>) -> Self {
        FittedArm { name: trained.name, model: trained.model.into(), epoch: Some(trained.epoch) }
    }
}

/// A fit that has run. [`FitOutcome::summary`] judges the arms, [`FitOutcome::suspects`] shows the rows whose labels look
/// wrong, [`FitOutcome::report`] has every number of the report; each is computed when it is asked for.
#[derive(Debug, Clone)]
pub struct FitOutcome {
    /// The settings, with everything decided.
    pub config: FitConfig,
    /// The rows.
    pub rows: Arc<Prepared>,
    /// The arms, the one to predict with last.
    pub arms: Vec<FittedArm>,
    /// One entry for each arm and epoch.
    pub history: Vec<EpochStats>,
    /// What training saw of the rows, by the envelope's arm.
    pub training_rows: TrainingRows,
}

impl FitOutcome {
    /// The arm to predict with: the envelope's, or the only one.
    pub fn envelope_arm(&self) -> Result<&FittedArm> {
        self.arms.last().ok_or_else(|| Error::Internal("a fit without arms".into()))
    }

    /// The arm without an envelope, unless it was left out.
    pub fn base_arm(&self) -> Option<&FittedArm> {
        self.arms.iter().find(|arm| arm.name == BASE)
    }

    /// What an arm says of the rows that prediction sets are calibrated on; nothing if none were held back.
    pub fn calibration(&self, arm: &FittedArm, stop: &Stop) -> Result<Option<Calibration>> {
        let validation = &self.rows.validation.data;
        if validation.is_empty() {
            return Ok(None);
        }
        let probabilities = arm.model.probabilities(validation.matrix()?, stop)?;
        Ok(Some(Calibration { probabilities, labels: validation.labels.clone(), classes: validation.classes.len() }))
    }

    /// What `run.json` says of it; `fingerprint` is that of the rows trained on.
    pub fn info(&self, fingerprint: Fingerprint) -> Result<RunInfo> {
        let names = self.arms.iter().map(|arm| arm.name.clone()).collect();
        let chosen = self.envelope_arm()?.name.clone();
        Ok(RunInfo::new(self.rows.train.data.classes.clone(), names, chosen, fingerprint.0))
    }

    /// Writes what applying the run needs, and what training saw: models, preprocessing, calibration, margins, figures of the
    /// epochs. A killed process leaves the first of them; `run.json` is for the caller, last of all.
    pub fn write(&self, run: &RunDir) -> Result<()> {
        let chosen = &self.envelope_arm()?.name;
        run.write_metrics(&self.history)?;
        for arm in &self.arms {
            write_file(&run.model_file(&arm.name, chosen), &arm.model.to_bytes()?)?;
        }
        run.write(PREPROCESS, &(self.rows.preprocess.to_json()? + "\n"))?;
        self.training_rows.write(&run.file(MARGINS))?;
        for arm in &self.arms {
            if let Some(calibration) = self.calibration(arm, &Stop::default())? {
                calibration.write(&run.calibration_file(&arm.name, chosen))?;
            }
        }
        Ok(())
    }
}
