//! Rows of a stream that is still open: each is read when it is there.
//!
//! A model says what the columns are, so nothing has to be looked at first. That goes for JSON, and for text whose first
//! line names the model's columns; whatever else comes is put aside and read when it has ended.

use std::io::Read;
use std::sync::Arc;

use super::arriving::Arriving;
use super::source::io_error;
use super::{Chunks, Format, JsonFile, Opened, ReadOptions, Source};
use super::{csv::CsvChunks, json::JsonChunks};
use crate::dataset::Input;
use crate::error::Result;
use crate::table::ColumnRef;

/// What a stream turns out to be.
pub enum Incoming {
    /// Rows, handed on as they come.
    Rows(Chunks),
    /// What has to be read whole first.
    Whole(Source),
}

/// Columns that rows may have and need not: the first row decides.
#[derive(Debug, Clone, Default)]
pub struct Usual {
    /// The column of labels.
    pub label: Option<String>,
    /// The column of row names.
    pub id: Option<String>,
}

impl Usual {
    /// The options with the columns that are there.
    pub(super) fn beside(&self, options: &ReadOptions, names: &[String]) -> ReadOptions {
        let there = |column: &Option<String>| column.clone().filter(|column| names.contains(column)).map(ColumnRef);
        let mut options = options.clone();
        options.label = options.label.or_else(|| there(&self.label));
        options.id = options.id.or_else(|| there(&self.id));
        options
    }
}

/// Reads rows in JSON whole, which may have the usual columns.
pub fn read_json_rows(source: &Source, options: &ReadOptions, usual: &Usual) -> Result<Input> {
    Opened::Json(Arc::new(JsonFile::open_with(source, options, usual)?)).read()
}

/// Begins to read a stream, whose rows the model behind `options.expected` is to see: at most `rows` at a time, and those that
/// are there without waiting for others.
pub fn read_stream(
    name: &str,
    stream: impl Read + Send + 'static,
    options: &ReadOptions,
    usual: &Usual,
    rows: usize,
) -> Result<Incoming> {
    let in_stream = |error: std::io::Error| io_error(error).in_file(name);
    let mut arriving = Arriving::new(stream).map_err(in_stream)?;
    let first = arriving.first_line().map_err(in_stream)?;
    // Nothing to be known beforehand, or lines to be left out: that is for the readers of files.
    let fits = options.expected.is_some() && options.text.skip_lines == 0 && !first.is_empty();
    if fits && is_format(options, Format::Json) && starts_like_json(first) {
        let chunks =
            JsonChunks::of_stream(name, arriving, options, usual, rows).map_err(|error| error.in_file(name))?;
        return Ok(Incoming::Rows(Box::new(chunks)));
    }
    if fits && is_format(options, Format::Csv) {
        return Ok(match CsvChunks::of_stream(name, arriving, options, usual, rows)? {
            Ok(chunks) => Incoming::Rows(Box::new(chunks)),
            Err(arriving) => Incoming::Whole(Source::stream(name, arriving)?),
        });
    }
    Ok(Incoming::Whole(Source::stream(name, arriving)?))
}

fn is_format(options: &ReadOptions, format: Format) -> bool {
    options.format.is_none_or(|stated| stated == format)
}

/// Whether the first line begins an object or an array of them.
fn starts_like_json(line: &[u8]) -> bool {
    let mut marks = line.iter().filter(|byte| !byte.is_ascii_whitespace()).skip_while(|&&byte| byte >= 0x80);
    matches!((marks.next(), marks.next()), (Some(b'{'), _) | (Some(b'['), Some(b'{') | None))
}
