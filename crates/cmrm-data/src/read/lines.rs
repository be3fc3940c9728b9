//! Text line by line, each counted and none of them without end.

use std::io::{BufRead, BufReader, Read};

use super::csv::{not_utf8, refuse_other_encodings};
use super::limits::MAX_ROW_BYTES;
use super::source::io_error;
use super::{ReadOptions, Source};
use crate::error::{Error, Result};

/// The lines of a text file.
pub(super) struct Lines {
    reader: BufReader<Box<dyn Read + Send>>,
    line: String,
    /// The current line, from one.
    number: u64,
    /// Where the next line starts in the file.
    offset: u64,
    format: &'static str,
}

impl Lines {
    /// Opens the file, unpacked if need be. `format` is its name in messages.
    pub fn open(source: &Source, options: &ReadOptions, format: &'static str) -> Result<Self> {
        let mut reader = BufReader::with_capacity(1 << 16, source.open_unpacked(&options.limits)?);
        let head = reader.fill_buf().map_err(io_error)?;
        refuse_other_encodings(head)?;
        let mark = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        reader.consume(mark);
        Ok(Lines { reader, line: String::new(), number: 0, offset: mark as u64, format })
    }

    /// Moves to the next line; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        let mut bounded = (&mut self.reader).take(MAX_ROW_BYTES as u64 + 1);
        let read = bounded.read_until(b'\n', &mut bytes).map_err(io_error)?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        if read > MAX_ROW_BYTES {
            let what = format!("the line is longer than {} MiB", MAX_ROW_BYTES >> 20);
            return Err(self.malformed(what).way_out("check that this is a text file with one row per line"));
        }
        if bytes.contains(&0) {
            let way_out = "the file is binary, damaged, or UTF-16: save it as UTF-8 text";
            return Err(self.malformed("the line contains a NUL byte").way_out(way_out));
        }
        self.line = String::from_utf8(bytes)
            .map_err(|error| not_utf8(self.offset + error.utf8_error().valid_up_to() as u64).at_line(self.number))?;
        self.offset += read as u64;
        Ok(true)
    }

    /// The current line without spaces around it.
    pub fn text(&self) -> &str {
        self.line.trim_ascii()
    }

    /// The current line, from one.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// An error at the current line.
    pub fn malformed(&self, what: impl std::fmt::Display) -> Error {
        Error::malformed(self.format, what).at_line(self.number)
    }
}
