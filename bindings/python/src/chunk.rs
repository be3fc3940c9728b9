//! Training in chunks: one pass over rows after another.

use cmrm::envelope::Start;
use cmrm_data::LabelOptions;
use cmrm_fit::{FitConfig, Loaded, Prepared, RowOrder, Split, TrainingParts, arms, prepare};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Examples, Silent, Term, TrainConfig, Trained, Trainer, Waypoint};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::slice;
use crate::errors::{detached_on, refuse};
use crate::fit::Task;
use crate::fitted::Fitted;
use crate::seen::Seen;

/// One pass over a chunk of rows, from where `before` stands; `passes` were made before.
#[pyfunction]
#[pyo3(signature = (task, before, passes))]
pub fn fit_chunk<'py>(
    py: Python<'py>,
    task: Task<'py>,
    before: Option<&Bound<'py, Fitted>>,
    passes: u64,
) -> PyResult<(Fitted, Bound<'py, PyDict>)> {
    let (config, mut loaded) = (task.config_in_passes()?, task.loaded()?);
    let labels = slice(task.labels())?;
    let before = before.map(Bound::get);
    let settings = config.clone();
    let (fitted, seen) = detached_on(py, task.threads(), move |_| {
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
    let on = passes >= config.envelope().start.first_epoch(config.epochs()) as u64;
    let mut arms = arms(config);
    for arm in &mut arms {
        match &mut arm.term {
            Term::Envelope(envelope) if on => envelope.start = Start::Epoch(0),
            Term::Binary { start, .. } if on => *start = Start::Epoch(0),
            term => *term = Term::Base,
        }
    }
    let seed = config.seed.wrapping_add(passes);
    // How many passes will come is not known, so that no rate can fall towards the last.
    let steady = FitConfig { schedule: ScheduleConfig::default(), ..config.clone() };
    let settings = TrainConfig { epochs: 1, seed, ..steady.train_config() };
    let TrainingParts { train, weights, .. } = parts;
    let examples = Examples { row_weights: weights.as_deref(), ..Examples::new(train.matrix()?, &train.labels) };
    let mut trainer = Trainer::new(settings, arms, train.classes.len(), examples, None)?;
    if let Some(before) = before {
        match &before.waypoint {
            Some(waypoint) => trainer.go_on_from(waypoint)?,
            None => trainer.go_on_from(&Waypoint::of_models(before.arms.iter().map(|(_, model)| model)))?,
        }
    }
    trainer.run(&mut Silent)?;
    let waypoint = trainer.waypoint();
    Ok((trainer.finish()?, waypoint))
}
