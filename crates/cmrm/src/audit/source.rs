//! Where an audit finds its probabilities: in memory, or in something that is read piece by piece.

use crate::error::{Result, check_length};
use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// Rows of probabilities that can be passed over more than once, by several threads at a time.
///
/// A [`Matrix`] is one. A file that is another need not fit into memory: see [`super::rank_rows`].
pub trait RowSource<T>: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Numbers in a row.
    fn classes(&self) -> usize;

    /// The numbers of `count` rows from `first` on, which are there. `room` is the caller's to keep them in; what is in it
    /// does not matter.
    fn read<'a>(&'a self, first: usize, count: usize, room: &'a mut Vec<T>) -> Result<&'a [T]>;

    /// All rows, if they are in memory anyway.
    fn whole(&self) -> Option<Matrix<'_, T>> {
        None
    }
}

impl<T: Scalar> RowSource<T> for Matrix<'_, T> {
    fn rows(&self) -> usize {
        Matrix::rows(self)
    }

    fn classes(&self) -> usize {
        self.columns()
    }

    fn read<'a>(&'a self, first: usize, count: usize, _room: &'a mut Vec<T>) -> Result<&'a [T]> {
        Ok(&self.values()[first * self.columns()..(first + count) * self.columns()])
    }

    fn whole(&self) -> Option<Matrix<'_, T>> {
        Some(*self)
    }
}

/// Reads rows and trusts nobody about how many numbers came.
pub(super) fn read<'a, T, R>(source: &'a R, first: usize, count: usize, room: &'a mut Vec<T>) -> Result<&'a [T]>
where
    R: RowSource<T> + ?Sized,
{
    let classes = source.classes();
    let found = source.read(first, count, room)?;
    check_length("numbers read of some rows of probabilities", count * classes, found.len())?;
    Ok(found)
}

/// Marks a row that was not kept.
pub(super) const NOT_KEPT: u32 = u32::MAX;

/// Rows at hand for a third look at some of them.
#[derive(Debug)]
pub(super) enum Held<'a, T, R: ?Sized> {
    /// All of them.
    Whole(Matrix<'a, T>),
    /// Copies of those that a look is likely at; others are read when they are asked for.
    Part {
        source: &'a R,
        /// The rows kept of each piece of `per_piece` rows.
        pieces: Vec<Vec<T>>,
        per_piece: usize,
        /// Which of its piece's rows each row is, or [`NOT_KEPT`].
        place: Vec<u32>,
    },
}

impl<T: Scalar, R: RowSource<T> + ?Sized> Held<'_, T, R> {
    /// One row.
    #[inline(always)]
    pub fn row<'b>(&'b self, row: usize, room: &'b mut Vec<T>) -> Result<&'b [T]> {
        match self {
            Held::Whole(matrix) => Ok(matrix.row(row)),
            Held::Part { source, place, .. } if place[row] == NOT_KEPT => read(*source, row, 1, room),
            Held::Part { source, pieces, per_piece, place } => {
                let classes = source.classes();
                Ok(&pieces[row / per_piece][place[row] as usize * classes..][..classes])
            }
        }
    }
}
