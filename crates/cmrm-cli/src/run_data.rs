//! The data that a run was trained on, read again.

use std::path::Path;

use cmrm_data::Fingerprint;
use cmrm_fit::{FitConfig, Loaded, Prepared};
use cmrm_run::names::SETTINGS;
use cmrm_run::{RunDir, RunInfo};

use crate::config;
use crate::failure::{Failure, Result};
use crate::load::load;
use crate::progress::stop_at_interrupt;
use crate::sources::is_stream;

/// The data as it was read, and the rows that were made of it.
pub struct RunData {
    pub loaded: Loaded,
    pub rows: Prepared,
}

/// The settings of a run, with the place that its data has moved to. What the run read from standard input is gone.
pub fn settings(run: &RunDir, moved_to: Option<&str>) -> Result<FitConfig> {
    let mut config = config::read(&run.file(SETTINGS))?;
    if let Some(data) = moved_to {
        data.clone_into(&mut config.data);
    } else if is_stream(Path::new(&config.data)) {
        return Err(Failure::input(format!(
            "{}: the run read its data from standard input or a pipe, which is gone; save the same rows to a file and name it with \
             --data",
            run.path().display()
        )));
    }
    let (labels, test) = (config.labels.as_deref(), config.test.as_deref().map(Path::new));
    if labels.is_some_and(is_stream) || test.is_some_and(is_stream) {
        return Err(Failure::input(format!(
            "{}: the run read its labels or test data from standard input or a pipe, which is gone; fit again from files",
            run.path().display()
        )));
    }
    Ok(config)
}

/// Reads the data, and refuses what the run was not trained on.
pub fn read(config: &FitConfig, info: &RunInfo, cache: Option<&Path>) -> Result<RunData> {
    let loaded = load(config, cache).map_err(|failure| {
        Failure::input(format!("{failure}; the data of the run is needed: if it has moved, name it with --data"))
    })?;
    let rows = Prepared::new(config, &loaded, &stop_at_interrupt())?;
    if Fingerprint::of(&rows.train.data).0 != info.fingerprint {
        return Err(Failure::input(format!(
            "{}: not the data that the run was trained on (the fingerprints differ); name the right file with --data, or \
             fit again",
            config.data
        )));
    }
    Ok(RunData { loaded, rows })
}
