//! The folder of a run. Every file in it is written whole or not at all, and by one process at a time.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use cmrm_data::files::{self, FolderLock};
use cmrm_data::preprocess::Preprocess;
use cmrm_report::{Report, SCHEMA, SELF_CHECK_SCHEMA, SelfCheck};
use cmrm_train::Predictor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::calibration::Calibration;
use crate::contents::{json, metrics, report_files};
use crate::error::{Error, Result};
use crate::info::{RunInfo, RunKind};
use crate::names::{
    BEST, CHECKPOINT, CHECKPOINTS, DATA_STAMP, MARGINS, METRICS, MODEL, PREPROCESS, REPORT, RUN, SEARCH, SELF_CHECK,
    SETTINGS, SUMMARY, SUMMARY_TEXT,
};
use crate::rows::TrainingRows;
use crate::seal;
use crate::summary::FitSummary;

/// The folder of a run.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Held while the run is written.
    _lock: Option<FolderLock>,
    /// Names of the files that have to be there, in the folder of a finished run that was opened.
    needed: BTreeSet<String>,
}

impl RunDir {
    /// Whether a folder holds a run or a search, finished or under way.
    pub fn is_at(folder: &Path) -> bool {
        let has = |name: &str| folder.join(name).exists();
        has(RUN) || has(SETTINGS) && (has(CHECKPOINTS) || has(SEARCH))
    }

    /// A folder that is there already, to read from.
    pub fn at(path: &Path) -> Self {
        RunDir { path: path.to_owned(), _lock: None, needed: BTreeSet::new() }
    }

    /// Refuses a folder that holds anything or is being written, before any work is done for it.
    pub fn refuse_used(path: &Path) -> Result<()> {
        if files::has_lock_file(path) {
            drop(RunDir::lock(path)?);
        }
        RunDir::refuse_contents(path)
    }

    fn refuse_contents(path: &Path) -> Result<()> {
        let unused = !path.is_dir() || files::is_unused(path).map_err(|error| Error::writing(path, &error))?;
        if unused { Ok(()) } else { Err(in_use(path)) }
    }

    /// Makes the folder of a new run, or takes an empty one, and locks it. Without a `wanted` place it is `runs/NAME`, or
    /// the first of `runs/NAME-2`, `runs/NAME-3` … that is free.
    pub fn create(wanted: Option<&Path>, name: &str) -> Result<Self> {
        let path = match wanted {
            Some(path) => path.to_owned(),
            None => make_free(name)?,
        };
        // A folder of other things is left without a lock file.
        if !files::has_lock_file(&path) {
            RunDir::refuse_contents(&path)?;
        }
        fs::create_dir_all(&path).map_err(|error| Error::writing(&path, &error))?;
        let run = RunDir::lock(&path)?;
        RunDir::refuse_contents(&path)?;
        Ok(run)
    }

    /// Locks a folder, or says that another process has done so.
    pub fn lock(path: &Path) -> Result<Self> {
        match FolderLock::take(path).map_err(|error| Error::writing(path, &error))? {
            Some(lock) => Ok(RunDir { path: path.to_owned(), _lock: Some(lock), needed: BTreeSet::new() }),
            None => Err(Error::refused(format!(
                "{}: another process is writing into this folder; wait until it has finished, or choose another --out",
                path.display()
            ))),
        }
    }

