//! Matrix Market files: a text that lists the numbers of a matrix with their rows and columns, or all its numbers.
//!
//! `%%MatrixMarket matrix coordinate real general`, comments, a line of sizes, then a line `row column number` for each
//! number, counted from one. The form `array` has all numbers, column after column, and becomes a dense array. Of a
//! symmetric matrix only the lower half is written.

use super::super::lines::Lines;
use super::super::{ReadOptions, Source};
use super::{Entries, Shape};
use crate::dataset::{Array, Features, Input};
use crate::error::{Error, Problem, Result};

const FORMAT: &str = "Matrix Market";
const START: &[u8] = b"%%MatrixMarket";
const WRITE_AGAIN: &str = "write it again, for instance with scipy.io.mmwrite";

/// Whether these first bytes are those of a Matrix Market file.
pub(in crate::read) fn is_matrix_market(head: &[u8]) -> bool {
    head.len() >= START.len() && head[..START.len()].eq_ignore_ascii_case(START)
}

/// Reads the matrix: sparse, or dense in the form `array`.
pub fn read_matrix_market(source: &Source, options: &ReadOptions) -> Result<Input> {
    let features = read_here(source, options).map_err(|error| error.in_file(source.name()))?;
    Ok(Input { features, labels: None, ids: None, source: source.name().to_string() })
}

fn read_here(source: &Source, options: &ReadOptions) -> Result<Features> {
    let mut lines = Lines::open(source, options, FORMAT)?;
    lines.advance()?;
    let header = Header::parse(lines.text()).map_err(|error| error.at_line(1))?;
    if !next_line(&mut lines)? {
        return Err(malformed("the line of sizes is missing"));
    }
    let sizes: Option<Vec<usize>> = lines.text().split_ascii_whitespace().map(|size| size.parse().ok()).collect();
    match (header.sparse, sizes.as_deref()) {
        (true, Some(&[rows, columns, count])) => {
            header.check_square(rows, columns)?;
            let shape = Shape::new(rows, columns, options.limits.of_packed(source.len()?))?;
            read_coordinates(&mut lines, &header, shape, count)
        }
        (false, Some(&[rows, columns])) => {
            header.check_square(rows, columns)?;
            read_dense(&mut lines, &header, rows, columns)
        }
        (sparse, _) => {
            let wanted = if sparse { "rows, columns and numbers" } else { "rows and columns" };
            Err(lines.malformed(format!("expected the line of sizes: {wanted}")).way_out(WRITE_AGAIN))
        }
    }
}

/// What a number is to the one mirrored at the diagonal.
#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    /// Nothing: both are written.
    General,
    /// The same.
    Symmetric,
    /// The same with the other sign; the diagonal is zero and not written.
    Skew,
}

struct Header {
    /// Numbers with their places, rather than all numbers.
    sparse: bool,
    /// Places alone; every number is one.
    pattern: bool,
    symmetry: Symmetry,
}

impl Header {
    fn parse(line: &str) -> Result<Self> {
        let words: Vec<String> = line.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let &[_, "matrix", form, field, symmetry] = words.as_slice() else {
            let wanted = "%%MatrixMarket matrix coordinate real general";
            return Err(malformed(format!("the first line is not such as '{wanted}'")));
        };
        let unsupported = |what: String, way_out: &str| Err(Error::new(Problem::Unsupported(what)).way_out(way_out));
        let sparse = match form {
            "coordinate" => true,
            "array" => false,
            _ => return Err(malformed(format!("the form '{form}' is neither coordinate nor array"))),
        };
        if field == "complex" || symmetry == "hermitian" {
            let way_out = "write real and imaginary parts as columns: scipy.sparse.hstack([matrix.real, matrix.imag])";
            return unsupported("a matrix of complex numbers".into(), way_out);
        }
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" => Symmetry::Skew,
            _ => return unsupported(format!("the symmetry '{symmetry}'"), WRITE_AGAIN),
        };
        let pattern = field == "pattern";
        // The last two are extensions that SciPy reads and writes.
        if !pattern && !matches!(field, "real" | "integer" | "double" | "unsigned-integer") {
            return unsupported(format!("a matrix of '{field}'"), "write real, integer or pattern");
        }
        if pattern && !sparse {
            return Err(malformed("the form array has no field pattern"));
        }
        Ok(Header { sparse, pattern, symmetry })
    }

    /// The row, the column and the number of a line.
    fn entry(&self, line: &str) -> Option<(usize, usize, f32)> {
        let mut words = line.split_ascii_whitespace();
        let (row, column) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let value = if self.pattern { 1.0 } else { words.next()?.parse().ok()? };
        words.next().is_none().then_some((row, column, value))
    }

    fn check_square(&self, rows: usize, columns: usize) -> Result<()> {
        if self.symmetry == Symmetry::General || rows == columns {
            return Ok(());
        }
        Err(malformed(format!("a symmetric matrix of {rows} rows and {columns} columns")))
    }
}

