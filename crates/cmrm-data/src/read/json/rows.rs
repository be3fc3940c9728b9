//! The objects of a JSON file, one after the other, each with its row and line.
//!
//! The file is cut at its outermost braces, so that a row is in memory alone, be it a line of its own, spread over
//! several lines, or an element of an array that goes on for gigabytes.

use std::io::{BufRead, BufReader, Read};

use super::super::limits::MAX_ROW_BYTES;
use super::super::source::io_error;
use super::super::{ReadOptions, Source};
use crate::error::{Error, Result};
use crate::read::csv::{not_utf8, refuse_other_encodings};

/// The mark that some programs put before UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Where the rows are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Within {
    /// Nothing has been read yet.
    Start,
    /// One object after the other.
    Lines,
    Array,
    /// The array has ended.
    Behind,
}

/// Cuts a file into rows and keeps count.
pub(super) struct Rows {
    reader: BufReader<Box<dyn Read + Send>>,
    within: Within,
    /// The current row, from its first brace to its last.
    text: String,
    row: u64,
    /// Lines and bytes that have been read.
    lines: u64,
    bytes: u64,
    /// The line that the current row starts on.
    starts_at: u64,
}

impl Rows {
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        Rows::of(source.open_unpacked(&options.limits)?)
    }

    pub fn of(reader: Box<dyn Read + Send>) -> Result<Self> {
        let mut reader = BufReader::with_capacity(1 << 16, reader);
        let head = reader.fill_buf().map_err(io_error)?;
        refuse_other_encodings(head)?;
        let mark = if head.starts_with(&BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        reader.consume(mark);
        let (within, text, bytes) = (Within::Start, String::new(), mark as u64);
        Ok(Rows { reader, within, text, row: 0, lines: 0, bytes, starts_at: 0 })
    }

    /// Rows so far, the current one included.
    pub fn row(&self) -> u64 {
        self.row
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing of another row is among the first `arrived` bytes.
    pub fn is_behind(&self, arrived: u64) -> bool {
        let here = self.reader.buffer();
        let between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b']');
        arrived <= self.bytes + here.len() as u64 && here.iter().all(between)
    }

    /// The current row.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Moves to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        let mut next = self.skip_space()?;
        match (self.within, next) {
            (Within::Start, Some(b'[')) => {
                self.skip(1);
                self.within = Within::Array;
                next = self.skip_space()?;
                if next == Some(b']') {
                    return self.end_array();
                }
            }
            (Within::Start, _) => self.within = Within::Lines,
            (Within::Array, Some(b']')) => return self.end_array(),
            (Within::Array, Some(b',')) => {
                self.skip(1);
                next = self.skip_space()?;
            }
            (Within::Array, Some(byte)) => return Err(self.unexpected("a comma or the end of the array", byte)),
            (Within::Behind, Some(byte)) => return Err(self.unexpected("nothing behind the array", byte)),
            _ => {}
        }
        match (self.within, next) {
            (Within::Array, None) => Err(cut_short("the array").at_line(self.lines + 1)),
            (_, None) => Ok(false),
            (_, Some(b'{')) => self.take_object(),
            (_, Some(byte)) => Err(self.unexpected("an object, {…}, for each row", byte)),
        }
    }

    fn end_array(&mut self) -> Result<bool> {
        self.skip(1);
        self.within = Within::Behind;
        match self.skip_space()? {
            None => Ok(false),
            Some(byte) => Err(self.unexpected("nothing behind the array", byte)),
        }
    }

    /// Reads from a brace to the one that closes it.
    fn take_object(&mut self) -> Result<bool> {
        self.row += 1;
        self.starts_at = self.lines + 1;
        let first_byte = self.bytes;
        let mut object = std::mem::take(&mut self.text).into_bytes();
        object.clear();
        let (mut depth, mut quoted, mut escaped) = (0u64, false, false);
        let mut complete = false;
        while !complete {
            let buffer = self.reader.fill_buf().map_err(io_error)?;
            let mut used = 0;
            for &byte in buffer {
                used += 1;
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if quoted => escaped = true,
                    b'"' => quoted = !quoted,
                    b'{' if !quoted => depth += 1,
                    b'}' if !quoted => depth -= 1,
                    b'\n' => self.lines += 1,
                    _ => {}
                }
                if depth == 0 {
                    complete = true;
                    break;
                }
            }
            object.extend_from_slice(&buffer[..used]);
            self.skip(used);
            if used == 0 {
                return Err(self.place(cut_short("the row")));
            }
            if object.len() > MAX_ROW_BYTES {
                return Err(self.place(row_too_long()));
            }
        }
        self.text = String::from_utf8(object)
            .map_err(|error| self.place(not_utf8(first_byte + error.utf8_error().valid_up_to() as u64)))?;
        Ok(true)
    }

    /// Skips white space and gives the byte behind it, which stays.
    fn skip_space(&mut self) -> Result<Option<u8>> {
        loop {
            let buffer = self.reader.fill_buf().map_err(io_error)?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let space = buffer.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
            self.lines += buffer[..space].iter().filter(|&&byte| byte == b'\n').count() as u64;
            let next = buffer.get(space).copied();
            self.skip(space);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.reader.consume(bytes);
        self.bytes += bytes as u64;
    }

    /// Adds row and line of the current row.
    pub fn place(&self, error: Error) -> Error {
        error.at_row(self.row.saturating_sub(1)).at_line(self.starts_at)
    }

    fn unexpected(&self, expected: &str, byte: u8) -> Error {
        let found = match byte {
            b'[' => "an array".to_string(),
            b'"' => "a text".to_string(),
            b'-' | b'0'..=b'9' => "a number".to_string(),
            byte if byte.is_ascii_graphic() => format!("'{}'", byte as char),
            byte => format!("byte {byte}"),
        };
        Error::malformed("JSON", format!("expected {expected}, found {found}"))
            .at_row(self.row)
            .at_line(self.lines + 1)
            .way_out("write an object for each row, one a line or all in one array")
    }
}

fn cut_short(what: &str) -> Error {
    Error::malformed("JSON", format!("the file ends before {what} does")).way_out(
        "look for a brace, bracket or quotation mark that is never closed; or the file is incomplete: copy it again",
    )
}

fn row_too_long() -> Error {
    Error::malformed("JSON", format!("the row that starts here is longer than {} MiB", MAX_ROW_BYTES >> 20))
        .way_out("look for a brace or quotation mark that is never closed")
}
