//! What a model predicts for rows.

use std::sync::Arc;

use cmrm::Matrix;
use cmrm::metric::predicted_classes;

use crate::error::Result;

/// Classes and probabilities of rows, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    classes: Arc<[String]>,
    labels: Vec<u32>,
    probabilities: Vec<f32>,
}

impl Predictions {
    /// Of probabilities, `[rows, classes]`.
    pub(super) fn new(classes: Arc<[String]>, probabilities: Vec<f32>) -> Result<Self> {
        let labels = predicted_classes(Matrix::new(&probabilities, classes.len())?)?;
        Ok(Predictions { classes, labels, probabilities })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The likeliest class of each row, by index; of equals the first.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The likeliest class of each row, by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|&label| self.classes[label as usize].as_str())
    }

    /// Probabilities of the classes, row after row: of the true ones where the noise in the labels was estimated and is undone.
    pub fn probabilities(&self) -> &[f32] {
        &self.probabilities
    }

    /// The same as a matrix.
    pub fn matrix(&self) -> Result<Matrix<'_, f32>> {
        Ok(Matrix::new(&self.probabilities, self.classes.len())?)
    }

    /// The probabilities alone.
    pub fn into_probabilities(self) -> Vec<f32> {
        self.probabilities
    }

    /// Probability of a row's likeliest class.
    pub fn confidence(&self, row: usize) -> f64 {
        self.top_two(row).0
    }

    /// That probability minus the one of the strongest other class.
    pub fn margin(&self, row: usize) -> f64 {
        let (first, second) = self.top_two(row);
        first - second
    }

    fn top_two(&self, row: usize) -> (f64, f64) {
        let (mut first, mut second) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        for &p in &self.probabilities[row * self.classes.len()..][..self.classes.len()] {
            if p > first {
                (first, second) = (p, first);
            } else if p > second {
                second = p;
            }
        }
        (f64::from(first), f64::from(second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equals_the_first_is_likeliest_and_the_margin_is_to_the_next() {
        let classes: Arc<[String]> = ["a", "b", "c"].map(str::to_owned).to_vec().into();
        let said = Predictions::new(classes, vec![0.25, 0.5, 0.25, 0.375, 0.25, 0.375]).unwrap();
        assert_eq!((said.len(), said.labels()), (2, &[1, 0][..]));
        assert_eq!(said.names().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!([0, 1].map(|row| said.confidence(row)), [0.5, 0.375]);
        assert_eq!([0, 1].map(|row| said.margin(row)), [0.25, 0.0]);
    }
}
