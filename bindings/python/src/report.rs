//! The report of a fit, as the command makes it.

use std::io::Write;
use std::path::Path;

use cmrm_data::{Fingerprint, Input};
use cmrm_fit::{
    FitConfig, Material, Parts, Prepared, TrainingParts, judged, known_wrong, report, summarise, suspects,
    training_rows,
};
use cmrm_run::RunInfo;
use cmrm_train::Model;
use cmrm_train::train::{EpochStats, Trained};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::refuse;

/// What a report is made of.
pub struct Kept {
    pub raw: Input,
    pub prepared: Prepared,
    pub trained: Vec<Trained<f32>>,
    pub history: Vec<EpochStats>,
}

impl Kept {
    /// Writes the page, whole or not at all.
    pub fn write(
        &self,
        config: &FitConfig,
        arms: &[(String, Model<f32>)],
        classes: &[String],
        path: &Path,
    ) -> PyResult<()> {
        let page = self.page(config, arms, classes).map_err(refuse)?;
        cmrm_files::write_atomically(path, |file| file.write_all(page.as_bytes()))
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
    }

    fn page(
        &self,
        config: &FitConfig,
        arms: &[(String, Model<f32>)],
        classes: &[String],
    ) -> Result<String, cmrm_fit::Error> {
        let Kept { raw, prepared, trained, history } = self;
        let parts = TrainingParts::of(prepared)?;
        let Some(robust) = trained.last() else { return Err(cmrm_fit::Error::Refused("no arm was trained".into())) };
        let wrong = known_wrong(prepared);
        let rows = training_rows(&parts.train, robust, wrong.as_deref());
        let (test, labels) = judged(prepared)?;
        let names = arms.iter().map(|(name, _)| name.clone()).collect();
        let info = RunInfo::new(classes.to_vec(), names, robust.name.clone(), Fingerprint::of(&parts.train).0);
        let run = "memory".to_owned();
        let test = test.as_ref();
        let summary = summarise(Parts { config, prepared, run, trained, rows: &rows, test, labels, info: &info })?;
        let cards = suspects(raw.clone(), &parts.train, robust)?;
        let train = &parts.train;
        let (rows, summary) = (&rows, &summary);
        let material = Material { config, prepared, train, trained, robust, rows, history, summary, sensitivity: None };
        Ok(cmrm_report::page(&report(material, cards)?))
    }
}
