//! Rows of features, dense or sparse: what learners take.

use std::ops::Range;

use crate::error::Result;
use crate::matrix::Matrix;
use crate::sparse::{SparseMatrix, SparseRows};

/// Borrowed rows. Cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rows<'a, T> {
    /// Every number is there.
    Dense(Matrix<'a, T>),
    /// Numbers that are not there are zero.
    Sparse(SparseMatrix<'a, T>),
}

/// Rows that own their numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedRows<T> {
    /// Every number is there.
    Dense {
        /// The numbers, row after row.
        values: Vec<T>,
        /// Numbers in a row.
        width: usize,
    },
    /// Numbers that are not there are zero.
    Sparse(SparseRows<T>),
}

impl<'a, T: Copy> Rows<'a, T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Rows::Dense(matrix) => matrix.rows(),
            Rows::Sparse(matrix) => matrix.rows(),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        match self {
            Rows::Dense(matrix) => matrix.columns(),
            Rows::Sparse(matrix) => matrix.columns(),
        }
    }

    /// The numbers that are kept, row after row; all of them where rows are dense.
    pub fn values(&self) -> &'a [T] {
        match self {
            Rows::Dense(matrix) => matrix.values(),
            Rows::Sparse(matrix) => matrix.values(),
        }
    }

    /// Some rows in a row. Panics if there are no such rows, as slices do.
    pub fn slice(&self, rows: Range<usize>) -> Rows<'a, T> {
        match self {
            Rows::Dense(matrix) => Rows::Dense(matrix.slice(rows)),
            Rows::Sparse(matrix) => Rows::Sparse(matrix.slice(rows)),
        }
    }

    /// The rows at `rows`, in that order. Panics if there is no such row, as slices do.
    pub fn gather(&self, rows: &[usize]) -> OwnedRows<T> {
        match self {
            Rows::Dense(matrix) => {
                let width = matrix.columns();
                OwnedRows::Dense { values: gather(matrix.values(), width, rows), width }
            }
            Rows::Sparse(matrix) => OwnedRows::Sparse(matrix.gather(rows)),
        }
    }

    /// The same rows as their own.
    pub fn to_owned_rows(&self) -> OwnedRows<T> {
        match self {
            Rows::Dense(matrix) => OwnedRows::Dense { values: matrix.values().to_vec(), width: matrix.columns() },
            Rows::Sparse(matrix) => OwnedRows::Sparse(matrix.to_rows()),
        }
    }

    /// The rows as a dense matrix, if they are one.
    pub fn dense(&self) -> Option<Matrix<'a, T>> {
        match self {
            Rows::Dense(matrix) => Some(*matrix),
            Rows::Sparse(_) => None,
        }
    }
}

impl<'a, T> From<Matrix<'a, T>> for Rows<'a, T> {
    fn from(matrix: Matrix<'a, T>) -> Self {
        Rows::Dense(matrix)
    }
}

impl<'a, T> From<SparseMatrix<'a, T>> for Rows<'a, T> {
    fn from(matrix: SparseMatrix<'a, T>) -> Self {
        Rows::Sparse(matrix)
    }
}

