//! A fit that has run, kept: as the folder of a run, or as a model in memory.

use std::path::Path;

use cmrm_data::{Fingerprint, Input};
use cmrm_report::{Card, Sensitivity};
use cmrm_run::summary::FitSummary;
use cmrm_run::{Arm, DataRoot, Model, RunDir, RunInfo};
use cmrm_train::Stop;

use crate::error::Result;
use crate::loaded::Loaded;
use crate::outcome::FitOutcome;

/// What a run keeps of the rows as they were read.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// The most suspicious rows, for the report.
    pub suspects: Vec<Card>,
    /// Fingerprint of all rows, for decisions on them; nothing where columns were left out in reading.
    pub rows_fingerprint: Option<String>,
}

impl FitOutcome {
    /// The trained arms as a model in memory, to predict with. [`Model::open`] has the same of a run that was saved.
    pub fn model(&self) -> Result<Model> {
        let arm = |arm| {
            let calibration = self.calibration(arm, &Stop::default())?;
            Ok(Arm::new(arm.name.clone(), arm.model.clone(), calibration))
        };
        let arms = self.arms.iter().map(arm).collect::<Result<_>>()?;
        Ok(Model::new(self.rows.train.data.classes.clone(), self.rows.preprocess.clone(), arms)?)
    }

    /// Judges the arms and writes the folder of a run with everything that `cmrm fit --out PATH` writes. The folder must be new or empty,
    /// and `loaded` what was trained on.
    pub fn save(&self, path: impl AsRef<Path>, loaded: Loaded) -> Result<FitSummary> {
        let run = RunDir::create(Some(path.as_ref()), &self.rows.name)?;
        run.begin(&self.config.to_toml()?)?;
        self.write(&run)?;
        let mut info = self.info(Fingerprint::of(&self.rows.train.data))?;
        let summary = self.summary(run.path().display().to_string(), &info)?;
        run.write_summary(&summary)?;
        if !self.config.data.is_empty() {
            info.data_root = DataRoot::here(run.path());
        }
        self.finish_run(&run, info, &summary, self.shown(loaded.train)?, None)?;
        Ok(summary)
    }

    /// What a run keeps of the rows as they were read.
    pub fn shown(&self, raw: Input) -> Result<Shown> {
        let rows_fingerprint = Fingerprint::of_rows(&raw).map(|fingerprint| fingerprint.0);
        Ok(Shown { suspects: self.suspects(raw)?, rows_fingerprint })
    }

    /// Writes the report and, last of all, `run.json`, which marks the run as finished.
    pub fn finish_run(
        &self,
        run: &RunDir,
        info: RunInfo,
        summary: &FitSummary,
        shown: Shown,
        sensitivity: Option<Sensitivity>,
    ) -> Result<()> {
        let mut report = self.report(summary, shown.suspects, sensitivity)?;
        report.origin.rows_fingerprint.clone_from(&shown.rows_fingerprint);
        run.write_report(&report)?;
        Ok(run.finish(&RunInfo { rows_fingerprint: shown.rows_fingerprint, ..info })?)
    }
}
