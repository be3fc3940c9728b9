//! The start of a text file: as much of it as shows how it is written.

use std::io::Read;

use super::super::limits::{MAX_ROW_BYTES, SAMPLE_BYTES};
use super::super::source::io_error;
use super::super::{ReadOptions, Source};
use crate::error::Result;

/// Most bytes of a sample: room for the header and the first row, whatever their length.
const MAX_SAMPLE_BYTES: usize = 4 * MAX_ROW_BYTES;
/// How many times longer a sample becomes that holds too few whole rows.
const GROWTH: usize = 4;

/// The first bytes of a text file, unpacked.
pub(super) struct Sample {
    reader: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    whole: bool,
}

impl Sample {
    /// Reads as much as most files need.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let mut sample = Sample { reader: source.open_unpacked(&options.limits)?, bytes: Vec::new(), whole: false };
        sample.read_up_to(SAMPLE_BYTES)?;
        Ok(sample)
    }

    /// Reads on, for wide tables; false if the sample is as long as it may be. A first row that is longer than a row
    /// may be is refused.
    pub fn grow(&mut self, holds_no_row: bool) -> Result<bool> {
        if holds_no_row && self.bytes.len() >= MAX_ROW_BYTES {
            return Err(super::row_too_long().at_line(1));
        }
        let length = self.bytes.len() * GROWTH;
        if length > MAX_SAMPLE_BYTES {
            return Ok(false);
        }
        self.read_up_to(length)?;
        Ok(true)
    }

    fn read_up_to(&mut self, length: usize) -> Result<()> {
        let missing = (length - self.bytes.len()) as u64;
        let read = self.reader.by_ref().take(missing).read_to_end(&mut self.bytes).map_err(io_error)?;
        self.whole = (read as u64) < missing;
        Ok(())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether they are all of the file.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The bytes behind the first `lines` lines.
    pub fn after_lines(&self, lines: usize) -> &[u8] {
        let mut rest = self.bytes.as_slice();
        for _ in 0..lines {
            let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { return &[] };
            rest = &rest[end + 1..];
        }
        rest
    }
}
