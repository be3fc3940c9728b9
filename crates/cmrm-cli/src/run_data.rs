//! The data that a run was trained on, read again.

use std::path::{Path, PathBuf};

use cmrm_data::Fingerprint;
use cmrm_data::read::files_of;
use cmrm_fit::{FitConfig, Loaded, Prepared};
use cmrm_run::names::SETTINGS;
use cmrm_run::{DataRoot, RunDir, RunInfo};

use crate::config;
use crate::failure::{Failure, Result};
use crate::load::load;
use crate::outputs::same_file;
use crate::progress::stop_at_interrupt;
use crate::sources::is_stream;

/// The data as it was read, and the rows that were made of it.
pub struct RunData {
    pub loaded: Loaded,
    pub rows: Prepared,
}

/// The settings of a finished run, with paths that lead where the files are now, as far as they are found.
pub fn settings_in(run: &Path) -> Result<FitConfig> {
    let mut config = config::read(&run.join(SETTINGS))?;
    let Some(root) = DataRoot::of_run(run) else { return Ok(config) };
    let found = |path: &Path| -> Option<PathBuf> {
        let place = root.places(run, path).into_iter().find(|place| is_there(place))?;
        // Nobody wants to read a longer way than the one that was written.
        Some(if same_file(&place, path) { path.to_owned() } else { place })
    };
    // A run on a data set of the catalogue has no root.
    if let Some(place) = found(Path::new(&config.data)) {
        config.data = place.display().to_string();
    }
    if let Some(place) = config.labels.as_deref().and_then(found) {
        config.labels = Some(place);
    }
    if let Some(place) = config.test.as_deref().map(Path::new).and_then(found) {
        config.test = Some(place.display().to_string());
    }
    Ok(config)
}

/// Whether a file, a folder, or a file that a pattern names is there.
fn is_there(path: &Path) -> bool {
    path.exists() || files_of(path).iter().any(|file| file.exists())
}

/// Says where files of the run were looked for that are not there.
fn refuse_lost(run: &Path, config: &FitConfig) -> Result<()> {
    let Some(root) = DataRoot::of_run(run) else { return Ok(()) };
    let files = [
        ("the data", Some(Path::new(&config.data)), "name it with --data"),
        ("the labels", config.labels.as_deref(), "put the file back, or fit again"),
        ("the test data", config.test.as_deref().map(Path::new), "put the file back, or fit again"),
    ];
    for (what, path, way_out) in files {
        let Some(path) = path.filter(|path| !is_there(path)) else { continue };
        let places: Vec<String> = root.places(run, path).iter().map(|place| place.display().to_string()).collect();
        return Err(Failure::input(format!(
            "{}: {what} of the run, {}, cannot be found; looked for {}; {way_out}",
            run.display(),
            path.display(),
            places.join(", then ")
        )));
    }
    Ok(())
}

/// The settings of a run, with the place that its data has moved to. What the run read from standard input is gone.
pub fn settings(run: &RunDir, moved_to: Option<&str>) -> Result<FitConfig> {
    let mut config = settings_in(run.path())?;
    if let Some(data) = moved_to {
        data.clone_into(&mut config.data);
    } else if config.data.is_empty() {
        return Err(Failure::input(format!(
            "{}: the run was saved by a program whose data was in memory; save the same rows to a file and name it with --data",
            run.path().display()
        )));
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
    refuse_lost(run.path(), &config)?;
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
