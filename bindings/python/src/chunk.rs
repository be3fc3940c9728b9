//! Training in chunks: one pass over rows after another.

use cmrm::envelope::Start;
use cmrm_data::LabelOptions;
use cmrm_fit::{Fit, FitConfig, FitOutcome, Loaded, Part, Prepared, RowOrder, Split, arms};
use cmrm_train::train::{Term, TrainConfig, Trainer, Waypoint};
use cmrm_train::{Model, Predictor, Stop};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::slice;
use crate::errors::{detached_on, refuse};
use crate::fit::Task;
use crate::fitted::Fitted;
use crate::row_views::RowViews;
use crate::watch::Watch;

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
    let (fitted, views) = detached_on(py, task.threads(), move |stop| {
        let config = settings;
        // Every row of a chunk is trained on, once and as it stands; preprocessing is that of the first chunk.
        let whole = FitConfig { validation_share: Some(0.0), row_order: RowOrder::Given, ..config.clone() };
        let weights = loaded.weights.take();
        let mut prepared = match before {
            None => Prepared::new(&whole, &loaded, stop).map_err(refuse)?,
            Some(before) => next_chunk(&loaded, before).map_err(refuse)?,
        };
        prepared.train.weights = weights;
        stop.check().map_err(refuse)?;
        let (outcome, waypoint) = one_pass(&config, prepared, before, passes, stop).map_err(refuse)?;
        let views = RowViews::of(&loaded, labels, &outcome, stop).map_err(refuse)?;
        let fitted = Fitted::new(outcome, None, None).map_err(refuse)?;
        Ok((Fitted { waypoint: Some(waypoint), ..fitted }, views))
    })?;
    let columns = views.columns(py)?;
    Ok((fitted, columns))
}

/// The chunk with the preprocessing of the first.
fn next_chunk(loaded: &Loaded, before: &Fitted) -> Result<Prepared, cmrm_fit::Error> {
    let preprocess = before.model.preprocess();
    let known = LabelOptions { classes: Some(before.model.classes().to_vec()), ..LabelOptions::default() };
    let (data, _) = preprocess.dataset(&loaded.train, &loaded.train.encode_labels(&known)?)?;
    let split = Split::train_only(data.len());
    let all = Part { data, weights: None, clean: None };
    Prepared::split(loaded.name.clone(), preprocess.clone(), all, split)
}

/// One epoch; the envelope is on once so many passes were made as it waits for in a whole fit.
fn one_pass(
    config: &FitConfig,
    rows: Prepared,
    before: Option<&Fitted>,
    passes: u64,
    stop: &Stop,
) -> Result<(FitOutcome, Waypoint<f32>), cmrm_fit::Error> {
    if config.loss.needs_transition() && config.transition_matrix().is_none() {
        return Err(cmrm_fit::Error::Refused(format!(
            "the loss {} needs a transition matrix, which chunks cannot tell; pass transition=",
            config.loss.name()
        )));
    }
    let waits = config.epochs().map_or(0, |epochs| config.envelope().start.first_epoch(epochs));
    let on = passes >= waits as u64;
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
    let fit = Fit::of(config.clone(), rows);
    let train = &fit.rows().train;
    let mut trainer = Trainer::new(settings, arms, train.data.classes.len(), train.examples()?, None)?;
    if let Some(before) = before {
        match &before.waypoint {
            Some(waypoint) => trainer.go_on_from(waypoint)?,
            None => trainer.go_on_from(&Waypoint::of_models(networks(before)?))?,
        }
    }
    trainer.run(&mut Watch::new(stop, None))?;
    stop.check()?;
    let (waypoint, history) = (trainer.waypoint(), trainer.history().to_vec());
    let arms = trainer.finish()?;
    Ok((fit.finish(arms, history)?, waypoint))
}

/// The networks that passes over further rows go on from.
fn networks(before: &Fitted) -> Result<Vec<&Model<f32>>, cmrm_fit::Error> {
    let networks = before.model.arms().iter().map(|arm| match arm.predictor() {
        Predictor::Network(model) => Some(model),
        Predictor::Vote(_) => None,
    });
    // Python offers no partial_fit after a vote.
    networks.collect::<Option<_>>().ok_or_else(|| cmrm_fit::Error::Internal("chunks after a vote".into()))
}
