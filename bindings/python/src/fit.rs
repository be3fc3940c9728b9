//! Training.

use cmrm::audit::Evidence;
use cmrm_fit::{Fit, FitConfig, Loaded};
use cmrm_run::no_better_than_chance;
use cmrm_run::summary::MemberSummary;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::slice;
use crate::errors::{detached_on, refuse};
use crate::features::Given;
use crate::fitted::Fitted;
use crate::noise_model;
use crate::row_views::RowViews;
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
    /// Whether labels are flagged though the models tell nothing of them.
    flag_anyway: bool,
    tell: Option<Py<PyAny>>,
}

impl<'py> Task<'py> {
    /// The settings, checked.
    pub fn config(&self) -> PyResult<FitConfig> {
        let config = self.settings()?;
        config.check().map_err(refuse)?;
        Ok(config)
    }

    /// The settings of a search, checked.
    pub fn config_to_search(&self) -> PyResult<FitConfig> {
        let config = self.settings()?.for_one_model("a search for settings").map_err(refuse)?;
        config.check().map_err(refuse)?;
        Ok(config)
    }

    /// The settings of a training in chunks, checked.
    pub fn config_in_passes(&self) -> PyResult<FitConfig> {
        let config = self.settings()?.for_one_model("partial_fit").map_err(refuse)?.in_passes();
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
    let (keep, flag_anyway) = (task.keep_data, task.flag_anyway);
    let (fitted, views, understood, members, noise, transition, [notes, warnings]) =
        detached_on(py, task.threads, move |stop| {
            let fit = Fit::new(&config, &loaded, stop).map_err(refuse)?;
            let mut watch = Watch::new(stop, tell);
            let outcome = if fit.config().is_vote() { fit.run_vote(&mut watch) } else { fit.run(&mut watch) };
            watch.check()?;
            let outcome = outcome.map_err(refuse)?;
            let mut views = RowViews::of(&loaded, labels, &outcome, stop).map_err(refuse)?;
            let useless = outcome.training_rows.evidence().filter(Evidence::tells_nothing);
            if useless.is_some() && !flag_anyway {
                views.flag_none(labels).map_err(refuse)?;
            }
            let envelope = outcome.envelope_arm().map_err(refuse)?;
            let calibration = outcome.calibration(envelope, stop).map_err(refuse)?;
            let warnings = match useless {
                Some(evidence) => vec![nothing_told(&evidence, flag_anyway)],
                None => outcome.warnings().map_err(refuse)?,
            };
            let words = [outcome.rows.notes.clone(), warnings];
            let members = outcome.members.clone();
            let columns = outcome.rows.columns.clone();
            let noise = outcome.noise.as_ref().map(|noise| noise.estimate.likeliest.clone());
            let transition = outcome.config.transition_matrix().cloned();
            let fitted = Fitted::new(outcome, calibration, keep.then_some(loaded.train)).map_err(refuse)?;
            Ok((fitted, views, columns, members, noise, transition, words))
        })?;
    let columns = views.columns(py)?;
    let worth = |member: MemberSummary| {
        let worth = PyDict::new(py);
        worth.set_item("name", member.name)?;
        worth.set_item("share", member.share)?;
        worth.set_item("accuracy", member.accuracy)?;
        worth.set_item("brier", member.brier)?;
        PyResult::Ok(worth)
    };
    columns.set_item("members", members.into_iter().map(worth).collect::<PyResult<Vec<_>>>()?)?;
    columns.set_item("noise", noise.map(|noise| noise_model::summary(py, &noise)).transpose()?)?;
    columns.set_item("transition", transition.map(Vec::<Vec<f64>>::from))?;
    // As JSON, which Python's side reads.
    let understood = understood.map(|summary| serde_json::to_string(&summary.columns)).transpose();
    columns.set_item("columns", understood.map_err(|error| refuse(error.to_string()))?)?;
    columns.set_item("notes", notes)?;
    columns.set_item("warnings", warnings)?;
    Ok((fitted, columns))
}

/// What is said of models that tell nothing of the labels.
fn nothing_told(evidence: &Evidence, flag_anyway: bool) -> String {
    let flags = match flag_anyway {
        true => "so its flags mean little",
        false => "so no label is flagged (flag_anyway=True flags them all the same)",
    };
    format!("{}, {flags}", no_better_than_chance(evidence))
}
