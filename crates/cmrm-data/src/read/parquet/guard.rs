//! The bytes of a Parquet file, handed to the decoder page by page and never more than a page may be.
//!
//! The decoder allocates what a page's header declares. So each header is looked at first, here: it is walked through, and
//! its leading fields have a fixed form, since every writer writes them in order.

use std::fs::File;
use std::io::Read;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::thrift::{STRUCTURE, Walk};

/// Bytes that hold most headers, and more and more up to the most that one may have: it may name a least and a greatest value.
const HEADER_BYTES: [u64; 4] = [1 << 10, 16 << 10, 256 << 10, 16 << 20];
/// Field header of a 32-bit integer whose number is one more than the last field's.
const NEXT_I32: u8 = 0x15;

/// A file's or memory's bytes.
#[derive(Clone)]
pub(super) enum Store {
    File(std::sync::Arc<File>),
    Bytes(Bytes),
}

impl Store {
    pub fn len(&self) -> u64 {
        match self {
            Store::File(file) => Length::len(&**file),
            Store::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Exactly these bytes; a range beyond the end is an error before anything is allocated.
    pub fn bytes(&self, start: u64, length: u64) -> Result<Bytes> {
        let end = start.checked_add(length).filter(|&end| end <= self.len());
        if end.is_none() {
            let length_of_file = self.len();
            return Err(eof(format!("{length} bytes at {start} are outside the file's {length_of_file} bytes")));
        }
        match self {
            Store::File(file) => file.get_bytes(start, length as usize),
            Store::Bytes(bytes) => Ok(bytes.slice(start as usize..(start + length) as usize)),
        }
    }
}

fn eof(what: String) -> ParquetError {
    ParquetError::EOF(what)
}

/// One column chunk's view of the file.
pub(super) struct Guard {
    pub store: Store,
    /// Most bytes of a page, unpacked.
    pub page_bytes: u64,
    /// Whether pages are compressed, so that they may be larger unpacked.
    pub compressed: bool,
}

impl Guard {
    /// Refuses a page that would be too large, or that declares more values than it can hold.
    fn check_header(&self, start: u64) -> Result<()> {
        let unreadable = || ParquetError::General(format!("the page at byte {start} has no readable header"));
        let left = self.store.len().saturating_sub(start);
        let mut header = None;
        for length in HEADER_BYTES {
            let head = self.store.bytes(start, length.min(left))?;
            if (Walk { rest: &head }).skip(STRUCTURE).is_some() {
                header = PageHeader::parse(&head);
                break;
            }
        }
        let header = header.ok_or_else(unreadable)?;
        let size = if self.compressed { header.unpacked } else { header.packed.min(header.unpacked) };
        // A dictionary holds each value once, so there is at least a byte of each; other pages repeat values.
        let most_values = if header.dictionary { size } else { self.page_bytes / 8 };
        if header.unpacked > self.page_bytes || header.values > most_values {
            return Err(ParquetError::General(format!(
                "the page at byte {start} declares {} bytes and {} values, over the limit of {} and {most_values}",
                header.unpacked, header.values, self.page_bytes
            )));
        }
        Ok(())
    }
}

impl Length for Guard {
    fn len(&self) -> u64 {
        self.store.len()
    }
}

impl ChunkReader for Guard {
    type T = Box<dyn Read>;

    /// The decoder asks for a reader at the header of each page, and only there.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.check_header(start)?;
        match &self.store {
            Store::File(file) => Ok(Box::new(file.get_read(start)?)),
            Store::Bytes(bytes) => Ok(Box::new(bytes.get_read(start)?)),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.store.bytes(start, length as u64)
    }
}

/// The fields of a page's header that sizes depend on.
#[derive(Debug, PartialEq)]
struct PageHeader {
    unpacked: u64,
    packed: u64,
    values: u64,
    dictionary: bool,
}

impl PageHeader {
    /// Fields 1 to 3 are type and sizes, 4 a checksum that may be left out; 5 to 8 are the headers of the four
    /// types of page, of which all but an index page (6) start with the number of values.
    fn parse(head: &[u8]) -> Option<PageHeader> {
        let mut walk = Walk { rest: head };
        let _page_type = next_i32(&mut walk)?;
        let unpacked = u64::try_from(next_i32(&mut walk)?).ok()?;
        let packed = u64::try_from(next_i32(&mut walk)?).ok()?;
        let mut field = 3;
        if walk.rest.first() == Some(&NEXT_I32) {
            next_i32(&mut walk)?;
            field = 4;
        }
        let (&next, inner) = walk.rest.split_first()?;
        // The high half counts field numbers onwards, the low half is the type: 12 is a structure.
        let (field, is_structure) = (field + (next >> 4), next & 0x0f == 12);
        if !is_structure || !(5..=8).contains(&field) {
            return None;
        }
        walk.rest = inner;
        let values = if field == 6 { 0 } else { u64::try_from(next_i32(&mut walk)?).ok()? };
        Some(PageHeader { unpacked, packed, values, dictionary: field == 7 })
    }
}

/// A 32-bit integer in the field after the last one.
fn next_i32(walk: &mut Walk<'_>) -> Option<i32> {
    walk.rest = walk.rest.strip_prefix(&[NEXT_I32])?;
    i32::try_from(walk.zigzag()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_with_and_without_a_checksum() {
        // Type 0, 300 bytes unpacked, 5 packed, a data page of 64 values.
        let plain = [0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x0a, 0x2c, 0x15, 0x80, 0x01];
        let expected = PageHeader { unpacked: 300, packed: 5, values: 64, dictionary: false };
        assert_eq!(PageHeader::parse(&plain), Some(expected));
        // The same with a checksum of -1, as a dictionary of 3.
        let summed = [0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x0a, 0x15, 0x01, 0x3c, 0x15, 0x06];
        let expected = PageHeader { unpacked: 300, packed: 5, values: 3, dictionary: true };
        assert_eq!(PageHeader::parse(&summed), Some(expected));
        for wrong in [&plain[..7], &[0x15, 0x00, 0x15, 0x01, 0x15, 0x0a, 0x2c, 0x15, 0x00], &[0x16, 0x00], &[]] {
            assert_eq!(PageHeader::parse(wrong), None);
        }
    }
}
