//! Finds the first byte of a file that is not UTF-8.

use std::io::{BufReader, Read};

use super::super::{ReadOptions, Source, source::io_error};
use super::Dialect;
use crate::error::{Error, Problem, Result};

/// An error that names the byte. Only called when some record was not UTF-8, so a second pass costs nothing that
/// matters, and it gives the byte's place in the file, which a record without its quotes cannot.
pub(super) fn locate(source: &Source, options: &ReadOptions, dialect: &Dialect) -> Result<Error> {
    let mut reader = BufReader::new(source.open_unpacked(&options.limits)?);
    let mut offset = 0;
    for _ in 0..dialect.skip_lines {
        offset += super::skip_line(&mut reader).map_err(io_error)?;
    }
    let mut pending = Vec::new();
    let mut buffer = [0; 1 << 14];
    loop {
        let read = reader.read(&mut buffer).map_err(io_error)?;
        pending.extend_from_slice(&buffer[..read]);
        let valid = match std::str::from_utf8(&pending) {
            Ok(text) => text.len(),
            // A character cut in two by the end of the block is no fault, unless the file ends there.
            Err(error) if error.error_len().is_none() && read > 0 => error.valid_up_to(),
            Err(error) => return Ok(not_utf8(offset + error.valid_up_to() as u64)),
        };
        if read == 0 {
            return Ok(not_utf8(offset));
        }
        pending.drain(..valid);
        offset += valid as u64;
    }
}

/// The error for a byte that is not UTF-8.
pub(in crate::read) fn not_utf8(byte: u64) -> Error {
    Error::new(Problem::NotUtf8 { byte }).way_out(SAVE_AS_UTF8)
}

/// The same where the byte's place is not known.
pub(super) fn no_text(what: &str) -> Error {
    Error::malformed("CSV", format!("{what} is not valid UTF-8")).way_out(SAVE_AS_UTF8)
}

/// For Excel's CSV outside of UTF-8; read as Latin-1, its € and curly quotes would become control characters.
const SAVE_AS_UTF8: &str =
    "save the file as UTF-8; a western one from Windows becomes that by iconv -f cp1252 -t utf-8";
