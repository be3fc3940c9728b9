//! A classifier as the folder of a run, and back.

use std::path::{Path, PathBuf};

use cmrm_data::Fingerprint;
use cmrm_fit::{FitConfig, FitOutcome};
use cmrm_run::names::{MARGINS, METRICS, PAGE, REPORT, SELF_CHECK, SETTINGS, SUMMARY, SUMMARY_TEXT};
use cmrm_run::summary::{FitSummary, MemberSummary};
use cmrm_run::{Model, RunDir, RunInfo, TrainingRows, Wanted, metrics, write_file};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::audit::columns;
use crate::errors::{detached, refuse};
use crate::fitted::Fitted;
use crate::report::Kept;

type Result<T> = std::result::Result<T, cmrm_fit::Error>;

/// What a run's folder holds besides what predicting takes.
pub enum Record {
    /// The fit itself, with its rows.
    Kept(Box<Kept>),
    /// What remains of a fit without its rows.
    Parts(Box<Parts>),
    /// The files of a run that was opened, or of a classifier that was stored.
    Files(Box<RunInfo>, Files),
}

/// Names and contents.
pub type Files = Vec<(String, Vec<u8>)>;

/// What a fit knew of its rows.
pub struct Parts {
    info: RunInfo,
    rows: TrainingRows,
    summary: FitSummary,
    epochs: String,
}

impl Parts {
    /// Of a fit whose rows are about to go.
    pub fn of(outcome: &FitOutcome) -> Result<Self> {
        let info = outcome.info(Fingerprint::of(&outcome.rows.train.data))?;
        Ok(Parts {
            rows: outcome.training_rows.clone(),
            summary: outcome.summary_unjudged("memory".into(), &info)?,
            epochs: metrics(&outcome.history)?,
            info,
        })
    }

    fn files(&self) -> Result<Files> {
        let summary = serde_json::to_string_pretty(&self.summary)
            .map_err(|error| cmrm_fit::Error::Internal(format!("{SUMMARY}: {error}")))?;
        Ok(vec![
            (METRICS.into(), self.epochs.clone().into_bytes()),
            (MARGINS.into(), self.rows.to_parquet()?),
            (SUMMARY.into(), (summary + "\n").into_bytes()),
            (SUMMARY_TEXT.into(), self.summary.to_markdown().into_bytes()),
        ])
    }
}

impl Record {
    /// What is stored with a classifier: all but rows.
    pub fn to_store(&self) -> Result<(RunInfo, Files)> {
        match self {
            Record::Kept(kept) => {
                let parts = Parts::of(&kept.outcome)?;
                Ok((parts.info.clone(), parts.files()?))
            }
            Record::Parts(parts) => Ok((parts.info.clone(), parts.files()?)),
            Record::Files(info, files) => Ok((RunInfo::clone(info), files.clone())),
        }
    }
}

impl Fitted {
    /// Writes a run into a new or empty folder.
    pub fn write_run(&self, path: &Path, label_type: Option<String>) -> Result<()> {
        RunDir::refuse_used(path)?;
        let run = RunDir::create(Some(path), "")?;
        run.begin(&self.config.to_toml()?)?;
        let mut info = match &self.record {
            Record::Kept(kept) => kept.write_run(&run)?,
            record => {
                let (info, files) = record.to_store()?;
                self.model.write(&run)?;
                for (name, bytes) in files {
                    write_file(&run.file(&name), &bytes)?;
                }
                info
            }
        };
        info.label_type = label_type;
        // The rows were in memory, or lie where the run that was loaded knows them: seen from here that is another place.
        info.data_root = None;
        Ok(run.finish(&info)?)
    }
}

/// Opens the folder of a run: the classifier, and what is known of it by name.
#[pyfunction]
pub fn open_run(py: Python<'_>, path: PathBuf) -> PyResult<(Fitted, Bound<'_, PyDict>)> {
    let fitted = detached(py, || open(&path))?;
    let known = fitted.known(py)?;
    Ok((fitted, known))
}

