//! The model that is served: the only place that knows what a run is made of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use cmrm::OwnedRows;
use cmrm::conformal::SetPredictor;
use cmrm_data::preprocess::{Note, Transformed};
use cmrm_data::read::{Expected, ReadOptions, Usual};
use cmrm_data::{Column, LabelOptions, LabelledRows, MissingLabels};
use cmrm_run::{JudgedLabel, Model, Predictions, SetOptions};
use cmrm_train::Stop;
use serde_json::json;

use crate::asked::{self, Form};
use crate::query::Query;
use crate::refusal::Refusal;

/// Most coverages whose thresholds are kept.
const KEPT_COVERAGES: usize = 64;

/// What is said of every row unless a request says otherwise, and how rows are read.
#[derive(Debug, Clone, Default)]
pub struct ServedOptions {
    /// The column of given labels, where rows have it.
    pub label: Option<String>,
    /// Whether cells that are not of their column's kind are refused, however the model fills in missing ones.
    pub strict: bool,
    /// Prediction sets with this coverage.
    pub coverage: Option<f64>,
    /// The probability of every class.
    pub probabilities: bool,
}

/// A run's model, ready to be asked.
pub struct Served {
    model: Model,
    reading: ReadOptions,
    usual: Query,
    sets: Mutex<HashMap<u64, Arc<SetPredictor>>>,
}

/// Rows of a request as the model takes them.
pub(crate) struct Rows {
    pub features: OwnedRows<f32>,
    /// The class of each row's given label, where there is one; nothing if the request has no labels.
    pub labels: Option<Vec<Option<u32>>>,
    pub form: Form,
    /// Cells that were filled in, and names that the training rows do not have.
    pub filled: u64,
    pub unknown: u64,
}

impl Served {
    /// Serves the model's chosen arm. Prediction sets that it is to give are calibrated now.
    pub fn new(model: Model, options: ServedOptions) -> Result<Self, cmrm_run::Error> {
        let ServedOptions { label, strict, coverage, probabilities } = options;
        let expected = model.preprocess().expected();
        // Keys have names: a column that the run was given by its place is none of them.
        let is_place = |name: &String| expected.unnamed || name.starts_with('-') && name.parse::<i64>().is_ok();
        let label = label.filter(|name| !is_place(name));
        let reading = ReadOptions { expected: Some(expected), strict, ..ReadOptions::default() };
        let usual = Query { coverage, probabilities, label, label_is_asked: false };
        let served = Served { model, reading, usual, sets: Mutex::default() };
        if let Some(coverage) = coverage {
            served.calibrate(coverage)?;
        }
        Ok(served)
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        self.model.classes()
    }

    /// What a request asks for that says nothing of it.
    pub(crate) fn usual(&self) -> &Query {
        &self.usual
    }

    /// What there is to know before one asks.
    pub(crate) fn description(&self) -> serde_json::Value {
        let Expected { columns, unnamed, width, .. } = self.model.preprocess().expected();
        let info = self.model.info();
        let column = |column: &cmrm_data::read::ExpectedColumn| json!({ "name": column.name, "kind": column.kind, "required": column.needed, "may_be_missing": column.tolerant });
        let columns: Option<Vec<_>> = (!unnamed).then(|| columns.iter().map(column).collect());
        json!({
            "schema": "cmrm/model/1", "version": env!("CARGO_PKG_VERSION"), "trained_by": info.map(|info| &info.version),
            "arm": self.model.chosen().name(), "classes": self.classes(), "columns": columns, "width": unnamed.then_some(width),
            "label": self.usual.label, "fingerprint": info.map(|info| &info.fingerprint),
        })
    }

    /// The rows of a body. `most` is how many there may be.
    pub(crate) fn read(&self, body: Bytes, lines: bool, query: &Query, most: usize) -> Result<Rows, Refusal> {
        let usual = Usual { label: query.label.clone(), id: None };
        let asked = asked::read(body, lines, &self.reading, &usual, most)?;
        let rows = asked.features.rows();
        if let (Some(name), true, None) = (&query.label, query.label_is_asked, &asked.labels) {
            let words = format!("label={name}: no row of the request has a label of that name");
            return Err(Refusal::new(400, words));
        }
        let labels = asked.labels.map(|column| self.encoded(&column, rows)).transpose()?;
        let transformed = self.model.preprocess().transform(&asked.features);
        let Transformed { rows: features, notes } = transformed.map_err(|error| error.in_file(asked::NAME))?;
        let (mut filled, mut unknown) = (0, 0);
        for note in notes {
            match note {
                Note::Imputed { cells, .. } | Note::Unreadable { cells, .. } => filled += cells,
                Note::UnknownCategories { cells, .. } => unknown += cells,
                _ => {}
            }
        }
        Ok(Rows { features, labels, form: asked.form, filled, unknown })
    }

    fn encoded(&self, labels: &Column, rows: usize) -> Result<Vec<Option<u32>>, Refusal> {
        let classes = Some(self.classes().to_vec());
        let options = LabelOptions { missing: MissingLabels::HoldOut, classes, ..LabelOptions::default() };
        let known = LabelledRows::encode(labels, 0, &options).map_err(|error| error.in_file(asked::NAME))?;
        let mut classes = vec![None; rows];
        for (&row, &class) in known.rows.iter().zip(&known.labels.indices) {
            classes[row] = Some(class);
        }
        Ok(classes)
    }

    /// What the model says of rows.
    pub(crate) fn predict(&self, rows: &OwnedRows<f32>) -> Result<Predictions, cmrm_run::Error> {
        self.model.predict_rows(self.model.chosen(), rows.view()?, &Stop::default())
    }

    /// What it says of the labels that some rows have.
    pub(crate) fn judge(&self, rows: &OwnedRows<f32>, labels: &[u32]) -> Result<Vec<JudgedLabel>, cmrm_run::Error> {
        self.model.judge_rows(self.model.chosen(), rows.view()?, labels, &Stop::default())
    }

    /// Whether prediction sets with that coverage need no calibration any more.
    pub(crate) fn has_sets(&self, coverage: f64) -> bool {
        self.kept().contains_key(&coverage.to_bits())
    }

    /// Who makes prediction sets with that coverage.
    pub(crate) fn sets(&self, coverage: f64) -> Result<Arc<SetPredictor>, Refusal> {
        let options = SetOptions { coverage, ..SetOptions::default() };
        options.conformal().map_err(|error| Refusal::new(400, error))?;
        if let Ok(None) = self.model.chosen().calibration() {
            return Err(Refusal::new(400, "the model gives no prediction sets: its run kept no calibration rows"));
        }
        self.calibrate(coverage).map_err(|error| Refusal::failed("the prediction sets cannot be calibrated", error))
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<u64, Arc<SetPredictor>>> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calibrate(&self, coverage: f64) -> Result<Arc<SetPredictor>, cmrm_run::Error> {
        if let Some(sets) = self.kept().get(&coverage.to_bits()) {
            return Ok(sets.clone());
        }
        let options = SetOptions { coverage, ..SetOptions::default() };
        let sets = Arc::new(self.model.set_predictor(self.model.chosen(), &options)?);
        let mut kept = self.kept();
        if kept.len() < KEPT_COVERAGES {
            kept.insert(coverage.to_bits(), sets.clone());
        }
        Ok(sets)
    }
}
