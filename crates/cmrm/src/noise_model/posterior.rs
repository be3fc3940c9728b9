//! What a model of the noise says of rows.

use super::estimate::NoiseModel;
use super::likelihood::clean_row;
use crate::conformal::check_probabilities;
use crate::error::{Result, check_labels, check_length};
use crate::matrix::Matrix;

impl NoiseModel {
    /// Probabilities of the true classes, from those of observed ones, `[rows, classes]`. Between two classes the order may change
    /// only where the pairs have rates of their own.
    pub fn clean_probabilities(&self, observed: Matrix<'_, f32>) -> Result<Vec<f32>> {
        check_length("classes of the noise model", self.transition.classes(), observed.columns())?;
        check_probabilities(observed)?;
        let mut clean = vec![0.0; observed.columns()];
        let mut out = Vec::with_capacity(observed.values().len());
        for row in observed.iter_rows() {
            clean_row(&self.transition, self.sharpness, row, &mut clean);
            out.extend(clean.iter().map(|&p| p as f32));
        }
        Ok(out)
    }

    /// How likely each class is the true one of a row that was observed as its label, `[rows, classes]`:
    /// `s[k] T[k][label]`, normalised. `observed` are probabilities of models that have not seen the row.
    pub fn posteriors(&self, observed: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        check_length("classes of the noise model", self.transition.classes(), observed.columns())?;
        check_probabilities(observed)?;
        check_length("labels against rows of probabilities", observed.rows(), labels.len())?;
        check_labels(labels, observed.columns())?;
        let mut clean = vec![0.0; observed.columns()];
        let mut out = Vec::with_capacity(observed.values().len());
        for (row, &label) in observed.iter_rows().zip(labels) {
            clean_row(&self.transition, self.sharpness, row, &mut clean);
            clean.iter_mut().enumerate().for_each(|(k, p)| *p *= self.transition.probability(k, label as usize));
            // Not zero: every class has some probability, and the label's own class is mostly observed as it is.
            let sum: f64 = clean.iter().sum();
            out.extend(clean.iter().map(|p| (p / sum) as f32));
        }
        Ok(out)
    }

    /// The probability that each row's label is wrong.
    pub fn wrong_probabilities(&self, observed: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        Ok(wrong_probabilities(&self.posteriors(observed, labels)?, labels, observed.columns()))
    }
}

/// The same from [`NoiseModel::posteriors`] of these labels.
pub fn wrong_probabilities(posteriors: &[f32], labels: &[u32], classes: usize) -> Vec<f32> {
    posteriors.chunks_exact(classes).zip(labels).map(|(row, &label)| 1.0 - row[label as usize]).collect()
}
