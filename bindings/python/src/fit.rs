//! Training and the search for settings.

use cmrm::Matrix;
use cmrm::audit::{MarginOptions, rank_margins};
use cmrm::envelope::Start;
use cmrm_data::{Dataset, LabelOptions};
use cmrm_fit::{FitConfig, Loaded, Prepared, RowOrder, Split, TrainingParts, arms, prepare, trainer};
use cmrm_train::train::{Examples, Term, TrainConfig, Trained, Trainer, Waypoint};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::slice;
use crate::audit::columns;
use crate::errors::{detached_on, refuse};
use crate::features::Given;
use crate::fitted::{Fitted, Held};
use crate::report::Kept;
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

impl Task<'_> {
    /// The settings, checked.
    pub fn config(&self) -> PyResult<FitConfig> {
        let mut config: FitConfig =
            serde_json::from_str(&self.config).map_err(|error| refuse(format!("settings: {error}")))?;
        config.loss = self.loss.parse().map_err(|error| refuse(format!("loss: {error}")))?;
        config.check().map_err(refuse)?;
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

    /// The number of threads.
    pub fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// Whom to tell of epochs.
    pub fn tell(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.tell.as_ref().map(|tell| tell.clone_ref(py))
    }
}

/// What training saw of every row: margins, strongest other classes, weights.
struct Seen {
    margin: Vec<f32>,
    rival: Vec<u32>,
    weight: Vec<f32>,
    trained_on: Vec<bool>,
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

/// One pass over a chunk of rows, from where `before` stands; `passes` were made before.
#[pyfunction]
#[pyo3(signature = (task, before, passes))]
pub fn fit_chunk<'py>(
    py: Python<'py>,
    task: Task<'py>,
    before: Option<&Bound<'py, Fitted>>,
    passes: u64,
) -> PyResult<(Fitted, Bound<'py, PyDict>)> {
    let (config, mut loaded) = (task.config()?, task.loaded()?);
    let labels = slice(&task.labels)?;
    let before = before.map(Bound::get);
    let settings = config.clone();
    let (fitted, seen) = detached_on(py, task.threads, move |_| {
        let config = settings;
        // Every row of a chunk is trained on, once and as it stands; preprocessing is that of the first chunk.
        let whole = FitConfig { validation_share: 0.0, row_order: RowOrder::Given, ..config.clone() };
        let weights = loaded.weights.take();
        let mut prepared = match before {
            None => prepare(&whole, &loaded).map_err(refuse)?.0,
            Some(before) => next_chunk(&loaded, before).map_err(refuse)?,
        };
        prepared.weights = weights;
        let parts = TrainingParts::of(&prepared).map_err(refuse)?;
        let (trained, waypoint) = one_pass(&config, &parts, before, passes).map_err(refuse)?;
        let seen = Seen::of(&loaded, &prepared, &parts, &trained).map_err(refuse)?;
        let arms = trained.into_iter().map(|arm| (arm.name, arm.model)).collect();
        let (preprocess, classes) = (prepared.preprocess, prepared.data.classes);
        let waypoint = Some(waypoint);
        Ok((Fitted { config, preprocess, classes, arms, calibration: None, waypoint, kept: None }, seen))
    })?;
    let columns = seen.columns(py, labels, fitted.classes.len())?;
    Ok((fitted, columns))
}

/// The chunk with the preprocessing of the first.
fn next_chunk(loaded: &Loaded, before: &Fitted) -> Result<Prepared, cmrm_fit::Error> {
    let known = LabelOptions { classes: Some(before.classes.clone()), ..LabelOptions::default() };
    let (data, _) = before.preprocess.dataset(&loaded.train, &loaded.train.encode_labels(&known)?)?;
    Ok(Prepared {
        name: loaded.name.clone(),
        preprocess: before.preprocess.clone(),
        weights: None,
        clean: None,
        split: Split { train: (0..data.len()).collect(), validation: Vec::new(), test: Vec::new() },
        test: None,
        unlabelled: 0,
        data,
    })
}

