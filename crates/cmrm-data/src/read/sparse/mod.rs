//! Files of sparse rows: SciPy's archives, svmlight and Matrix Market. What they have in common is here.
//!
//! A reader takes memory in proportion to the numbers and rows of a file. Numbers at the same place are added up where
//! the format says so, and zeros are dropped even if they are written out, so that the same matrix is the same
//! rows whatever file it came from.

mod matrix_market;
mod scipy;
mod svmlight;

pub(super) use matrix_market::is_matrix_market;
pub use matrix_market::read_matrix_market;
pub(super) use scipy::{is_sparse, read_scipy};
pub(super) use svmlight::is_svmlight;
pub use svmlight::read_svmlight;

use cmrm::SparseRows;

use crate::dataset::{Features, SparseArray};
use crate::error::{Error, Problem, Result};
use crate::preprocess::MAX_FEATURES;

/// The way out for a matrix that is too wide.
const FEWER_COLUMNS: &str = "keep fewer columns, for instance with sklearn.feature_selection or hashed by sklearn.feature_extraction.FeatureHasher";

/// What a file declares of its matrix, found to be possible.
#[derive(Debug, Clone, Copy)]
struct Shape {
    rows: usize,
    columns: usize,
}

impl Shape {
    /// `limit` is the most bytes that the file may take in memory. A row costs eight of them even if it is empty, and
    /// a file can declare any number of rows.
    fn new(rows: usize, columns: usize, limit: u64) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::new(Problem::Empty(format!("a matrix of {rows} rows and {columns} columns"))));
        }
        let too_large = |what: &str, size: usize, limit: u64, way_out: &str| {
            Err(Error::new(Problem::TooLarge { what: what.into(), size: size as u64, limit }).way_out(way_out))
        };
        let most_rows = (limit / size_of::<usize>() as u64).min(u32::MAX.into());
        if rows as u64 > most_rows {
            let way_out = "leave out rows without numbers, or write the file again if it should not have so many";
            return too_large("the number of rows, for a file of this length,", rows, most_rows, way_out);
        }
        if columns > MAX_FEATURES {
            return too_large("the number of columns", columns, MAX_FEATURES as u64, FEWER_COLUMNS);
        }
        Ok(Shape { rows, columns })
    }

    /// Whether there is such a place.
    fn has(&self, row: usize, column: usize) -> bool {
        row < self.rows && column < self.columns
    }
}

/// Numbers with their places, in any order.
struct Entries {
    shape: Shape,
    /// Row, column and number.
    entries: Vec<(u32, u32, f32)>,
}

impl Entries {
    /// With room for as many numbers as are known to be there, not for those that a file declares.
    fn new(shape: Shape, room: usize) -> Self {
        Entries { shape, entries: Vec::with_capacity(room) }
    }

    /// Adds a number; false if the matrix has no such place.
    #[must_use]
    fn add(&mut self, row: usize, column: usize, value: f32) -> bool {
        let inside = self.shape.has(row, column);
        if inside && value != 0.0 {
            // A shape has fewer rows and columns than 2³².
            self.entries.push((row as u32, column as u32, value));
        }
        inside
    }

    /// Sorts the numbers into rows, in each of them in the order in which they came.
    fn into_features(self) -> Result<Features> {
        let Entries { shape, entries } = self;
        let mut starts = vec![0; shape.rows + 1];
        for &(row, ..) in &entries {
            starts[row as usize + 1] += 1;
        }
        for row in 0..shape.rows {
            starts[row + 1] += starts[row];
        }
        let (mut columns, mut values) = (vec![0; entries.len()], vec![0.0; entries.len()]);
        let mut next = starts.clone();
        for (row, column, value) in entries {
            let place = &mut next[row as usize];
            (columns[*place], values[*place]) = (column, value);
            *place += 1;
        }
        features(starts, columns, values, shape.columns)
    }
}

/// Features from rows whose numbers may be in any order, at the same place, or zero.
fn features(mut starts: Vec<usize>, mut columns: Vec<u32>, mut values: Vec<f32>, width: usize) -> Result<Features> {
    let mut row = Vec::new();
    let (mut kept, mut begin) = (0, 0);
    for start in &mut starts[1..] {
        let range = begin..*start;
        begin = *start;
        row.clear();
        row.extend(columns[range.clone()].iter().copied().zip(values[range].iter().copied()));
        if !row.is_sorted_by(|a, b| a.0 < b.0) {
            // Stable, so that numbers at the same place are added up in the order of the file.
            row.sort_by_key(|&(column, _)| column);
            row.dedup_by(|later, first| {
                let same = later.0 == first.0;
                if same {
                    first.1 += later.1;
                }
                same
            });
        }
        // What is kept never overtakes what is still to be read.
        for &(column, value) in row.iter().filter(|(_, value)| *value != 0.0) {
            (columns[kept], values[kept]) = (column, value);
            kept += 1;
        }
        *start = kept;
    }
    columns.truncate(kept);
    values.truncate(kept);
    let rows = SparseRows::new(starts, columns, values, width)?;
    Ok(Features::Sparse(SparseArray { rows, first_row: 0 }))
}
