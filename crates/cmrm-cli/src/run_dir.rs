//! The folder of a run. Every file in it is written whole or not at all, and by one process at a time.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use cmrm_files::FolderLock;
pub use cmrm_run::RunInfo;
use cmrm_run::{FORMAT, RunKind};
use cmrm_train::Model;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result, in_file, in_read_file, in_stored};

/// The settings; a folder with this file is a run that was begun.
pub const SETTINGS: &str = "config.toml";
/// A folder with this file is a finished run.
const FINISHED: &str = "run.json";
/// What is kept until a run is finished: the checkpoint, and what the run was begun on.
const PROGRESS: &str = "checkpoints";
const CHECKPOINT: &str = "checkpoints/last.safetensors";
pub const DATA_STAMP: &str = "checkpoints/data.json";

/// The folder of a run.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Held while the run is written.
    _lock: Option<FolderLock>,
}

impl RunDir {
    /// A folder that is there already, to read from.
    pub fn at(path: &Path) -> Self {
        RunDir { path: path.to_owned(), _lock: None }
    }

    /// Makes the folder of a new run, or takes an empty one, and locks it. Without a `wanted` place it is `runs/NAME`, or
    /// the first of `runs/NAME-2`, `runs/NAME-3` … that is free.
    pub fn create(wanted: Option<&Path>, name: &str) -> Result<Self> {
        let path = match wanted {
            Some(path) => path.to_owned(),
            None => make_free(name)?,
        };
        let unused = || cmrm_files::is_unused(&path).map_err(|error| in_file(&path, error));
        let in_use = || {
            Failure::input(format!(
                "{}: the folder is not empty; choose another, delete it, or add --resume to go on with its run",
                path.display()
            ))
        };
        // A folder of other things is left without a lock file.
        if path.is_dir() && !cmrm_files::has_lock_file(&path) && !unused()? {
            return Err(in_use());
        }
        fs::create_dir_all(&path).map_err(|error| in_file(&path, error))?;
        let run = RunDir::lock(&path)?;
        if unused()? { Ok(run) } else { Err(in_use()) }
    }

    /// Locks a folder, or says that another process has done so.
    pub fn lock(path: &Path) -> Result<Self> {
        match FolderLock::take(path).map_err(|error| in_file(path, error))? {
            Some(lock) => Ok(RunDir { path: path.to_owned(), _lock: Some(lock) }),
            None => Err(Failure::input(format!(
                "{}: another process is writing into this folder; wait until it has finished, or choose another --out",
                path.display()
            ))),
        }
    }

