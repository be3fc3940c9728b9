//! The folder of a run. Every file in it is written whole or not at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub use cmrm_run::RunInfo;
use cmrm_run::{FORMAT, RunKind};
use cmrm_train::Model;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result, in_file, in_stored};

/// The folder of a run.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes the folder with room for checkpoints.
    pub fn create(wanted: Option<&Path>, name: &str, resume: bool) -> Result<Self> {
        let run = RunDir::make(wanted, name, resume)?;
        fs::create_dir_all(run.file("checkpoints")).map_err(|error| in_file(&run.path, error))?;
        Ok(run)
    }

    /// A folder that is there already.
    pub fn at(path: &Path) -> Self {
        RunDir { path: path.to_owned() }
    }

    /// Makes the folder, or takes an empty one, or, to resume, one that is there.
    pub fn make(wanted: Option<&Path>, name: &str, resume: bool) -> Result<Self> {
        let path = match wanted {
            Some(path) => path.to_owned(),
            None => free_name(name),
        };
        if resume && !path.is_dir() {
            return Err(Failure::input(format!("{}: there is no run to resume", path.display())));
        }
        let in_use = path.is_dir() && fs::read_dir(&path).map_err(|e| in_file(&path, e))?.next().is_some();
        if in_use && !resume {
            return Err(Failure::input(format!(
                "{}: the folder is not empty; choose another, delete it, or add --resume to go on with its run",
                path.display()
            )));
        }
        fs::create_dir_all(&path).map_err(|error| in_file(&path, error))?;
        Ok(RunDir { path })
    }

    /// Opens a finished run.
    pub fn open(path: &Path) -> Result<(Self, RunInfo)> {
        let run = RunDir { path: path.to_owned() };
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
        let version: Version = run.read_json("run.json")?;
        if version.format != FORMAT {
            return Err(Failure::input(format!(
                "{}: the run has format {}, this version reads {FORMAT}; fit again, or use the version that wrote it",
                path.display(),
                version.format
            )));
        }
        let info = run.read_json("run.json")?;
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

    /// The checkpoint of a training under way.
    pub fn checkpoint(&self) -> PathBuf {
        self.file("checkpoints/last.safetensors")
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
        let path = self.file(name);
        cmrm_files::write_atomically(&path, |file| file.write_all(text.as_bytes())).map_err(|e| in_file(&path, e))
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
            std::io::ErrorKind::NotFound => Failure::input(format!(
                "{}: missing; this is not the folder of a finished run (an unfinished one goes on with `cmrm fit --resume --out {}`)",
                path.display(),
                self.path.display()
            )),
            _ => in_file(&path, error),
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
        let bytes = fs::read(&path).map_err(|error| in_file(&path, error))?;
        Model::from_bytes(&bytes).map_err(|error| in_stored(&path, error))
    }
}

/// `runs/NAME`, or the first of `runs/NAME-2`, `runs/NAME-3` … that is free.
fn free_name(name: &str) -> PathBuf {
    let base: String =
        name.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    let first = Path::new("runs").join(&base);
    std::iter::once(first.clone())
        .chain((2..).map(|n| Path::new("runs").join(format!("{base}-{n}"))))
        .find(|path| !path.exists())
        .unwrap_or(first)
}
