//! Comma-, tab- and otherwise separated text.
//!
//! A file is passed over twice: once to find out what the columns are, once to read their cells. Where a model says
//! what they are, the first pass is left out. Neither pass holds more than a chunk.

mod chunks;
mod dialect;
mod guess;
mod utf8;

pub use chunks::CsvChunks;
pub use dialect::Dialect;

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use super::options::Plan;
use super::{ReadOptions, Source};
use crate::error::{Error, Problem, Result};
use crate::table::{Kind, made_up_name, refuse_duplicates};

/// A text file whose dialect, header and columns are known.
pub struct CsvFile {
    source: Source,
    options: ReadOptions,
    dialect: Dialect,
    plan: Plan,
}

impl CsvFile {
    /// Detects dialect and header, settles the columns' names and, in a pass over the file, their kinds.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        Self::open_unnamed_errors(source, options).map_err(|error| error.in_file(source.name()))
    }

    fn open_unnamed_errors(source: &Source, options: &ReadOptions) -> Result<Self> {
        let (dialect, first) = Dialect::detect(source, options)?;
        let names = match dialect.header {
            true => header_names(&first)?,
            false => (0..first.len()).map(made_up_name).collect(),
        };
        let plan = options.plan(names, !dialect.header)?;
        let mut file = CsvFile { source: source.clone(), options: options.clone(), dialect, plan };
        if file.plan.columns.contains(&Some(None)) {
            let guesses = guess::guess_kinds(&file)?;
            for (column, guess) in file.plan.columns.iter_mut().zip(&guesses) {
                if *column == Some(None) {
                    *column = Some(Some(guess.kind()));
                }
            }
        }
        Ok(file)
    }

    /// How the file is written.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Names of all columns.
    pub fn names(&self) -> &[String] {
        &self.plan.names
    }

    /// The kind of each column that is read, by name.
    pub fn kinds(&self) -> Vec<(&str, Kind)> {
        let columns = self.plan.names.iter().zip(&self.plan.columns);
        columns.filter_map(|(name, kind)| Some((name.as_str(), (*kind)??))).collect()
    }

    /// The rows, at most `rows` at a time.
    pub fn chunks(self: &Arc<Self>, rows: usize) -> Result<CsvChunks> {
        CsvChunks::new(self, rows).map_err(|error| error.in_file(self.source.name()))
    }

    fn is_missing(&self, cell: &str) -> bool {
        self.options.text.missing.iter().any(|token| token == cell)
    }
}

fn header_names(first: &[String]) -> Result<Vec<String>> {
    let names: Vec<String> = first
        .iter()
        .enumerate()
        .map(|(position, name)| if name.is_empty() { format!("column {position}") } else { name.clone() })
        .collect();
    refuse_duplicates(names.iter().map(String::as_str)).map_err(|error| error.at_line(1))?;
    Ok(names)
}

/// Reads records and keeps count, so that each has its row and line.
struct Records {
    reader: csv::Reader<Box<dyn Read + Send>>,
    record: csv::ByteRecord,
    row: u64,
    line_offset: u64,
}

impl Records {
    /// The records behind the skipped lines and the header.
    fn open(source: &Source, options: &ReadOptions, dialect: &Dialect) -> Result<Self> {
        let mut reader = BufReader::with_capacity(1 << 16, source.open_unpacked(&options.limits)?);
        for _ in 0..dialect.skip_lines {
            skip_line(&mut reader).map_err(super::source::io_error)?;
        }
        let reader: Box<dyn Read + Send> = Box::new(reader);
        let reader = dialect.builder().from_reader(reader);
        let mut records =
            Records { reader, record: csv::ByteRecord::new(), row: 0, line_offset: dialect.skip_lines as u64 };
        if dialect.header {
            records.next_record(source, options, dialect, 0)?;
        }
        Ok(records)
    }

    /// Moves to the next row; false at the end.
    fn advance(&mut self, source: &Source, options: &ReadOptions, dialect: &Dialect) -> Result<bool> {
        self.next_record(source, options, dialect, 1)
    }

    /// Moves to the next record, which counts as that many rows.
    fn next_record(&mut self, source: &Source, options: &ReadOptions, dialect: &Dialect, rows: u64) -> Result<bool> {
        match self.reader.read_byte_record(&mut self.record) {
            Ok(more) => {
                self.row += if more { rows } else { 0 };
                // Quotes and delimiters are ASCII, so the record is valid exactly if its cells are.
                if more && self.record.iter().any(|cell| std::str::from_utf8(cell).is_err()) {
                    return Err(self.place(utf8::locate(source, options, dialect)?));
                }
                Ok(more)
            }
            Err(error) => Err(match error.into_kind() {
                csv::ErrorKind::Io(error) => self.place(super::source::io_error(error)),
                other => self.place(Error::malformed("CSV", format!("{other:?}"))),
            }),
        }
    }

    /// The cells of the current record without the spaces around them.
    fn cells(&self) -> impl Iterator<Item = &str> {
        // `advance` has refused anything else; an empty cell is what the compiler wants to hear about.
        self.record.iter().map(|cell| std::str::from_utf8(cell).unwrap_or("").trim())
    }

    fn check_width(&self, expected: usize, delimiter: u8) -> Result<()> {
        let found = self.record.len();
        if found == expected {
            return Ok(());
        }
        Err(self.place(Error::new(Problem::Ragged { expected, found })).way_out(format!(
            "put quotes around cells that contain the delimiter {:?}, or state the right delimiter or the lines to \
             skip at the start",
            delimiter as char
        )))
    }

    /// Adds row and line of the current record.
    fn place(&self, error: Error) -> Error {
        let line = self.record.position().map_or(0, csv::Position::line) + self.line_offset;
        let error = if line > 0 { error.at_line(line) } else { error };
        if self.row > 0 { error.at_row(self.row - 1) } else { error }
    }
}

/// Skips a line and gives its length in bytes.
fn skip_line(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let (used, done) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        reader.consume(used);
        skipped += used as u64;
        if done {
            return Ok(skipped);
        }
    }
}