/// Moves to the next line that is neither empty nor a comment; false at the end.
fn next_line(lines: &mut Lines) -> Result<bool> {
    while lines.advance()? {
        if !lines.text().is_empty() && !lines.text().starts_with('%') {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads `count` numbers with their places.
fn read_coordinates(lines: &mut Lines, header: &Header, shape: Shape, count: usize) -> Result<Features> {
    let mut entries = Entries::new(shape, 0);
    let mut found = 0;
    while next_line(lines)? {
        found += 1;
        if found > count {
            return Err(lines.malformed(more_than(count)).way_out(WRITE_AGAIN));
        }
        let (row, column, value) = header.entry(lines.text()).ok_or_else(|| {
            let wanted = if header.pattern { "a row and a column" } else { "a row, a column and a number" };
            lines.malformed(format!("'{}' is not {wanted}", lines.text())).way_out(WRITE_AGAIN)
        })?;
        // Counted from one: the place before the first becomes one that no matrix has.
        let (at_row, at_column) = (row.wrapping_sub(1), column.wrapping_sub(1));
        if !entries.add(at_row, at_column, value) {
            let Shape { rows, columns } = shape;
            let what = format!(
                "row {row} and column {column}, counted from 1, of a matrix with {rows} rows and {columns} columns"
            );
            return Err(lines.malformed(what).way_out(WRITE_AGAIN));
        }
        let mirrored = match header.symmetry {
            Symmetry::General => continue,
            Symmetry::Skew if row == column && value != 0.0 => {
                let what = format!("{value} on the diagonal of a skew-symmetric matrix, which is zero");
                return Err(lines.malformed(what).way_out(WRITE_AGAIN));
            }
            _ if row == column => continue,
            Symmetry::Symmetric => value,
            Symmetry::Skew => -value,
        };
        // A symmetric matrix is square, so the mirrored place is inside as well.
        let _is_inside = entries.add(at_column, at_row, mirrored);
    }
    if found < count {
        return Err(fewer_than(count as u128, found as u128));
    }
    entries.into_features()
}

/// Reads all numbers, column after column, into a dense array.
fn read_dense(lines: &mut Lines, header: &Header, rows: usize, columns: usize) -> Result<Features> {
    if rows == 0 || columns == 0 {
        return Err(Error::new(Problem::Empty(format!("a matrix of {rows} rows and {columns} columns"))));
    }
    // The first row that is written of a column.
    let first = |column: usize| match header.symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric => column,
        Symmetry::Skew => column + 1,
    };
    let count = match header.symmetry {
        Symmetry::General => rows as u128 * columns as u128,
        Symmetry::Symmetric => rows as u128 * (rows as u128 + 1) / 2,
        Symmetry::Skew => rows as u128 * (rows as u128 - 1) / 2,
    };
    let mut written = Vec::new();
    while next_line(lines)? {
        for word in lines.text().split_ascii_whitespace() {
            if written.len() as u128 == count {
                return Err(lines.malformed(more_than(written.len())).way_out(WRITE_AGAIN));
            }
            let value: Option<f32> = word.parse().ok();
            written
                .push(value.ok_or_else(|| lines.malformed(format!("'{word}' is not a number")).way_out(WRITE_AGAIN))?);
        }
    }
    if (written.len() as u128) < count {
        return Err(fewer_than(count, written.len() as u128));
    }
    let mut values = vec![0.0; rows * columns];
    let mut written = written.into_iter();
    for column in 0..columns {
        for (row, value) in (first(column)..rows).zip(&mut written) {
            values[row * columns + column] = value;
            match header.symmetry {
                Symmetry::General => {}
                Symmetry::Symmetric => values[column * columns + row] = value,
                Symmetry::Skew => values[column * columns + row] = -value,
            }
        }
    }
    Ok(Features::Array(Array::new(values, columns)?))
}

fn more_than(count: usize) -> String {
    format!("more than the {count} numbers that the line of sizes declares")
}

fn fewer_than(declared: u128, found: u128) -> Error {
    let what = format!("it ends after {found} of the {declared} numbers that the line of sizes declares");
    Error::malformed(FORMAT, what).way_out("the file is incomplete: copy or download it again")
}

fn malformed(what: impl std::fmt::Display) -> Error {
    Error::malformed(FORMAT, what).way_out(WRITE_AGAIN)
}
