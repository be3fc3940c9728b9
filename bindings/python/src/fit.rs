//! Training.

use cmrm_data::Dataset;
use cmrm_fit::{FitConfig, Loaded, TrainingParts, prepare, trainer, with_penalty};
use cmrm_train::train::Trained;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::slice;
use crate::errors::{detached_on, refuse};
use crate::features::Given;
use crate::fitted::{Fitted, Held};
use crate::report::Kept;
use crate::seen::Seen;
use crate::watch::Watch;

/// What is trained on, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Task<'py> {
    features: Given<'py>,
    labels: PyReadonlyArray1<'py, u32>,
    classes: Vec<String>,
    weights: Option<PyReadonlyArray1<'py, f32>>,
    /// Settings as JSON, without the loss.
    config: String,
    loss: String,
    threads: Option<usize>,
    keep_data: bool,
    tell: Option<Py<PyAny>>,
}

impl<'py> Task<'py> {
    /// The settings, checked.
    pub fn config(&self) -> PyResult<FitConfig> {
        let config = self.settings()?;
        config.check().map_err(refuse)?;
        Ok(config)
    }

    /// The settings of a training in chunks, checked.
    pub fn config_in_passes(&self) -> PyResult<FitConfig> {
        let config = self.settings()?.in_passes();
        config.check().map_err(refuse)?;
        Ok(config)
    }

    fn settings(&self) -> PyResult<FitConfig> {
        let mut config: FitConfig =
            serde_json::from_str(&self.config).map_err(|error| refuse(format!("settings: {error}")))?;
        config.loss = self.loss.parse().map_err(|error| refuse(format!("loss: {error}")))?;
        Ok(config)
    }

    /// The rows as the command would have read them.
    pub fn loaded(&self) -> PyResult<Loaded> {
        Ok(Loaded {
            train: self.features.input(slice(&self.labels)?, &self.classes, "X")?,
            test: None,
            classes: Some(self.classes.clone()),
            clean: None,
            weights: self.weights.as_ref().map(slice).transpose()?.map(<[f32]>::to_vec),
            name: "X".into(),
        })
    }

    /// Indices into the classes.
    pub fn labels(&self) -> &PyReadonlyArray1<'py, u32> {
        &self.labels
    }

    /// The number of threads.
    pub fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// Whom to tell of epochs.
    pub fn tell(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.tell.as_ref().map(|tell| tell.clone_ref(py))
    }
}

/// Trains, and says what it saw of every row: the classifier and columns by name.
#[pyfunction]
pub fn fit_rows<'py>(py: Python<'py>, task: Task<'py>) -> PyResult<(Fitted, Bound<'py, PyDict>)> {
    let (config, loaded, tell) = (task.config()?, task.loaded()?, task.tell(py));
    let labels = slice(&task.labels)?;
    let (keep, settings) = (task.keep_data, config.clone());
    let (fitted, seen, notes) = detached_on(py, task.threads, move |stop| {
        let config = settings;
        let (prepared, notes) = prepare(&config, &loaded).map_err(refuse)?;
        let parts = TrainingParts::of(&prepared).map_err(refuse)?;
        let classes = prepared.data.classes.len();
        let config = with_penalty(&config, parts.examples().map_err(refuse)?, classes, &mut Watch::new(stop, None))
            .map_err(refuse)?;
        let mut trainer = trainer(&config, &prepared, &parts).map_err(refuse)?;
        let mut watch = Watch::new(stop, tell);
        trainer.run(&mut watch).map_err(refuse)?;
        watch.check()?;
        let history = trainer.history().to_vec();
        let trained = trainer.finish().map_err(refuse)?;
        let seen = Seen::of(&loaded, &prepared, &parts, &trained).map_err(refuse)?;
        let calibration = calibration(&parts.validation, &trained).map_err(refuse)?;
        drop(parts);
        let kept = keep.then(|| (loaded.train, trained.clone(), history));
        let arms = trained.into_iter().map(|arm| (arm.name, arm.model)).collect();
        let (preprocess, classes) = (prepared.preprocess.clone(), prepared.data.classes.clone());
        let kept = kept.map(|(raw, trained, history)| Kept { raw, prepared, trained, history });
        Ok((Fitted { config, preprocess, classes, arms, calibration, waypoint: None, kept }, seen, notes))
    })?;
    let columns = seen.columns(py, labels, fitted.classes.len())?;
    columns.set_item("notes", notes)?;
    Ok((fitted, columns))
}

fn calibration(validation: &Dataset, trained: &[Trained<f32>]) -> Result<Option<Held>, cmrm_fit::Error> {
    let Some(robust) = trained.last().filter(|_| !validation.is_empty()) else { return Ok(None) };
    Ok(Some((robust.model.probabilities(validation.matrix()?)?, validation.labels.clone())))
}
