//! Judges every candidate by what all candidates together believe about the observed labels.

use serde::{Deserialize, Serialize};

use super::Criterion;
use super::noise_matrix::worth;
use crate::audit::{AuditConfig, rank};
use crate::error::{Error, Result, check_labels, check_length, check_row_weights};
use crate::matrix::Matrix;

/// All candidates together: their mean probabilities, and what these say about the noise in the labels.
#[derive(Debug, Clone)]
pub struct Ensemble<'a> {
    labels: &'a [u32],
    /// What each row counts; one if absent.
    row_weights: Option<&'a [f32]>,
    classes: usize,
    /// How far the first class leads the second, row by row.
    lead: Vec<f32>,
    /// Belief about the clean label given features and observed label, `classes` numbers a row.
    belief: Vec<f32>,
    /// Value of a prediction by observed label, if the noise matrix can be inverted.
    worth: Option<Vec<f64>>,
    noise_rate: f64,
}

/// One candidate's numbers. All are estimates from observed labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// See [`Criterion::Observed`].
    pub observed: f64,
    /// See [`Criterion::Weighted`].
    pub weighted: f64,
    /// See [`Criterion::Corrected`]; accuracy on observed labels where the noise matrix has no inverse.
    pub corrected: f64,
    /// See [`Criterion::Posterior`].
    pub posterior: f64,
    /// See [`Criterion::Agreement`]; `None` with a single fold.
    pub agreement: Option<f64>,
}

impl Verdict {
    /// The number by a criterion.
    pub fn by(&self, criterion: Criterion) -> Option<f64> {
        match criterion {
            Criterion::Observed => Some(self.observed),
            Criterion::Weighted => Some(self.weighted),
            Criterion::Corrected => Some(self.corrected),
            Criterion::Posterior => Some(self.posterior),
            Criterion::Agreement => self.agreement,
        }
    }
}

impl<'a> Ensemble<'a> {
    /// From every candidate's probabilities for the same held-out rows, and the rows' observed labels.
    pub fn new(candidates: &[Matrix<'_, f32>], labels: &'a [u32]) -> Result<Self> {
        let first = candidates.first().ok_or(Error::Empty { what: "the list of candidates" })?;
        let classes = first.columns();
        check_labels(labels, classes)?;
        let mut mean = vec![0.0; labels.len() * classes];
        let share = 1.0 / candidates.len() as f32;
        for candidate in candidates {
            check_length("classes of a candidate", classes, candidate.columns())?;
            check_length("rows of a candidate's probabilities", labels.len(), candidate.rows())?;
            mean.iter_mut().zip(candidate.values()).for_each(|(mean, p)| *mean += share * p);
        }
        // Rounding may carry a sum past one, which the audit would refuse.
        mean.chunks_exact_mut(classes).for_each(normalise);
        let audit = rank(Matrix::new(&mean, classes)?, labels, &AuditConfig::default().validate()?)?;
        let noise = audit.noise.ok_or(Error::Empty { what: "the noise estimate" })?;
        let matrix = noise.noise_matrix();
        let lead = mean.chunks_exact(classes).map(lead).collect();
        for (row, &label) in mean.chunks_exact_mut(classes).zip(labels) {
            for (class, p) in row.iter_mut().enumerate() {
                *p *= matrix[label as usize * classes + class] as f32;
            }
            normalise(row);
        }
        let (worth, noise_rate) = (worth(&matrix, classes), noise.rate());
        Ok(Ensemble { labels, row_weights: None, classes, lead, belief: mean, worth, noise_rate })
    }

    /// Counts each row by its weight in every verdict. The noise is still estimated from all rows alike.
    pub fn with_row_weights(self, row_weights: Option<&'a [f32]>) -> Result<Self> {
        check_row_weights(row_weights, self.labels.len())?;
        Ok(Ensemble { row_weights, ..self })
    }

    /// Estimated share of wrong labels.
    pub fn noise_rate(&self) -> f64 {
        self.noise_rate
    }

    /// Judges the predictions of one candidate.
    pub fn judge(&self, predicted: &[u32]) -> Result<Verdict> {
        check_length("predictions for the held-out rows", self.labels.len(), predicted.len())?;
        check_labels(predicted, self.classes)?;
        let (mut right, mut weighted, mut weight, mut corrected, mut posterior) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut rows = 0.0;
        for (row, (&predicted, &label)) in predicted.iter().zip(self.labels).enumerate() {
            let counts = self.row_weights.map_or(1.0, |weights| f64::from(weights[row]));
            let hit = f64::from(u8::from(predicted == label));
            let lead = f64::from(self.lead[row]);
            rows += counts;
            right += counts * hit;
            weighted += counts * lead * hit;
            weight += counts * lead;
            let value = |worth: &Vec<f64>| worth[label as usize * self.classes + predicted as usize];
            corrected += counts * self.worth.as_ref().map_or(hit, value);
            posterior += counts * f64::from(self.belief[row * self.classes + predicted as usize]);
        }
        let weighted = if weight > 0.0 { weighted / weight } else { right / rows };
        Ok(Verdict {
            observed: right / rows,
            weighted,
            corrected: corrected / rows,
            posterior: posterior / rows,
            agreement: None,
        })
    }
}

/// Divides by the sum; a row of zeros stays.
fn normalise(row: &mut [f32]) {
    let sum: f32 = row.iter().sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|p| *p = (*p / sum).min(1.0));
    }
}

fn lead(row: &[f32]) -> f32 {
    let (mut first, mut second) = (0.0f32, 0.0f32);
    for &p in row {
        if p > first {
            (first, second) = (p, first);
        } else if p > second {
            second = p;
        }
    }
    first - second
}
