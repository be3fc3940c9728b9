//! A finished run, loaded to be applied to new rows.

use std::path::{Path, PathBuf};

use cmrm_data::preprocess::Preprocess;
use cmrm_train::Predictor;

use crate::calibration::Calibration;
use crate::error::{Error, Result};
use crate::folder::RunDir;
use crate::info::RunInfo;
use crate::names::PREPROCESS;

/// A run's pipeline and the models that were asked for.
pub struct Fitted {
    /// The folder.
    pub run: RunDir,
    /// What the run is about.
    pub info: RunInfo,
    /// How columns become features.
    pub preprocess: Preprocess,
    /// Name and model of each arm.
    pub arms: Vec<(String, Predictor)>,
}

/// Which arms of a run are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// The arm to predict with.
    Chosen,
    /// Every arm.
    All,
    /// The arm of that name.
    Named(&'a str),
}

impl Fitted {
    /// Loads a run and checks that its files belong together.
    pub fn open(path: &Path, wanted: Wanted<'_>) -> Result<Self> {
        let (run, info) = RunDir::open(path)?;
        run.check_kind(&info)?;
        let names = match wanted {
            Wanted::Chosen => vec![info.chosen.clone()],
            Wanted::All => info.arms.clone(),
            Wanted::Named(name) if info.arms.iter().any(|arm| arm == name) => vec![name.to_owned()],
            Wanted::Named(name) => return Err(no_such_arm(&run, &info, name)),
        };
        let stored = run.read(PREPROCESS)?;
        let file = run.file(PREPROCESS);
        let preprocess = Preprocess::from_json(&stored).map_err(|error| error.in_file(file.display()))?;
        let mut arms = Vec::with_capacity(names.len());
        for name in names {
            let path = run.model_file(&name, &info.chosen);
            let bytes = std::fs::read(&path).map_err(|error| Error::reading(&path, &error))?;
            let model = Predictor::from_bytes(&bytes).map_err(|error| Error::in_file(&path, error))?;
            for (what, expected, found) in
                [("features", preprocess.width(), model.inputs()), ("classes", info.classes.len(), model.classes())]
            {
                if expected != found {
                    return Err(Error::refused(format!(
                        "{}: the model has {found} {what}, the rest of the run {expected}; the files come from \
                         different runs; copy the folder again or fit again",
                        run.model_file(&name, &info.chosen).display()
                    )));
                }
            }
            arms.push((name, model));
        }
        Ok(Fitted { run, info, preprocess, arms })
    }

    /// The file of the rows that an arm's prediction sets are calibrated on. A run without validation rows has none.
    pub fn calibration_file(&self, arm: &str) -> PathBuf {
        self.run.calibration_file(arm, &self.info.chosen)
    }

    /// The rows that an arm's prediction sets are calibrated on.
    pub fn calibration(&self, arm: &str) -> Result<Calibration> {
        let path = self.calibration_file(arm);
        let (calibration, classes) = (Calibration::read(&path)?, self.info.classes.len());
        if calibration.classes != classes {
            let what = format!(
                "calibrated for {} classes, but the run has {classes}; the files come from different runs; copy the \
                 folder again or fit again",
                calibration.classes
            );
            return Err(Error::in_file(&path, what));
        }
        Ok(calibration)
    }
}

fn no_such_arm(run: &RunDir, info: &RunInfo, name: &str) -> Error {
    let near = cmrm_data::table::closest(name, &info.arms);
    let suggestion = near.first().map(|near| format!(", did you mean '{near}'?")).unwrap_or_default();
    Error::refused(format!(
        "{}: the run has no arm '{name}'{suggestion}; its arms are {}",
        run.path().display(),
        info.arms.join(", ")
    ))
}
