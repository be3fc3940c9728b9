//! What a training saw of the rows that were handed to it.

use cmrm::Matrix;
use cmrm::audit::{Audit, MarginOptions, limit_by_class, rank_confidences, rank_margins};
use cmrm::scores::strongest_other;
use cmrm_fit::{FitOutcome, Loaded};
use cmrm_train::Stop;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::audit::columns;

/// What training saw of every row: the audit of the margins, weights, which rows were trained on, and what models say of them
/// that have not seen them, where there are such models.
pub struct RowViews {
    audit: Audit,
    weight: Vec<f32>,
    trained_on: Vec<bool>,
    /// `[rows, classes]`.
    out_of_sample: Option<Vec<f32>>,
    /// How likely each label is wrong, where the noise was estimated.
    wrong_probability: Option<Vec<f32>>,
    classes: usize,
}

impl RowViews {
    /// The record of the rows trained on, or what models say of them that have not seen them; of the others what the model says
    /// of them now. `labels` are those of all rows.
    pub fn of(loaded: &Loaded, labels: &[u32], outcome: &FitOutcome, stop: &Stop) -> Result<Self, cmrm_fit::Error> {
        let train = &outcome.rows.train.data;
        let (rows, classes) = (loaded.train.features.rows(), train.classes.len());
        let (mut margins, mut rivals) = (vec![0.0; rows], vec![0; rows]);
        let (mut weight, mut trained_on) = (vec![1.0; rows], vec![false; rows]);
        let envelope = outcome.envelope_arm()?;
        let record = &outcome.training_rows;
        let mut wrong_probability = (!record.wrong_probability.is_empty()).then(|| vec![0.0; rows]);
        let mut out_of_sample = envelope.out_of_sample.as_ref().map(|_| vec![0.0; rows * classes]);
        let of_row = |row: usize| row * classes..(row + 1) * classes;
        for (at, &row) in train.rows.iter().enumerate() {
            let row = row as usize;
            trained_on[row] = true;
            (margins[row], rivals[row]) = (record.margin[at], record.rival[at]);
            weight[row] = record.weight[at];
            if let (Some(all), Some(&wrong)) = (&mut wrong_probability, record.wrong_probability.get(at)) {
                all[row] = wrong;
            }
            if let (Some(all), Some(judged)) = (&mut out_of_sample, &envelope.out_of_sample) {
                all[of_row(row)].copy_from_slice(&judged[of_row(at)]);
            }
        }
        let others: Vec<usize> = (0..rows).filter(|&row| !trained_on[row]).collect();
        if !others.is_empty() {
            let input = loaded.train.gather(&others)?;
            let rows = outcome.rows.preprocess.transform(&input.features)?;
            let said = envelope.model.observed_probabilities(rows.rows.view()?, stop)?;
            if let (Some(all), Some(noise)) = (&mut wrong_probability, &outcome.noise) {
                let of_others: Vec<u32> = others.iter().map(|&row| labels[row]).collect();
                let told = outcome.observed_probabilities(outcome.telling_arm()?, rows.rows.view()?, stop)?;
                let wrong = noise.wrong_probabilities(Matrix::new(&told, classes)?, &of_others)?;
                others.iter().zip(wrong).for_each(|(&row, wrong)| all[row] = wrong);
            }
            for (row, said) in others.into_iter().zip(said.chunks_exact(classes)) {
                (margins[row], rivals[row]) = margin(said, labels[row] as usize);
                // Rows that were not trained on are as new to the model as those trained on are to those that judge them.
                if let Some(all) = &mut out_of_sample {
                    all[of_row(row)].copy_from_slice(said);
                }
            }
        }
        let options = MarginOptions::default();
        let mut audit = match &out_of_sample {
            None => rank_margins(&margins, &rivals, labels, classes, &options)?,
            Some(all) => {
                let of_label = |(said, label): (&[f32], &u32)| said[*label as usize];
                let confidences: Vec<f32> = all.chunks_exact(classes).zip(labels).map(of_label).collect();
                rank_confidences(&confidences, &margins, &rivals, labels, classes, &options)?
            }
        };
        if let Some(wrong) = &wrong_probability {
            // As in a run, which has the rows trained on and no others.
            let of_trained = |row: usize| if trained_on[row] { wrong[row] } else { 0.0 };
            let expected: Vec<f32> = (0..rows).map(of_trained).collect();
            let (seen, others): (Vec<usize>, Vec<usize>) =
                audit.issues().map(|row| row as usize).partition(|&row| trained_on[row]);
            let mut flags = vec![false; rows];
            for row in limit_by_class(&seen, labels, &expected, classes)?.into_iter().chain(others) {
                flags[row] = true;
            }
            audit.flag(labels, flags)?;
        }
        Ok(RowViews { audit, weight, trained_on, out_of_sample, wrong_probability, classes })
    }

    /// Takes all flags back, of the rows with these labels.
    pub fn flag_none(&mut self, labels: &[u32]) -> Result<(), cmrm_fit::Error> {
        Ok(self.audit.flag_none(labels)?)
    }

    /// The columns by name.
    pub fn columns<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = columns(py, self.audit)?;
        dict.set_item("weight", self.weight.into_pyarray(py))?;
        let rows = self.trained_on.len();
        dict.set_item("wrong_probability", self.wrong_probability.map(|wrong| wrong.into_pyarray(py)))?;
        dict.set_item("trained_on", self.trained_on.into_pyarray(py))?;
        let out_of_sample = self.out_of_sample.map(|all| all.into_pyarray(py).reshape([rows, self.classes]));
        dict.set_item("out_of_sample", out_of_sample.transpose()?)?;
        Ok(dict)
    }
}

/// Probability of the label minus that of the strongest other class, and which that is.
fn margin(probabilities: &[f32], label: usize) -> (f32, u32) {
    let rival = strongest_other(probabilities, label).unwrap_or(label);
    (probabilities[label] - probabilities[rival], rival as u32)
}