    /// Clears away what a killed process has left, and writes the settings: from here on there is a run, and it is not finished. It must
    /// be locked.
    pub fn begin(&self, settings: &str) -> Result<()> {
        self.remove(RUN)?;
        let folders = [self.path.clone(), self.file(CHECKPOINTS)];
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            files::remove_leftovers(folder).map_err(|error| Error::writing(folder, &error))?;
        }
        self.write(SETTINGS, settings)
    }

    /// Makes room for checkpoints.
    pub fn make_room_for_progress(&self) -> Result<()> {
        let folder = self.file(CHECKPOINTS);
        fs::create_dir_all(&folder).map_err(|error| Error::writing(&folder, &error))
    }

    /// Whether the folder has been used by a fit.
    pub fn has_room_for_progress(&self) -> bool {
        self.file(CHECKPOINTS).is_dir()
    }

    /// Marks the run as finished, every other file being there, with their checksums, and only then removes what nobody will go on from.
    pub fn finish(&self, info: &RunInfo) -> Result<()> {
        seal::seal(self, info)?;
        self.remove_progress()
    }

    /// Whether something is left of what only an unfinished run needs.
    pub fn has_progress(&self) -> bool {
        [CHECKPOINT, DATA_STAMP].iter().any(|name| self.file(name).exists())
    }

    /// Removes what only an unfinished run needs. The run must be locked.
    pub fn remove_progress(&self) -> Result<()> {
        [CHECKPOINT, DATA_STAMP].iter().try_for_each(|name| self.remove(name))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.file(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::writing(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Opens a finished run, and refuses one with a file that is not what was written.
    pub fn open(path: &Path) -> Result<(Self, RunInfo)> {
        let mut run = RunDir::at(path);
        if !path.is_dir() {
            return Err(Error::refused(format!(
                "{}: not a folder; name the folder of a run, written by `cmrm fit --out`",
                path.display()
            )));
        }
        if path.join(SEARCH).exists() && !path.join(RUN).exists() {
            return Err(Error::in_file(
                path,
                format!(
                    "the folder of a search, not of a run; train with what it found: `cmrm fit --config {}`",
                    path.join(BEST).display()
                ),
            ));
        }
        let info = seal::check(&run)?;
        info.check().map_err(|error| Error::refused(format!("{}: {error}", run.file(RUN).display())))?;
        let needed = info.files.iter().filter(|(_, checksum)| checksum.is_needed());
        run.needed = needed.map(|(name, _)| name.clone()).collect();
        Ok((run, info))
    }

    /// Whether `run.json` lists this file as one that is there.
    pub(crate) fn needs(&self, file: &Path) -> bool {
        file.file_name().and_then(|name| name.to_str()).is_some_and(|name| self.needed.contains(name))
    }

    /// Refuses a run on images, whose network this program cannot apply.
    pub fn check_kind(&self, info: &RunInfo) -> Result<()> {
        match info.kind {
            RunKind::Rows => Ok(()),
            RunKind::Images => Err(Error::refused(format!(
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
        self.file(RUN).exists()
    }

    /// The checkpoint of a training under way.
    pub fn checkpoint(&self) -> PathBuf {
        self.file(CHECKPOINT)
    }

    /// The model file of an arm.
    pub fn model_file(&self, arm: &str, chosen: &str) -> PathBuf {
        if arm == chosen { self.file(MODEL) } else { self.file(&format!("{arm}.safetensors")) }
    }

    /// The file of an arm's calibration rows.
    pub fn calibration_file(&self, arm: &str, chosen: &str) -> PathBuf {
        let name = if arm == chosen { "calibration".into() } else { format!("{arm}-calibration") };
        self.file(&format!("{name}.safetensors"))
    }

    /// Writes the model of an arm.
    pub fn write_model(&self, arm: &str, chosen: &str, predictor: &Predictor) -> Result<()> {
        write_file(&self.model_file(arm, chosen), &predictor.to_bytes()?)
    }

    /// Writes how columns become features.
    pub fn write_preprocess(&self, preprocess: &Preprocess) -> Result<()> {
        self.write(PREPROCESS, &(preprocess.to_json()? + "\n"))
    }

    /// Writes the rows that an arm's prediction sets are calibrated on.
    pub fn write_calibration(&self, arm: &str, chosen: &str, calibration: &Calibration) -> Result<()> {
        calibration.write(&self.calibration_file(arm, chosen))
    }

    /// Writes text.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        write_file(&self.file(name), text.as_bytes())
    }

    /// Writes JSON for people to read.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        self.write(name, &json(name, value)?)
    }

    /// Writes the figures of the epochs.
    pub fn write_metrics(&self, epochs: &[impl Serialize]) -> Result<()> {
        self.write(METRICS, &metrics(epochs)?)
    }

    /// Writes the summary, for programs and as text.
    pub fn write_summary(&self, summary: &FitSummary) -> Result<()> {
        self.write_json(SUMMARY, summary)?;
        self.write(SUMMARY_TEXT, &summary.to_markdown())
    }

    /// Reads the summary.
    pub fn read_summary(&self) -> Result<FitSummary> {
        self.read_json(SUMMARY)
    }

    /// Writes the report's data, and the page made of it.
    pub fn write_report(&self, report: &Report) -> Result<()> {
        report_files(report)?.iter().try_for_each(|(name, text)| self.write(name, text))
    }

    /// Reads the report's data.
    pub fn read_report(&self) -> Result<Report> {
        let file = self.file(REPORT);
        if !file.exists() && !self.needs(&file) {
            return Err(Error::in_file(
                &file,
                "missing; the run comes from a version without pages and figures; fit again",
            ));
        }
        let report: Report = self.read_json(REPORT)?;
        if report.schema != SCHEMA {
            let what = format!(
                "the report has schema {}, this version reads {SCHEMA}; fit again, or use the version that wrote it",
                report.schema
            );
            return Err(Error::in_file(&file, what));
        }
        Ok(report)
    }

    /// Writes how good the suspects are, and the report with it. The run must be locked.
    pub fn write_self_check(&self, check: SelfCheck, report: Report) -> Result<()> {
        let report = Report { self_check: Some(check), ..report };
        let mut files = vec![(SELF_CHECK, json(SELF_CHECK, &report.self_check)?)];
        files.extend(report_files(&report)?);
        self.replace(&files)
    }

    /// Replaces the summary and the report of a finished run. The run must be locked.
    pub fn replace_summary_and_report(&self, summary: &FitSummary, report: &Report) -> Result<()> {
        let mut files = vec![(SUMMARY, json(SUMMARY, summary)?), (SUMMARY_TEXT, summary.to_markdown())];
        files.extend(report_files(report)?);
        self.replace(&files)
    }

    /// Adds a file to a finished run, or replaces it. The run must be locked.
    pub fn replace_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        self.replace(&[(name, json(name, value)?)])
    }

    /// Replaces or adds files of a finished run, and their checksums. A process that is killed at any moment leaves a run that opens: with
    /// some of the files as they were. The run must be locked.
    pub fn replace(&self, files: &[(&str, String)]) -> Result<()> {
        seal::replace(self, files)
    }

    /// Reads how good the suspects are, if that was checked.
    pub fn read_self_check(&self) -> Result<Option<SelfCheck>> {
        let file = self.file(SELF_CHECK);
        if !file.exists() && !self.needs(&file) {
            return Ok(None);
        }
        let check: SelfCheck = self.read_json(SELF_CHECK)?;
        if check.schema != SELF_CHECK_SCHEMA {
            let what = format!(
                "the self-check has schema {}, this version reads {SELF_CHECK_SCHEMA}; check again with `cmrm audit {} --self-check`",
                check.schema,
                self.path.display()
            );
            return Err(Error::in_file(&file, what));
        }
        Ok(Some(check))
    }

    /// Reads what training saw of the rows.
    pub fn read_rows(&self, info: &RunInfo) -> Result<TrainingRows> {
        let file = self.file(MARGINS);
        if self.needs(&file) && !file.exists() {
            return Err(Error::lost(&file));
        }
        TrainingRows::read(&file, &info.classes)
    }

    /// Reads text.
    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.file(name);
        fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound if self.needs(&path) => Error::lost(&path),
            ErrorKind::InvalidData => {
                Error::in_file(&path, "not a text; the file is damaged: copy the folder again or fit again")
            }
            ErrorKind::NotFound => Error::refused(format!(
                "{}: missing; this is not the folder of a finished run (continue an unfinished one with `cmrm fit --resume --out {}`)",
                path.display(),
                self.path.display()
            )),
            _ => Error::reading(&path, &error),
        })
    }

    /// Reads a file of the folder.
    pub(crate) fn read_bytes(&self, path: &Path) -> Result<Vec<u8>> {
        fs::read(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound if self.needs(path) => Error::lost(path),
            _ => Error::reading(path, &error),
        })
    }

    /// Reads JSON.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let text = self.read(name)?;
        serde_json::from_str(&text).map_err(|e| Error::refused(format!("{}: {e}", self.file(name).display())))
    }
}

fn in_use(path: &Path) -> Error {
    let what = "the folder is not empty; choose another, delete it, or add --resume to continue what is in it";
    Error::in_file(path, what)
}

/// Writes a file whole or not at all: a process killed at any moment leaves the previous one readable.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    files::write_atomically(path, |file| file.write_all(bytes)).map_err(|error| Error::writing(path, &error))
}

/// Makes `runs/NAME`, or the first of `runs/NAME-2`, `runs/NAME-3` … that nobody has made yet.
fn make_free(name: &str) -> Result<PathBuf> {
    let base: String =
        name.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    let runs = Path::new("runs");
    fs::create_dir_all(runs).map_err(|error| Error::writing(runs, &error))?;
    let mut path = runs.join(&base);
    for n in 2u64.. {
        match fs::create_dir(&path) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => path = runs.join(format!("{base}-{n}")),
            Err(error) => return Err(Error::writing(&path, &error)),
        }
    }
    Ok(path)
}
