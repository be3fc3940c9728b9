//! SciPy's sparse matrices, as `scipy.sparse.save_npz` writes them, read into a dense array.
//!
//! An archive holds `format` (a text), `shape` and `data`, and where each number stands: `indices` and `indptr` in the
//! formats csr and csc, `row` and `col` in coo. Numbers at the same place are added up, as SciPy does.

use super::Limits;
use super::limits::MAX_DENSE_BYTES;
use super::npy::Open;
use super::npz::Arrays;
use crate::dataset::Array;
use crate::error::{Error, Problem, Result};

/// Whether arrays of these names are a sparse matrix.
pub(super) fn is_sparse(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    ["format", "shape", "data"].into_iter().all(has) && ["indptr", "row", "offsets", "coords"].into_iter().any(has)
}

/// Reads the matrix; its size as a dense array is checked before any of it is.
pub(super) fn read_dense(arrays: &mut Arrays, limits: &Limits) -> Result<Array> {
    let format = named(arrays, "format", |open| open.text())?;
    let shape = named(arrays, "shape", |open| open.whole_numbers())?;
    let &[rows, columns] = shape.as_slice() else {
        let found = shape.len() as u64;
        return Err(Error::new(Problem::Shape { what: "dimensions of the sparse array".into(), expected: 2, found })
            .way_out("save a matrix of rows and columns"));
    };
    check_size(rows, columns, limits)?;
    let mut dense = Dense { values: Vec::new(), rows, columns };
    match format.as_str() {
        "csr" => dense.fill_compressed(arrays, false)?,
        "csc" => dense.fill_compressed(arrays, true)?,
        "coo" => dense.fill_listed(arrays)?,
        _ => {
            return Err(Error::new(Problem::Unsupported(format!("a SciPy sparse matrix of format '{format}'")))
                .way_out("save it as CSR: scipy.sparse.save_npz(file, matrix.tocsr())"));
        }
    }
    Array::new(dense.values, columns)
}

fn named<T>(arrays: &mut Arrays, name: &str, take: impl FnOnce(Open<'_>) -> Result<T>) -> Result<T> {
    let at = arrays.names.iter().position(|known| known == name);
    let at = at.ok_or_else(|| malformed(format!("the array '{name}' is missing")))?;
    arrays.take(at, take)
}

fn check_size(rows: usize, columns: usize, limits: &Limits) -> Result<()> {
    if rows == 0 || columns == 0 {
        return Err(Error::new(Problem::Empty(format!("a sparse matrix of {rows} rows and {columns} columns"))));
    }
    let size = (rows as u64).saturating_mul(columns as u64).saturating_mul(size_of::<f32>() as u64);
    let limit = limits.unpacked_bytes.min(MAX_DENSE_BYTES);
    if size <= limit {
        return Ok(());
    }
    let what = format!(
        "the sparse matrix of {rows} rows and {columns} columns, as the dense array it is read into, in bytes,"
    );
    Err(Error::new(Problem::TooLarge { what, size, limit }).way_out(
        "keep fewer columns, for instance with sklearn.decomposition.TruncatedSVD or sklearn.feature_selection, or fewer \
         rows",
    ))
}

/// A matrix that is being filled.
struct Dense {
    values: Vec<f32>,
    rows: usize,
    columns: usize,
}

impl Dense {
    /// Row by row, or column by column: `indptr` says where each one's part of `indices` and `data` starts and ends.
    fn fill_compressed(&mut self, arrays: &mut Arrays, by_column: bool) -> Result<()> {
        let starts = named(arrays, "indptr", |open| open.whole_numbers())?;
        let indices = named(arrays, "indices", |open| open.whole_numbers())?;
        let data = named(arrays, "data", |open| open.numbers())?;
        let lines = if by_column { self.columns } else { self.rows };
        same_length("'indptr', one more than the matrix has rows (csr) or columns (csc)", lines + 1, starts.len())?;
        same_length("numbers in 'data', one for each of 'indices'", indices.len(), data.len())?;
        same_length("the last entry of 'indptr', the length of 'indices'", indices.len(), starts[lines])?;
        if starts[0] != 0 {
            return Err(malformed(format!("'indptr' starts at {} instead of 0", starts[0])));
        }
        if let Some(at) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(malformed(format!("'indptr' falls from {} to {} at {at}", starts[at], starts[at + 1])));
        }
        self.allocate();
        for (line, part) in starts.windows(2).enumerate() {
            for entry in part[0]..part[1] {
                let (row, column) = if by_column { (indices[entry], line) } else { (line, indices[entry]) };
                self.add(entry, row, column, data[entry])?;
            }
        }
        Ok(())
    }

    /// A row and a column for each number.
    fn fill_listed(&mut self, arrays: &mut Arrays) -> Result<()> {
        let rows = named(arrays, "row", |open| open.whole_numbers())?;
        let columns = named(arrays, "col", |open| open.whole_numbers())?;
        let data = named(arrays, "data", |open| open.numbers())?;
        same_length("numbers in 'data', one for each of 'row'", rows.len(), data.len())?;
        same_length("entries of 'col', one for each of 'row'", rows.len(), columns.len())?;
        self.allocate();
        for (entry, &value) in data.iter().enumerate() {
            self.add(entry, rows[entry], columns[entry], value)?;
        }
        Ok(())
    }

    /// Takes the memory, once everything else about the file is known to be right.
    fn allocate(&mut self) {
        self.values = vec![0.0; self.rows * self.columns];
    }

    fn add(&mut self, entry: usize, row: usize, column: usize, value: f32) -> Result<()> {
        if row >= self.rows || column >= self.columns {
            return Err(malformed(format!(
                "entry {entry} is at row {row} and column {column} of a matrix with {} rows and {} columns",
                self.rows, self.columns
            )));
        }
        self.values[row * self.columns + column] += value;
        Ok(())
    }
}

fn same_length(what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::new(Problem::Shape { what: what.into(), expected: expected as u64, found: found as u64 })
        .way_out("write the file again with scipy.sparse.save_npz"))
}

fn malformed(what: String) -> Error {
    Error::malformed("SciPy sparse", what).way_out("write it again with scipy.sparse.save_npz")
}