fn open(path: &Path) -> Result<Fitted> {
    let (run, model) = (RunDir::at(path), Model::open_arms(path, Wanted::All)?);
    let info =
        model.info().cloned().ok_or_else(|| cmrm_fit::Error::Internal("an opened run without run.json".into()))?;
    let config = FitConfig::from_toml(&run.read(SETTINGS)?)?;
    let mut files = Files::new();
    for name in [METRICS, MARGINS, SUMMARY, SUMMARY_TEXT, REPORT, PAGE, SELF_CHECK] {
        let file = run.file(name);
        if file.exists() {
            files.push((name.into(), std::fs::read(&file).map_err(|error| cmrm_run::Error::reading(&file, &error))?));
        }
    }
    Ok(Fitted { config, model, waypoint: None, record: Record::Files(Box::new(info), files) })
}

impl Fitted {
    /// What the record says of the rows and of the fit, by name, as of a fit that has just run; the rows are those trained on, in the
    /// order of the data.
    fn known<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Record::Files(info, files) = &self.record else { return Err(refuse("a bug in cmrm: not a stored run")) };
        let bytes = |wanted: &str| files.iter().find(|(name, _)| name == wanted).map(|(_, bytes)| bytes);
        let dict = match bytes(MARGINS) {
            Some(bytes) => {
                let rows = TrainingRows::from_parquet(bytes, &info.classes).map_err(refuse)?;
                row_columns(py, rows)?
            }
            None => PyDict::new(py),
        };
        let summary = bytes(SUMMARY).map(|bytes| serde_json::from_slice::<FitSummary>(bytes)).transpose();
        let summary = summary.map_err(|error| refuse(format!("{SUMMARY}: {error}")))?;
        let json = |value: serde_json::Result<String>| value.map_err(|error| refuse(error.to_string()));
        let members: &[MemberSummary] = summary.as_ref().map_or(&[][..], |summary| &summary.members[..]);
        dict.set_item("members", json(serde_json::to_string(members))?)?;
        let noise = summary.as_ref().and_then(|summary| summary.noise);
        dict.set_item("noise", noise.map(|noise| json(serde_json::to_string(&noise))).transpose()?)?;
        let seen = summary.as_ref().and_then(|summary| summary.data.columns.as_ref());
        dict.set_item("columns", seen.map(|seen| json(serde_json::to_string(&seen.columns))).transpose()?)?;
        dict.set_item("classes", &info.classes)?;
        dict.set_item("label_type", &info.label_type)?;
        dict.set_item("config", json(serde_json::to_string(&self.config))?)?;
        dict.set_item("loss", self.config.loss.to_string())?;
        let expected = self.model.preprocess().expected();
        dict.set_item("width", expected.width)?;
        let names = expected.columns.into_iter().map(|column| column.name).collect::<Vec<_>>();
        dict.set_item("names", (!expected.unnamed && names.len() == expected.width).then_some(names))?;
        Ok(dict)
    }
}

/// The audit of the rows trained on, with their places, labels and weights.
fn row_columns(py: Python<'_>, mut rows: TrainingRows) -> PyResult<Bound<'_, PyDict>> {
    rows.sort_by_row();
    let mut audit = rows.audit().map_err(refuse)?;
    if rows.evidence().is_some_and(|evidence| evidence.tells_nothing()) {
        audit.flag_none(&rows.labels).map_err(refuse)?;
    }
    let dict = columns(py, audit)?;
    dict.set_item("row", rows.rows.into_pyarray(py))?;
    dict.set_item("labels", rows.labels.into_pyarray(py))?;
    dict.set_item("weight", rows.weight.into_pyarray(py))?;
    let wrong = rows.wrong_probability;
    dict.set_item("wrong_probability", (!wrong.is_empty()).then(|| wrong.into_pyarray(py)))?;
    Ok(dict)
}
