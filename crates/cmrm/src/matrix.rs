//! A borrowed row-major matrix: the shape that logits, probabilities and features share.

use crate::error::{Error, Result};

/// Row-major view with at least one column. Cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matrix<'a, T> {
    values: &'a [T],
    columns: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Views `values` as rows of `columns` numbers each.
    pub fn new(values: &'a [T], columns: usize) -> Result<Self> {
        if columns == 0 {
            return Err(Error::Parameter { name: "columns", value: 0.0, expected: "at least one column" });
        }
        let left_over = values.len() % columns;
        if left_over != 0 {
            return Err(Error::Shape {
                what: "numbers in the last row of a matrix",
                expected: columns,
                found: left_over,
            });
        }
        Ok(Matrix { values, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `i`. Panics if there is no such row, as slices do.
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.values[i * self.columns..(i + 1) * self.columns]
    }

    /// The rows, in order.
    pub fn iter_rows(&self) -> std::slice::ChunksExact<'a, T> {
        self.values.chunks_exact(self.columns)
    }

    /// Some rows in a row. Panics if there are no such rows, as slices do.
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Matrix<'a, T> {
        Matrix { values: &self.values[rows.start * self.columns..rows.end * self.columns], columns: self.columns }
    }

    /// All numbers, row after row.
    pub fn values(&self) -> &'a [T] {
        self.values
    }
}
