//! What a model of the noise says of rows.

use super::estimate::{NoiseModel, PlausibleNoise, spread};
use super::likelihood::{LEAST, clean_row};
use crate::conformal::check_probabilities;
use crate::error::{Result, check_labels, check_length};
use crate::matrix::Matrix;
use crate::scores::most_likely;

/// Between these exponents [`NoiseModel::as_sure_as`] looks, so often.
const SHARPNESS: [f64; 2] = [0.2, 4.0];
const HALVINGS: usize = 30;

impl NoiseModel {
    /// Least probability of a true class before probabilities are sharpened.
    pub const LEAST: f64 = LEAST;

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

    /// The same noise, for other models of the same rows. What they say of true classes becomes as sure, on average, as `clean` says that
    /// they are right: their own probabilities cannot tell, if they have seen the labels. `clean` are probabilities of true classes by
    /// models that have not, such as [`NoiseModel::clean_probabilities`].
    pub fn as_sure_as(&self, observed: Matrix<'_, f32>, clean: Matrix<'_, f32>) -> Result<Self> {
        let classes = observed.columns();
        check_length("classes of the noise model", self.transition.classes(), classes)?;
        check_length("classes of both models", clean.columns(), classes)?;
        check_length("rows of both models", clean.rows(), observed.rows())?;
        check_probabilities(observed)?;
        check_probabilities(clean)?;
        let rows = spread(observed.rows(), classes);
        let mut said = vec![0.0; classes];
        let mut sum = |sharpness: f64, of: &dyn Fn(usize, &[f64]) -> f64| {
            let one = |&row: &usize| {
                clean_row(&self.transition, sharpness, observed.row(row), &mut said);
                of(row, &said)
            };
            rows.iter().map(one).sum::<f64>()
        };
        let right = sum(1.0, &|row, said| f64::from(clean.row(row)[most_likely(said) as usize]));
        let [mut low, mut high] = SHARPNESS;
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            let sure = sum(middle, &|_, said| said.iter().copied().fold(0.0, f64::max));
            if sure < right { low = middle } else { high = middle }
        }
        Ok(NoiseModel { sharpness: (low * high).sqrt(), ..self.clone() })
    }

    /// The probability that each row's label is wrong.
    pub fn wrong_probabilities(&self, observed: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        let posteriors = self.posteriors(observed, labels)?;
        let rows = posteriors.chunks_exact(observed.columns()).zip(labels);
        Ok(rows.map(|(row, &label)| 1.0 - row[label as usize]).collect())
    }
}

impl PlausibleNoise {
    /// [`NoiseModel::posteriors`], averaged over the plausible models.
    pub fn posteriors(&self, observed: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        let mut mean = vec![0.0; observed.values().len()];
        for model in &self.models {
            let one = model.posteriors(observed, labels)?;
            mean.iter_mut().zip(one).for_each(|(mean, p)| *mean += p / self.models.len() as f32);
        }
        Ok(mean)
    }
}
