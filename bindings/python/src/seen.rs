//! What a training saw of the rows that were handed to it.

use cmrm::Matrix;
use cmrm::audit::{Audit, MarginOptions, rank_margins};
use cmrm_fit::{Loaded, Prepared, TrainingParts};
use cmrm_train::Stop;
use cmrm_train::train::Trained;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::audit::columns;

/// What training saw of every row: the audit of the margins, weights, and which rows were trained on.
pub struct Seen {
    audit: Audit,
    weight: Vec<f32>,
    trained_on: Vec<bool>,
}

impl Seen {
    /// The record of the rows trained on; of the others what the model says of them now. `labels` are those of all rows.
    pub fn of(
        loaded: &Loaded,
        labels: &[u32],
        prepared: &Prepared,
        parts: &TrainingParts,
        trained: &[Trained<f32>],
        stop: &Stop,
    ) -> Result<Self, cmrm_fit::Error> {
        let (rows, classes) = (loaded.train.features.rows(), prepared.data.classes.len());
        let (mut margins, mut rivals) = (vec![0.0; rows], vec![0; rows]);
        let (mut weight, mut trained_on) = (vec![1.0; rows], vec![false; rows]);
        let Some(robust) = trained.last() else { return Err(cmrm_fit::Error::Refused("no arm was trained".into())) };
        let record = &robust.record;
        for (at, &row) in parts.train.rows.iter().enumerate() {
            let row = row as usize;
            trained_on[row] = true;
            (margins[row], rivals[row]) = (record.last_margin[at], record.rival[at]);
            weight[row] = record.last_weight[at];
        }
        let others: Vec<usize> = (0..rows).filter(|&row| !trained_on[row]).collect();
        if !others.is_empty() {
            let input = loaded.train.gather(&others)?;
            let rows = prepared.preprocess.transform(&input.features)?;
            let said = robust.model.probabilities_unless(Matrix::new(&rows.values, rows.width)?, stop)?;
            for (row, said) in others.into_iter().zip(said.chunks_exact(classes)) {
                (margins[row], rivals[row]) = margin(said, labels[row] as usize);
            }
        }
        let audit = rank_margins(&margins, &rivals, labels, classes, &MarginOptions::default())?;
        Ok(Seen { audit, weight, trained_on })
    }

    /// The columns by name.
    pub fn columns<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = columns(py, self.audit)?;
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