impl<T: Copy> OwnedRows<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            OwnedRows::Dense { values, width } => values.len() / width.max(&1),
            OwnedRows::Sparse(rows) => rows.rows(),
        }
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        match self {
            OwnedRows::Dense { width, .. } => *width,
            OwnedRows::Sparse(rows) => rows.width(),
        }
    }

    /// The rows, borrowed.
    pub fn view(&self) -> Result<Rows<'_, T>> {
        match self {
            OwnedRows::Dense { values, width } => Ok(Rows::Dense(Matrix::new(values, *width)?)),
            OwnedRows::Sparse(rows) => Ok(Rows::Sparse(rows.view())),
        }
    }

    /// The numbers that are kept, row after row; all of them where rows are dense.
    pub fn values(&self) -> &[T] {
        match self {
            OwnedRows::Dense { values, .. } => values,
            OwnedRows::Sparse(rows) => rows.view().values(),
        }
    }

    /// The rows at `rows`, in that order. Panics if there is no such row, as slices do.
    pub fn gather(&self, rows: &[usize]) -> Self {
        match self {
            OwnedRows::Dense { values, width } => {
                OwnedRows::Dense { values: gather(values, *width, rows), width: *width }
            }
            OwnedRows::Sparse(sparse) => OwnedRows::Sparse(sparse.gather(rows)),
        }
    }

    /// Takes the rows from number `at` on away. Panics if there are fewer rows, as vectors do.
    pub fn split_off(&mut self, at: usize) -> Self {
        match self {
            OwnedRows::Dense { values, width } => {
                OwnedRows::Dense { values: values.split_off(at * *width), width: *width }
            }
            OwnedRows::Sparse(rows) => OwnedRows::Sparse(rows.split_off(at)),
        }
    }

    /// Adds later rows of the same width and form.
    pub fn append(&mut self, later: Rows<'_, T>) -> Result<()> {
        use crate::error::{Error, check_length};
        match (self, later) {
            (OwnedRows::Dense { values, width }, Rows::Dense(more)) => {
                check_length("columns of later rows", *width, more.columns())?;
                values.extend_from_slice(more.values());
                Ok(())
            }
            (OwnedRows::Sparse(rows), Rows::Sparse(more)) => rows.append(more),
            _ => {
                let reason = "dense and sparse rows cannot be joined".to_string();
                Err(Error::Invalid { what: "later rows", reason })
            }
        }
    }
}

/// The rows at `rows` of numbers that lie row after row.
fn gather<T: Copy>(values: &[T], width: usize, rows: &[usize]) -> Vec<T> {
    let mut gathered = Vec::with_capacity(rows.len() * width);
    for &row in rows {
        gathered.extend_from_slice(&values[row * width..(row + 1) * width]);
    }
    gathered
}

impl Rows<'_, f32> {
    /// The squared distance of rows `a` and `b`. Panics if there is no such row, as slices do.
    pub fn squared_distance(&self, a: usize, b: usize) -> f32 {
        match self {
            Rows::Dense(matrix) => matrix.row(a).iter().zip(matrix.row(b)).map(|(a, b)| (a - b) * (a - b)).sum(),
            Rows::Sparse(matrix) => {
                let (mut here, mut there) = (matrix.row(a).iter().peekable(), matrix.row(b).iter().peekable());
                let mut sum = 0.0;
                loop {
                    // The lower column comes first; a column that only one of them has is zero in the other.
                    let next = |entry: Option<&(usize, f32)>| entry.map_or(usize::MAX, |&(column, _)| column);
                    let (left, right) = (next(here.peek()), next(there.peek()));
                    if left == usize::MAX && right == usize::MAX {
                        return sum;
                    }
                    let take = |from: &mut dyn Iterator<Item = (usize, f32)>| from.next().map_or(0.0, |(_, v)| v);
                    let difference = match left.cmp(&right) {
                        std::cmp::Ordering::Less => take(&mut here),
                        std::cmp::Ordering::Greater => take(&mut there),
                        std::cmp::Ordering::Equal => take(&mut here) - take(&mut there),
                    };
                    sum += difference * difference;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_and_dense_rows_are_gathered_and_compared_alike() {
        let dense = [0.0, 2.0, 0.0, 1.0, 0.0, 3.0, 0.0, 0.0, 0.0f32];
        let sparse = SparseRows::new(vec![0, 1, 3, 3], vec![1, 0, 2], vec![2.0f32, 1.0, 3.0], 3).unwrap();
        let both = [Rows::from(Matrix::new(&dense, 3).unwrap()), Rows::from(sparse.view())];
        for rows in both {
            assert_eq!((rows.rows(), rows.columns()), (3, 3));
            let distances = [(0, 1), (1, 0), (0, 2), (2, 2)].map(|(a, b)| rows.squared_distance(a, b));
            assert_eq!(distances, [14.0, 14.0, 4.0, 0.0]);
            let mut some = rows.gather(&[1, 0]);
            some.append(rows.slice(2..3)).unwrap();
            assert_eq!(some, rows.gather(&[1, 0, 2]));
            assert_eq!((some.rows(), some.width()), (3, 3));
            assert_eq!((some.split_off(1), some), (rows.gather(&[0, 2]), rows.gather(&[1])));
        }
        assert!(both[0].gather(&[0]).append(both[1]).is_err());
    }
}
