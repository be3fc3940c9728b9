//! The report of a fit, as the command makes it.

use std::io::Write;
use std::path::Path;

use cmrm_data::{Fingerprint, Input};
use cmrm_fit::FitOutcome;
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
        let Kept { outcome, raw } = self;
        let info = outcome.info(Fingerprint::of(&outcome.rows.train.data))?;
        let summary = outcome.summary("memory".into(), &info)?;
        let report = outcome.report(&summary, outcome.suspects(raw.clone())?, None)?;
        Ok(cmrm_report::page(&report))
    }
}
