//! The report of a fit, as the command makes it.

use std::io::Write;
use std::path::Path;

use cmrm_data::{Fingerprint, Input};
use cmrm_fit::FitOutcome;
use cmrm_report::Report;
use cmrm_run::summary::FitSummary;
use cmrm_run::{RunDir, RunInfo};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::refuse;

/// What a report is made of: the fit, and the rows as they were handed in.
pub struct Kept {
    pub outcome: FitOutcome,
    pub raw: Input,
}

impl Kept {
    /// Writes the page, whole or not at all.
    pub fn write(&self, path: &Path) -> PyResult<()> {
        let page = self.page().map_err(refuse)?;
        cmrm_data::files::write_atomically(path, |file| file.write_all(page.as_bytes()))
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
    }

    fn page(&self) -> Result<String, cmrm_fit::Error> {
        let summary = self.outcome.summary("memory".into(), &self.info()?)?;
        Ok(cmrm_report::page(&self.report(&summary)?))
    }

    fn info(&self) -> Result<RunInfo, cmrm_fit::Error> {
        self.outcome.info(Fingerprint::of(&self.outcome.rows.train.data))
    }

    fn report(&self, summary: &FitSummary) -> Result<Report, cmrm_fit::Error> {
        self.outcome.report(summary, self.outcome.suspects(self.raw.clone())?, None)
    }

    /// Writes all files of the run that the command would write, but the settings and `run.json`, whose contents are returned.
    pub fn write_run(&self, run: &RunDir) -> Result<RunInfo, cmrm_fit::Error> {
        self.outcome.write(run)?;
        let mut info = self.info()?;
        info.rows_fingerprint = Fingerprint::of_rows(&self.raw).map(|fingerprint| fingerprint.0);
        let summary = self.outcome.summary(run.path().display().to_string(), &info)?;
        run.write_summary(&summary)?;
        let mut report = self.report(&summary)?;
        report.origin.rows_fingerprint.clone_from(&info.rows_fingerprint);
        run.write_report(&report)?;
        Ok(info)
    }
}