/// One epoch; the envelope is on once so many passes were made as it waits for in a whole fit.
fn one_pass(
    config: &FitConfig,
    parts: &TrainingParts,
    before: Option<&Fitted>,
    passes: u64,
) -> Result<(Vec<Trained<f32>>, Waypoint<f32>), cmrm_fit::Error> {
    let on = passes >= config.envelope().start.first_epoch(config.epochs) as u64;
    let mut arms = arms(config);
    for arm in &mut arms {
        match &mut arm.term {
            Term::Envelope(envelope) if on => envelope.start = Start::Epoch(0),
            Term::Binary { start, .. } if on => *start = Start::Epoch(0),
            term => *term = Term::Base,
        }
    }
    let seed = config.seed.wrapping_add(passes);
    let settings = TrainConfig { epochs: 1, seed, ..config.train_config() };
    let TrainingParts { train, weights, .. } = parts;
    let examples = Examples { row_weights: weights.as_deref(), ..Examples::new(train.matrix()?, &train.labels) };
    let mut trainer = Trainer::new(settings, arms, train.classes.len(), examples, None)?;
    if let Some(before) = before {
        match &before.waypoint {
            Some(waypoint) => trainer.go_on_from(waypoint)?,
            None => trainer.go_on_from(&Waypoint::of_models(before.arms.iter().map(|(_, model)| model)))?,
        }
    }
    trainer.run(&mut cmrm_train::train::Silent)?;
    let waypoint = trainer.waypoint();
    Ok((trainer.finish()?, waypoint))
}

fn calibration(validation: &Dataset, trained: &[Trained<f32>]) -> Result<Option<Held>, cmrm_fit::Error> {
    let Some(robust) = trained.last().filter(|_| !validation.is_empty()) else { return Ok(None) };
    Ok(Some((robust.model.probabilities(validation.matrix()?)?, validation.labels.clone())))
}

impl Seen {
    /// The record of the rows trained on; of the others what the model says of them now.
    fn of(
        loaded: &Loaded,
        prepared: &Prepared,
        parts: &TrainingParts,
        trained: &[Trained<f32>],
    ) -> Result<Self, cmrm_fit::Error> {
        let rows = loaded.train.features.rows();
        let mut seen = Seen {
            margin: vec![0.0; rows],
            rival: vec![0; rows],
            weight: vec![1.0; rows],
            trained_on: vec![false; rows],
        };
        let Some(robust) = trained.last() else { return Ok(seen) };
        let record = &robust.record;
        for (at, &row) in parts.train.rows.iter().enumerate() {
            let row = row as usize;
            seen.trained_on[row] = true;
            (seen.margin[row], seen.rival[row]) = (record.last_margin[at], record.rival[at]);
            seen.weight[row] = record.last_weight[at];
        }
        let others: Vec<usize> = (0..rows).filter(|&row| !seen.trained_on[row]).collect();
        if others.is_empty() {
            return Ok(seen);
        }
        let input = loaded.train.gather(&others)?;
        let known = LabelOptions { classes: Some(prepared.data.classes.clone()), ..LabelOptions::default() };
        let labels = input.encode_labels(&known)?.labels.indices;
        let rows = prepared.preprocess.transform(&input.features)?;
        let said = robust.model.probabilities(Matrix::new(&rows.values, rows.width)?)?;
        for ((row, label), said) in others.into_iter().zip(labels).zip(said.chunks_exact(prepared.data.classes.len())) {
            (seen.margin[row], seen.rival[row]) = margin(said, label as usize);
        }
        Ok(seen)
    }

    fn columns<'py>(self, py: Python<'py>, labels: &[u32], classes: usize) -> PyResult<Bound<'py, PyDict>> {
        let audit =
            rank_margins(&self.margin, &self.rival, labels, classes, &MarginOptions::default()).map_err(refuse)?;
        let dict = columns(py, audit)?;
        dict.set_item("weight", self.weight.into_pyarray(py))?;
        dict.set_item("trained_on", self.trained_on.into_pyarray(py))?;
        Ok(dict)
    }
}

/// Probability of the label minus that of the strongest other class, and which that is.
fn margin(probabilities: &[f32], label: usize) -> (f32, u32) {
    let others = (0..probabilities.len()).filter(|&class| class != label);
    let rival = others.reduce(|best, class| if probabilities[class] > probabilities[best] { class } else { best });
    let rival = rival.unwrap_or(label);
    (probabilities[label] - probabilities[rival], rival as u32)
}
