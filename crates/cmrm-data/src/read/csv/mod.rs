//! Comma-, tab- and otherwise separated text.
//!
//! A file is passed over twice: once to find out what the columns are, once to read their cells. Where a model says
//! what they are, the first pass is left out. Neither pass holds more than a chunk.

mod chunks;
mod dialect;
mod guess;
mod header;
mod line;
mod records;
mod sample;
mod stream;
mod utf8;

pub use chunks::CsvChunks;
pub(in crate::read) use chunks::not_of_kind;
pub use dialect::Dialect;
pub(in crate::read) use dialect::refuse_other_encodings;
pub(in crate::read) use utf8::not_utf8;

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use self::records::Records;
use super::limits::MAX_ROW_BYTES;
use super::options::Plan;
use super::{ReadOptions, Source};
use crate::error::{Error, Result};
use crate::table::{Guess, Kind, agree_on_marks, made_up_name, refuse_duplicates};

/// A text file whose dialect, header and columns are known.
pub struct CsvFile {
    source: Source,
    /// Whether it is a stream that passes: nothing of it can be looked up again, and the source has only its name.
    passing: bool,
    options: ReadOptions,
    dialect: Dialect,
    plan: Plan,
}

impl CsvFile {
    /// Detects dialect and header, settles the columns' names and, in a pass over the file, their kinds.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let mut files = Self::open_all(std::slice::from_ref(source), options)?;
        files.pop().ok_or_else(|| Error::internal("one file was opened and none came back"))
    }

    /// The same for files that belong together: a column's kind fits its cells in all of them. A column that not all of
    /// them have is left to the caller.
    pub(crate) fn open_all(sources: &[Source], options: &ReadOptions) -> Result<Vec<Self>> {
        let mut guesses: HashMap<String, Guess> = HashMap::new();
        let mut files = Vec::with_capacity(sources.len());
        for source in sources {
            let guessed = Self::prepare(source, options).and_then(|file| {
                guess::look(&file, &mut guesses)?;
                Ok(file)
            });
            files.push(guessed.map_err(|error| error.in_file(source.name()))?);
        }
        agree_on_marks(guesses.values_mut());
        files.iter_mut().for_each(|file| file.plan.settle_all(&guesses));
        Ok(files)
    }

    /// Everything but the kinds that are still open.
    fn prepare(source: &Source, options: &ReadOptions) -> Result<Self> {
        let (dialect, rows) = Dialect::detect(source, options)?;
        let line_of = |at: usize| line::of_record(source, options, &dialect, rows[at].byte);
        let first = &rows[0].cells;
        let names = match dialect.header {
            true => header_names(first),
            false => (0..first.len()).map(made_up_name).collect(),
        };
        if dialect.header
            && let Err(error) = refuse_duplicates(names.iter().map(String::as_str))
        {
            return Err(error.at_line(line_of(0)?));
        }
        let plan = match options.plan(names, !dialect.header) {
            Ok(plan) => plan,
            Err(error) => match header::place_of_missing(&error, &rows) {
                Some(at) if options.text.header.is_none() => return Err(header::title(line_of(0)?, line_of(at)?)),
                _ => return Err(error),
            },
        };
        Ok(CsvFile { source: source.clone(), passing: false, options: options.clone(), dialect, plan })
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
        self.plan.kinds()
    }

    /// The rows, at most `rows` at a time.
    pub fn chunks(self: &Arc<Self>, rows: usize) -> Result<CsvChunks> {
        CsvChunks::new(self, rows).map_err(|error| error.in_file(self.source.name()))
    }
}

fn header_names(first: &[String]) -> Vec<String> {
    let named = first.iter().enumerate();
    named.map(|(at, name)| if name.is_empty() { format!("column {at}") } else { name.clone() }).collect()
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

/// The error for a row that never ends.
fn row_too_long() -> Error {
    let what = format!("the row that starts here is longer than {} MiB", MAX_ROW_BYTES >> 20);
    Error::malformed("CSV", what).way_out(
        "look for a quotation mark that opens a cell and is never closed, or check that this is a text file with one \
         row per line",
    )
}

/// The error for a byte that no text has; the cell, from zero, is named in a row without named columns.
fn nul_byte(cell: Option<usize>) -> Error {
    let what = match cell {
        Some(cell) => format!("cell {cell} of this row contains a NUL byte"),
        None => "the cell contains a NUL byte".into(),
    };
    Error::malformed("CSV", what).way_out("the file is binary, damaged, or UTF-16: save it as UTF-8 text")
}
