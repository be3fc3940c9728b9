//! Which format a file has.

use serde::{Deserialize, Serialize};

use super::source::{io_error, read_head};
use super::{ReadOptions, Source};
use crate::error::{Error, Result};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text with a delimiter.
    Csv,
    /// A NumPy array.
    Npy,
}

impl Format {
    /// Picks the format by the first bytes, unpacked if need be, then by the name's extension.
    pub fn detect(source: &Source, options: &ReadOptions) -> Result<Format> {
        let head = source.open_unpacked(&options.limits).and_then(|reader| read_head(reader, 8).map_err(io_error));
        let head = head.map_err(|error| error.in_file(source.name()))?;
        if head.starts_with(b"\x93NUMPY") {
            return Ok(Format::Npy);
        }
        if head.contains(&0) {
            return Err(Error::malformed("data", "its first bytes belong to no known format").in_file(source.name()));
        }
        Ok(Format::Csv)
    }
}
