//! The search for settings by observed labels.

use cmrm::criterion::Criterion;
use cmrm::loss::LossConfig;
use cmrm_fit::{Fit, FitConfig, Space, choose, search, settings};
use cmrm_train::tune::{SearchConfig, standings};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::audit::named;
use crate::errors::{detached_on, refuse};
use crate::fit::Task;
use crate::watch::Watch;

/// What a search is asked to do, beside the task it searches for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    /// Lists of values as JSON, without the losses.
    space: String,
    losses: Vec<String>,
    folds: usize,
    criterion: String,
}

/// Searches: the best settings as JSON, and where every setting stands.
#[pyfunction]
pub fn search_settings<'py>(py: Python<'py>, task: Task<'py>, wanted: Wanted) -> PyResult<Bound<'py, PyDict>> {
    let (config, loaded, tell) = (task.config_to_search()?, task.loaded()?, task.tell(py));
    let mut space: Space = serde_json::from_str(&wanted.space).map_err(|error| refuse(format!("space: {error}")))?;
    let losses = wanted.losses.iter().map(|loss| loss.parse()).collect::<Result<_, String>>();
    space.losses = losses.map_err(|error| refuse(format!("losses: {error}")))?;
    let criterion = named::<Criterion>("criterion", &wanted.criterion)?;
    let search_config = SearchConfig { folds: wanted.folds, criterion, seed: config.seed, ..SearchConfig::default() };
    let (candidates, trials) = detached_on(py, task.threads(), |stop| {
        let mut fit = Fit::new(&config, &loaded, stop).and_then(|fit| fit.to_search()).map_err(refuse)?;
        if config.loss.needs_transition() || space.losses.iter().any(LossConfig::needs_transition) {
            // Watched by no bar: the search that follows has one.
            fit.estimate_transition(&mut Watch::new(stop, None)).map_err(refuse)?;
        }
        fit.decide_penalty(stop).map_err(refuse)?;
        let candidates = space.candidates(fit.config()).map_err(refuse)?;
        let mut watch = Watch::new(stop, tell);
        let searched = search(&search_config, &candidates, &fit.rows().train, Vec::new(), &mut watch);
        watch.check()?;
        Ok((candidates, searched.map_err(refuse)?.trials))
    })?;
    let (best, choice) = choose(&candidates, &trials, criterion).map_err(refuse)?;
    let found = PyDict::new(py);
    let rows = PyList::empty(py);
    for (standing, candidate) in standings(&settings(&candidates), &trials).iter().zip(&candidates) {
        let row = values(py, &candidate.config)?;
        row.set_item("setting", &standing.setting)?;
        row.set_item("folds", standing.folds)?;
        row.set_item("score", standing.verdict.and_then(|verdict| verdict.by(criterion)))?;
        rows.append(row)?;
    }
    found.set_item("best", values(py, &best.config)?)?;
    found.set_item("setting", choice.setting)?;
    found.set_item("standings", rows)?;
    Ok(found)
}

/// The settings that a search varies; nothing where the preset's own value stands.
fn values<'py>(py: Python<'py>, config: &FitConfig) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    values.set_item("preset", config.preset.name())?;
    values.set_item("lam", config.lambda)?;
    values.set_item("alpha", config.alpha)?;
    values.set_item("temperature", config.temperature)?;
    values.set_item("start", config.start)?;
    values.set_item("loss", config.loss.to_string())?;
    values.set_item("learning_rate", config.learning_rate)?;
    values.set_item("l2", config.l2())?;
    values.set_item("epochs", config.epochs())?;
    Ok(values)
}
