//! What a model says of the labels of the training rows.

use cmrm::Matrix;
use cmrm::theory::{CleanLabelCheck, clean_margin_check, label_margin};

use crate::error::Result;

/// As much of a model's probabilities as a report needs: a number or three for each row, gathered some rows at a time, so
/// that rows times classes need not be in memory.
#[derive(Debug, Clone)]
pub struct Confidences<'a> {
    labels: &'a [u32],
    /// Probability of the observed label, for each row so far.
    of_label: Vec<f32>,
    clean: Option<CleanMargins<'a>>,
}

/// Margins by both labels of a row.
#[derive(Debug, Clone)]
struct CleanMargins<'a> {
    labels: &'a [u32],
    of_observed: Vec<f64>,
    of_clean: Vec<f64>,
}

impl<'a> Confidences<'a> {
    /// Of no row yet; `clean` are the labels before any noise, where they are known.
    pub fn new(labels: &'a [u32], clean: Option<&'a [u32]>) -> Self {
        let clean = clean.map(|labels| CleanMargins { labels, of_observed: Vec::new(), of_clean: Vec::new() });
        Confidences { labels, of_label: Vec::with_capacity(labels.len()), clean }
    }

    /// Of all rows at once.
    pub fn of(probabilities: Matrix<'_, f32>, labels: &'a [u32], clean: Option<&'a [u32]>) -> Self {
        let mut confidences = Confidences::new(labels, clean);
        confidences.add(probabilities);
        confidences
    }

    /// Takes the probabilities of the next rows.
    pub fn add(&mut self, probabilities: Matrix<'_, f32>) {
        let first = self.of_label.len();
        for (row, at) in probabilities.iter_rows().zip(first..) {
            let label = self.labels[at] as usize;
            self.of_label.push(row[label]);
            if let Some(clean) = &mut self.clean {
                clean.of_observed.push(label_margin(row, label));
                clean.of_clean.push(label_margin(row, clean.labels[at] as usize));
            }
        }
    }

    /// Probability of the observed label of each row.
    pub fn of_label(&self) -> &[f32] {
        &self.of_label
    }

    /// What the noise did to the filter, where the clean labels are known.
    pub(crate) fn check(&self, alpha: f64, tau: f64) -> Result<Option<CleanLabelCheck>> {
        let Some(clean) = &self.clean else { return Ok(None) };
        let wrong = self.labels.iter().zip(clean.labels).filter(|(a, b)| a != b).count();
        Ok(Some(clean_margin_check(&clean.of_observed, &clean.of_clean, wrong, alpha, Some(tau))?))
    }
}
