//! What a training saw of the rows that were handed to it.

use cmrm::Matrix;
use cmrm::audit::{MarginOptions, rank_margins};
use cmrm_data::LabelOptions;
use cmrm_fit::{Loaded, Prepared, TrainingParts};
use cmrm_train::train::Trained;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::audit::columns;
use crate::errors::refuse;

/// What training saw of every row: margins, strongest other classes, weights.
pub struct Seen {
    margin: Vec<f32>,
    rival: Vec<u32>,
    weight: Vec<f32>,
    trained_on: Vec<bool>,
}

impl Seen {
    /// The record of the rows trained on; of the others what the model says of them now.
    pub fn of(
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

    /// The audit of the margins, with weights and which rows were trained on.
    pub fn columns<'py>(self, py: Python<'py>, labels: &[u32], classes: usize) -> PyResult<Bound<'py, PyDict>> {
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
