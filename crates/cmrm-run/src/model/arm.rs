//! One arm of a model.

use std::path::PathBuf;
use std::sync::OnceLock;

use cmrm::noise_model::NoiseModel;
use cmrm_train::Predictor;

use crate::calibration::Calibration;
use crate::error::{Error, Result};
use crate::folder::RunDir;
use crate::info::RunInfo;

/// What an arm predicts with, and the rows that its prediction sets are calibrated on.
#[derive(Debug)]
pub struct Arm {
    name: String,
    predictor: Predictor,
    /// Read when it is first asked for; nothing where no rows were kept.
    calibration: OnceLock<Option<Calibration>>,
    /// The file of the calibration, in a run's folder.
    file: Option<PathBuf>,
    /// Whether `run.json` says that there is such a file.
    is_listed: bool,
}

impl Arm {
    /// An arm in memory.
    pub fn new(name: impl Into<String>, predictor: Predictor, calibration: Option<Calibration>) -> Self {
        Arm { name: name.into(), predictor, calibration: OnceLock::from(calibration), file: None, is_listed: false }
    }

    pub(super) fn of_run(name: String, predictor: Predictor, run: &RunDir, info: &RunInfo) -> Self {
        let file = run.calibration_file(&name, &info.chosen);
        let is_listed = run.needs(&file);
        Arm { name, predictor, calibration: OnceLock::new(), file: Some(file), is_listed }
    }

    /// Its name: that of the preset, or `base`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it predicts with.
    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// The noise in the labels it learned from, where it was estimated and is undone in what it predicts.
    pub fn noise(&self) -> Option<&NoiseModel> {
        match &self.predictor {
            Predictor::Vote(vote) => vote.noise(),
            Predictor::Network(_) => None,
        }
    }

    /// The rows that prediction sets are calibrated on. Runs without validation rows of single models have none.
    pub fn calibration(&self) -> Result<Option<&Calibration>> {
        if let Some(found) = self.calibration.get() {
            return Ok(found.as_ref());
        }
        let found = match &self.file {
            Some(file) if file.exists() => Some(Calibration::read(file)?),
            Some(file) if self.is_listed => return Err(Error::lost(file)),
            _ => None,
        };
        Ok(self.calibration.get_or_init(|| found).as_ref())
    }

    /// The file of the calibration rows; nothing for an arm in memory.
    pub fn calibration_file(&self) -> Option<&std::path::Path> {
        self.file.as_deref()
    }
}
