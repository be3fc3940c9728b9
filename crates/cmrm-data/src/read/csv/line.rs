//! Which line of a text file a record starts on.

use std::io::{BufRead, BufReader, Read};

use super::super::{ReadOptions, Source, source::io_error};
use super::{Dialect, skip_line};
use crate::error::Result;

/// The line, from one, of the first record at or after a place, in bytes behind the skipped lines. The parser's own count
/// is that of the last record's end, from which blank lines and, of `\r\n`, the second half are still missing. Only called
/// for a message, so a second pass costs nothing that matters.
pub(super) fn of_record(source: &Source, options: &ReadOptions, dialect: &Dialect, byte: u64) -> Result<u64> {
    let reader = BufReader::new(source.open_unpacked(&options.limits)?);
    count(reader, dialect, byte).map_err(io_error)
}

fn count(mut reader: impl BufRead, dialect: &Dialect, byte: u64) -> std::io::Result<u64> {
    let mut line = 1;
    for _ in 0..dialect.skip_lines {
        skip_line(&mut reader)?;
        line += 1;
    }
    let mut before = reader.by_ref().take(byte);
    loop {
        let block = before.fill_buf()?;
        if block.is_empty() {
            break;
        }
        line += block.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let length = block.len();
        before.consume(length);
    }
    loop {
        match reader.fill_buf()?.first() {
            Some(b'\n') => {
                reader.consume(1);
                line += 1;
            }
            Some(b'\r') => reader.consume(1),
            Some(&byte) if Some(byte) == dialect.comment => {
                skip_line(&mut reader)?;
                line += 1;
            }
            _ => return Ok(line),
        }
    }
}
