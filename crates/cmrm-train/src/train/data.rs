//! Training rows with their observed labels, checked before training, and their weights.

use cmrm::error::{check_labels, check_length, check_row_weights};
use cmrm::{Error as MethodError, Rows, Scalar, SparseMatrix};

use super::config::ClassWeights;
use crate::error::Result;

/// Rows of features with observed labels.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a, T> {
    /// Features.
    pub x: Rows<'a, T>,
    /// Observed labels.
    pub labels: &'a [u32],
    /// Weights of the rows; all one if absent.
    pub row_weights: Option<&'a [T]>,
}

impl<'a, T: Scalar> Examples<'a, T> {
    /// Rows without weights.
    pub fn new(x: impl Into<Rows<'a, T>>, labels: &'a [u32]) -> Self {
        Examples { x: x.into(), labels, row_weights: None }
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
        check_finite(self.x)
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

/// Refuses features that are not finite, by row and column.
pub(crate) fn check_finite<T: Scalar>(x: Rows<'_, T>) -> Result<()> {
    let Some(at) = first_non_finite(x.values()) else { return Ok(()) };
    let (row, column) = match x {
        Rows::Dense(matrix) => (at / matrix.columns(), at % matrix.columns()),
        Rows::Sparse(matrix) => place_of(matrix, at),
    };
    Err(MethodError::non_finite("feature", row, column, x.values()[at].to_f64()).into())
}

/// Row and column of the number at `at` among those that are kept.
fn place_of<T: Copy>(matrix: SparseMatrix<'_, T>, at: usize) -> (usize, usize) {
    let mut before = 0;
    for (row, kept) in matrix.iter_rows().enumerate() {
        if let Some(&column) = kept.columns.get(at - before) {
            return (row, column as usize);
        }
        before += kept.columns.len();
    }
    // There are as many places as numbers.
    (matrix.rows(), 0)
}

/// Where the first number stands that is not finite. Whole pieces are tested before single numbers: that vectorises.
fn first_non_finite<T: Scalar>(values: &[T]) -> Option<usize> {
    const PIECE: usize = 1024;
    let is_bad = |piece: &&[T]| piece.iter().fold(false, |bad, v| bad | !v.is_finite());
    let (p, piece) = values.chunks(PIECE).enumerate().find(|(_, piece)| is_bad(piece))?;
    piece.iter().position(|v| !v.is_finite()).map(|at| p * PIECE + at)
}
