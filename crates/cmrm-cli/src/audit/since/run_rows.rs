//! The rows of a run as they are in its data, where that is still there.

use std::path::Path;

use cmrm_data::row_digests;
use cmrm_run::{RunDir, RunInfo};

use crate::audit::sample::Sample;
use crate::failure::Result;
use crate::run_data::{self, RunData};

/// What they hold, and what their columns are like.
pub struct RunRows {
    /// By the row's place in the data.
    digests: Vec<u64>,
    pub sample: Sample,
}

impl RunRows {
    /// Reads the data again; `is_used` names the columns that tell rows apart.
    pub fn read(
        run: &RunDir,
        info: &RunInfo,
        moved_to: Option<&str>,
        cache: Option<&Path>,
        is_used: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        run.check_kind(info)?;
        let config = run_data::settings(run, moved_to)?;
        let RunData { loaded, .. } = run_data::read(&config, info, cache)?;
        let features = loaded.train.features;
        let mut sample = Sample::default();
        sample.add(&features)?;
        Ok(RunRows { digests: row_digests(&features, is_used), sample })
    }

    /// What the rows at these places hold.
    pub fn digests_of(&self, places: &[u64]) -> Vec<u64> {
        // The data is that of the run, so that every row is there, unless somebody has changed its record.
        places.iter().map(|&row| self.digests.get(row as usize).copied().unwrap_or_default()).collect()
    }
}