    /// Clears away what a killed process has left, and writes the settings: from here on there is a run. It must be
    /// locked.
    pub fn begin(&self, settings: &str) -> Result<()> {
        let folders = [self.path.clone(), self.file(PROGRESS)];
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            cmrm_files::remove_leftovers(folder).map_err(|error| in_file(folder, error))?;
        }
        self.write(SETTINGS, settings)
    }

    /// Makes room for checkpoints.
    pub fn make_room_for_progress(&self) -> Result<()> {
        let folder = self.file(PROGRESS);
        fs::create_dir_all(&folder).map_err(|error| in_file(&folder, error))
    }

    /// Whether the folder has been used by a fit.
    pub fn has_room_for_progress(&self) -> bool {
        self.file(PROGRESS).is_dir()
    }

    /// Marks the run as finished, every other file being there, and only then removes what nobody will go on from.
    pub fn finish(&self, info: &RunInfo) -> Result<()> {
        self.write_json(FINISHED, info)?;
        self.remove_progress()
    }

    /// Whether something is left of what only an unfinished run needs.
    pub fn has_progress(&self) -> bool {
        [CHECKPOINT, DATA_STAMP].iter().any(|name| self.file(name).exists())
    }

    /// Removes what only an unfinished run needs. The run must be locked.
    pub fn remove_progress(&self) -> Result<()> {
        for path in [CHECKPOINT, DATA_STAMP].map(|name| self.file(name)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(in_file(&path, error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens a finished run.
    pub fn open(path: &Path) -> Result<(Self, RunInfo)> {
        let run = RunDir::at(path);
        if !path.is_dir() {
            return Err(Failure::input(format!(
                "{}: not a folder; name the folder of a run, as `cmrm fit --out` made it",
                path.display()
            )));
        }
        /// The version is looked at first, so that a later one is named as such.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = run.read_json(FINISHED)?;
        if version.format != FORMAT {
            return Err(Failure::input(format!(
                "{}: the run has format {}, this version reads {FORMAT}; fit again, or use the version that wrote it",
                path.display(),
                version.format
            )));
        }
        let info: RunInfo = run.read_json(FINISHED)?;
        info.check().map_err(|error| Failure::input(format!("{}: {error}", run.file(FINISHED).display())))?;
        Ok((run, info))
    }

    /// Refuses a run on images, whose network this program cannot apply.
    pub fn check_kind(&self, info: &RunInfo) -> Result<()> {
        match info.kind {
            RunKind::Rows => Ok(()),
            RunKind::Images => Err(Failure::input(format!(
                "{}: a run on images; `cmrm audit`, `review` and `report` read it, and `cmrm-images embed` applies its network",
                self.path.display()
            ))),
        }
    }

    /// Where the run is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file of the run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether the run is finished.
    pub fn is_finished(&self) -> bool {
        self.file(FINISHED).exists()
    }

    /// The checkpoint of a training under way.
    pub fn checkpoint(&self) -> PathBuf {
        self.file(CHECKPOINT)
    }

    /// The model file of an arm.
    pub fn model_file(&self, arm: &str, chosen: &str) -> PathBuf {
        if arm == chosen { self.file("model.safetensors") } else { self.file(&format!("{arm}.safetensors")) }
    }

    /// The file of an arm's calibration rows.
    pub fn calibration_file(&self, arm: &str, chosen: &str) -> PathBuf {
        let name = if arm == chosen { "calibration".into() } else { format!("{arm}-calibration") };
        self.file(&format!("{name}.safetensors"))
    }

    /// Writes text.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        write_file(&self.file(name), text.as_bytes())
    }

    /// Writes JSON for people to read.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(|e| Failure::input(format!("{name}: {e}")))?;
        self.write(name, &(text + "\n"))
    }

    /// Reads text.
    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.file(name);
        fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::input(format!(
                "{}: missing; this is not the folder of a finished run (an unfinished one goes on with `cmrm fit --resume --out {}`)",
                path.display(),
                self.path.display()
            )),
            _ => in_read_file(&path, error),
        })
    }

    /// Reads JSON.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let text = self.read(name)?;
        serde_json::from_str(&text).map_err(|e| Failure::input(format!("{}: {e}", self.file(name).display())))
    }

    /// Reads the model of an arm.
    pub fn read_model(&self, arm: &str, info: &RunInfo) -> Result<Model<f32>> {
        let path = self.model_file(arm, &info.chosen);
        let bytes = fs::read(&path).map_err(|error| in_read_file(&path, error))?;
        Model::from_bytes(&bytes).map_err(|error| in_stored(&path, error))
    }
}

/// Writes a file whole or not at all: a process killed at any moment leaves the previous one readable.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    cmrm_files::write_atomically(path, |file| file.write_all(bytes)).map_err(|error| in_file(path, error))
}

/// Makes `runs/NAME`, or the first of `runs/NAME-2`, `runs/NAME-3` … that nobody has made yet.
fn make_free(name: &str) -> Result<PathBuf> {
    let base: String =
        name.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    let runs = Path::new("runs");
    fs::create_dir_all(runs).map_err(|error| in_file(runs, error))?;
    let mut path = runs.join(&base);
    for n in 2u64.. {
        match fs::create_dir(&path) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => path = runs.join(format!("{base}-{n}")),
            Err(error) => return Err(in_file(&path, error)),
        }
    }
    Ok(path)
}
