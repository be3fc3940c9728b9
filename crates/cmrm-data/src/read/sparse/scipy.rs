//! SciPy's sparse matrices, as `scipy.sparse.save_npz` writes them.
//!
//! An archive holds `format` (a text), `shape` and `data`, and where each number stands: `indices` and `indptr` in the
//! formats csr, csc and bsr, `row` and `col` in coo, `offsets` in dia. Numbers at the same place are added up, as SciPy
//! does.

use super::super::npy::Open;
use super::super::npz::Arrays;
use super::{Entries, Shape, features};
use crate::dataset::Features;
use crate::error::{Error, Problem, Result};

/// Whether arrays of these names are a sparse matrix.
pub(in crate::read) fn is_sparse(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    ["format", "shape", "data"].into_iter().all(has) && ["indptr", "row", "offsets", "coords"].into_iter().any(has)
}

/// Reads the matrix. `limit` is the most bytes that the archive may take in memory.
pub(in crate::read) fn read_scipy(arrays: &mut Arrays, limit: u64) -> Result<Features> {
    let format = named(arrays, "format", |open| open.text())?;
    let shape = named(arrays, "shape", |open| open.whole_numbers())?;
    let &[rows, columns] = shape.as_slice() else {
        let found = shape.len() as u64;
        return Err(Error::new(Problem::Shape { what: "dimensions of the sparse array".into(), expected: 2, found })
            .way_out("save a matrix of rows and columns"));
    };
    let shape = Shape::new(rows, columns, limit)?;
    match format.as_str() {
        "csr" => compressed_rows(arrays, shape),
        "csc" => compressed_columns(arrays, shape),
        "bsr" => compressed_blocks(arrays, shape),
        "coo" => coordinates(arrays, shape),
        "dia" => diagonals(arrays, shape),
        _ => Err(Error::new(Problem::Unsupported(format!("a SciPy sparse matrix of format '{format}'")))
            .way_out("save it as CSR: scipy.sparse.save_npz(file, matrix.tocsr())")),
    }
}

/// `indptr` and `indices`: line `i`, a row, a column or a row of blocks, has the indices from `indptr[i]` to `indptr[i + 1]`.
struct Compressed {
    starts: Vec<usize>,
    indices: Vec<usize>,
}

impl Compressed {
    /// Takes both and checks that they and the `data` numbers or blocks belong together.
    fn take(arrays: &mut Arrays, lines: usize, data: usize) -> Result<Self> {
        let starts = named(arrays, "indptr", |open| open.whole_numbers())?;
        same_length(
            "'indptr', one more than the matrix has rows (csr, bsr) or columns (csc)",
            lines + 1,
            starts.len(),
        )?;
        let indices = named(arrays, "indices", |open| open.whole_numbers())?;
        same_length("numbers in 'data', one for each of 'indices'", indices.len(), data)?;
        same_length("the last entry of 'indptr', the length of 'indices'", indices.len(), starts[lines])?;
        if starts[0] != 0 {
            return Err(malformed(format!("'indptr' starts at {} instead of 0", starts[0])));
        }
        if let Some(at) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(malformed(format!("'indptr' falls from {} to {} at {at}", starts[at], starts[at + 1])));
        }
        Ok(Compressed { starts, indices })
    }

    /// Each entry with its line and its index.
    fn each(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let lines = self.starts.windows(2).enumerate();
        lines.flat_map(move |(line, part)| (part[0]..part[1]).map(move |entry| (entry, line, self.indices[entry])))
    }
}

fn compressed_rows(arrays: &mut Arrays, shape: Shape) -> Result<Features> {
    let data = named(arrays, "data", |open| open.numbers())?;
    let rows = Compressed::take(arrays, shape.rows, data.len())?;
    if let Some((entry, row, column)) = rows.each().find(|&(_, row, column)| !shape.has(row, column)) {
        return Err(outside(shape, entry, row, column));
    }
    let columns = rows.indices.into_iter().map(|column| column as u32).collect();
    features(rows.starts, columns, data, shape.columns)
}

fn compressed_columns(arrays: &mut Arrays, shape: Shape) -> Result<Features> {
    let data = named(arrays, "data", |open| open.numbers())?;
    let columns = Compressed::take(arrays, shape.columns, data.len())?;
    let mut entries = Entries::new(shape, data.len());
    for (entry, column, row) in columns.each() {
        add(&mut entries, entry, row, column, data[entry])?;
    }
    entries.into_features()
}

