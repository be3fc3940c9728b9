//! Training rows with their observed labels, checked before training, and their weights.

use cmrm::error::{check_labels, check_length, check_row_weights};
use cmrm::{Error as MethodError, Matrix, Scalar};

use super::config::ClassWeights;
use crate::error::Result;

/// Rows of features with observed labels.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a, T> {
    /// Features.
    pub x: Matrix<'a, T>,
    /// Observed labels.
    pub labels: &'a [u32],
    /// Weights of the rows; all one if absent.
    pub row_weights: Option<&'a [T]>,
}

impl<'a, T: Scalar> Examples<'a, T> {
    /// Rows without weights.
    pub fn new(x: Matrix<'a, T>, labels: &'a [u32]) -> Self {
        Examples { x, labels, row_weights: None }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Refuses empty data, shapes that disagree, labels out of range, features that are not finite.
    pub fn check(&self, classes: usize) -> Result<()> {
        if self.rows() == 0 {
            return Err(MethodError::Empty { what: "the data" }.into());
        }
        check_length("labels against rows of features", self.rows(), self.labels.len())?;
        check_labels(self.labels, classes)?;
        check_row_weights(self.row_weights, self.rows())?;
        if let Some(at) = first_non_finite(self.x.values()) {
            let (row, column) = (at / self.x.columns(), at % self.x.columns());
            return Err(MethodError::non_finite("feature", row, column, self.x.values()[at].to_f64()).into());
        }
        Ok(())
    }

    /// Observed count of every class.
    pub fn class_counts(&self, classes: usize) -> Vec<f64> {
        let mut counts = vec![0.0; classes];
        for &label in self.labels {
            counts[label as usize] += 1.0;
        }
        counts
    }

    /// Row weights times class weights, or `None` if all are one.
    pub fn combined_weights(&self, class_weights: &ClassWeights, classes: usize) -> Result<Option<Vec<T>>> {
        let per_class = match class_weights {
            ClassWeights::Equal => return Ok(self.row_weights.map(<[T]>::to_vec)),
            ClassWeights::Balanced => {
                let counts = self.class_counts(classes);
                // A class without rows weighs nothing anyway.
                counts.iter().map(|&n| self.rows() as f64 / (classes as f64 * n.max(1.0))).collect()
            }
            ClassWeights::Given(weights) => {
                check_length("class weights against classes", classes, weights.len())?;
                weights.clone()
            }
        };
        let weights: Vec<T> = self
            .labels
            .iter()
            .enumerate()
            .map(|(i, &y)| T::from_f64(per_class[y as usize]) * self.row_weights.map_or(T::ONE, |w| w[i]))
            .collect();
        check_row_weights(Some(&weights), self.rows())?;
        Ok(Some(weights))
    }
}

/// Where the first number stands that is not finite. Whole pieces are tested before single numbers: that vectorises.
fn first_non_finite<T: Scalar>(values: &[T]) -> Option<usize> {
    const PIECE: usize = 1024;
    let is_bad = |piece: &&[T]| piece.iter().fold(false, |bad, v| bad | !v.is_finite());
    let (p, piece) = values.chunks(PIECE).enumerate().find(|(_, piece)| is_bad(piece))?;
    piece.iter().position(|v| !v.is_finite()).map(|at| p * PIECE + at)
}