/// `data` has a small dense matrix for each of `indices`.
fn compressed_blocks(arrays: &mut Arrays, shape: Shape) -> Result<Features> {
    let (sizes, data) = named(arrays, "data", |open| Ok((open.header.shape.clone(), open.features()?)))?;
    let &[count, height, width] = sizes.as_slice() else { return Err(dimensions("bsr", 3, sizes.len())) };
    if !shape.rows.is_multiple_of(height) || !shape.columns.is_multiple_of(width) {
        let Shape { rows, columns } = shape;
        let what = format!("blocks of {height} by {width} do not fill a matrix of {rows} rows and {columns} columns");
        return Err(malformed(what));
    }
    let blocks = Compressed::take(arrays, shape.rows / height, count)?;
    let mut entries = Entries::new(shape, data.values().len());
    for (entry, block_row, block_column) in blocks.each() {
        let block = &data.values()[entry * height * width..][..height * width];
        for (at, &value) in block.iter().enumerate() {
            // An index that is far too large stays outside.
            let column = block_column.saturating_mul(width).saturating_add(at % width);
            add(&mut entries, entry, block_row * height + at / width, column, value)?;
        }
    }
    entries.into_features()
}

/// A row and a column for each number.
fn coordinates(arrays: &mut Arrays, shape: Shape) -> Result<Features> {
    let rows = named(arrays, "row", |open| open.whole_numbers())?;
    let columns = named(arrays, "col", |open| open.whole_numbers())?;
    let data = named(arrays, "data", |open| open.numbers())?;
    same_length("numbers in 'data', one for each of 'row'", rows.len(), data.len())?;
    same_length("entries of 'col', one for each of 'row'", rows.len(), columns.len())?;
    let mut entries = Entries::new(shape, data.len());
    for (entry, &value) in data.iter().enumerate() {
        add(&mut entries, entry, rows[entry], columns[entry], value)?;
    }
    entries.into_features()
}

/// Row `k` of `data` is the diagonal `offsets[k]`, each number at the column that it has in the matrix. What lies outside the
/// matrix is padding.
fn diagonals(arrays: &mut Arrays, shape: Shape) -> Result<Features> {
    let offsets = named(arrays, "offsets", |open| open.signed_numbers())?;
    let (sizes, data) = named(arrays, "data", |open| Ok((open.header.shape.clone(), open.features()?)))?;
    let &[count, _] = sizes.as_slice() else { return Err(dimensions("dia", 2, sizes.len())) };
    same_length("rows of 'data', one for each of 'offsets'", offsets.len(), count)?;
    let mut entries = Entries::new(shape, data.values().len());
    for (&offset, diagonal) in offsets.iter().zip(data.values().chunks_exact(data.width())) {
        for (column, &value) in diagonal.iter().enumerate() {
            let row = (column as i64).checked_sub(offset).and_then(|row| usize::try_from(row).ok());
            if let Some(row) = row.filter(|&row| shape.has(row, column)) {
                add(&mut entries, column, row, column, value)?;
            }
        }
    }
    entries.into_features()
}

fn named<T>(arrays: &mut Arrays, name: &str, take: impl FnOnce(Open<'_>) -> Result<T>) -> Result<T> {
    let at = arrays.names.iter().position(|known| known == name);
    let at = at.ok_or_else(|| malformed(format!("the array '{name}' is missing")))?;
    arrays.take(at, take)
}

fn add(entries: &mut Entries, entry: usize, row: usize, column: usize, value: f32) -> Result<()> {
    if entries.add(row, column, value) { Ok(()) } else { Err(outside(entries.shape, entry, row, column)) }
}

fn outside(shape: Shape, entry: usize, row: usize, column: usize) -> Error {
    let Shape { rows, columns } = shape;
    malformed(format!(
        "entry {entry} is at row {row} and column {column} of a matrix with {rows} rows and {columns} columns"
    ))
}

fn same_length(what: &str, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::new(Problem::Shape { what: what.into(), expected: expected as u64, found: found as u64 })
        .way_out("write the file again with scipy.sparse.save_npz"))
}

fn dimensions(format: &str, expected: u64, found: usize) -> Error {
    let what = format!("dimensions of 'data' in the format {format}");
    Error::new(Problem::Shape { what, expected, found: found as u64 })
        .way_out("write the file again with scipy.sparse.save_npz")
}

fn malformed(what: String) -> Error {
    Error::malformed("SciPy sparse", what).way_out("write it again with scipy.sparse.save_npz")
}
