//! The messages of an Arrow file or stream, one after the other.
//!
//! A stream starts with its schema. A file has a footer with the schema and with the places of all other messages; what
//! stands between them does not count.

use std::io::{Read, Seek, SeekFrom};

use bytes::Bytes;

use super::flat::Table;
use super::schema::{Field, fields_of};
use super::{MAGIC, malformed};
use crate::error::{Error, Problem, Result};
use crate::read::limits::MAX_FOOTER_BYTES;
use crate::read::source::{ReadSeek, io_error, read_head};
use crate::read::{ReadOptions, Source};

/// What stands before the length of a message's metadata, since version 0.15.
const CONTINUATION: u32 = u32::MAX;
/// Numbers of the headers that a message may have.
const SCHEMA: u8 = 1;
const DICTIONARY_BATCH: u8 = 2;
const RECORD_BATCH: u8 = 3;

/// A message: what it is, its header, and its bytes.
pub(super) enum Message {
    Schema(Metadata),
    Dictionary(Metadata, Bytes),
    Rows(Metadata, Bytes),
    /// A tensor, which is no table.
    Other,
}

/// A message's metadata, which can be followed to its header.
pub(super) struct Metadata(Vec<u8>);

impl Metadata {
    pub fn header(&self) -> Result<Table<'_>> {
        Table::root(&self.0)?.table(2)?.ok_or_else(|| malformed("a message has no header"))
    }
}

/// Reads message after message.
pub(super) enum Messages {
    Stream(Box<dyn Read + Send>),
    /// A file, and where its dictionaries and then its rows are.
    File(Box<dyn ReadSeek>, std::vec::IntoIter<u64>),
}

impl Messages {
    /// The columns, and the messages behind the schema.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<(Vec<Field>, Self)> {
        let mut reader = source.open_unpacked(&options.limits)?;
        let head = read_head(&mut reader, MAGIC.len()).map_err(io_error)?;
        if head.starts_with(b"FEA1") {
            return Err(Error::new(Problem::Unsupported("Feather version 1".into()))
                .way_out("write version 2: in pandas to_feather(file) with a current pyarrow"));
        }
        if head == MAGIC {
            return open_file(source.open_seekable()?, source.len()?);
        }
        let mut messages = Messages::Stream(Box::new(std::io::Cursor::new(head).chain(reader)));
        match messages.next()? {
            Some(Message::Schema(schema)) => Ok((fields_of(schema.header()?)?, messages)),
            _ => Err(malformed("it does not start with a schema")),
        }
    }

    pub fn next(&mut self) -> Result<Option<Message>> {
        match self {
            Messages::Stream(reader) => next_message(reader),
            Messages::File(reader, places) => {
                let Some(place) = places.next() else { return Ok(None) };
                reader.seek(SeekFrom::Start(place)).map_err(io_error)?;
                let message = next_message(reader)?;
                message.map(Some).ok_or_else(|| malformed(format!("there is no message at byte {place}")))
            }
        }
    }
}

fn next_message(reader: &mut dyn Read) -> Result<Option<Message>> {
    let Some(mut length) = read_length(reader)? else { return Ok(None) };
    if length == CONTINUATION {
        length = read_length(reader)?.unwrap_or(0);
    }
    if length == 0 {
        return Ok(None);
    }
    if u64::from(length) > MAX_FOOTER_BYTES {
        let what = "the metadata of an Arrow message, in bytes,".to_string();
        return Err(Error::new(Problem::TooLarge { what, size: length.into(), limit: MAX_FOOTER_BYTES }));
    }
    let metadata = read_part(reader, u64::from(length), "the metadata of an Arrow message")?;
    let root = Table::root(&metadata)?;
    let (kind, body) = (root.u8(1)?, root.i64(3)?);
    let body = u64::try_from(body).map_err(|_| malformed("a message has a negative length"))?;
    let body = Bytes::from(read_part(reader, body, "the body of an Arrow message")?);
    let metadata = Metadata(metadata);
    Ok(Some(match kind {
        SCHEMA => Message::Schema(metadata),
        DICTIONARY_BATCH => Message::Dictionary(metadata, body),
        RECORD_BATCH => Message::Rows(metadata, body),
        _ => Message::Other,
    }))
}

/// A length in four bytes; nothing at the end.
fn read_length(reader: &mut dyn Read) -> Result<Option<u32>> {
    let bytes = read_head(reader, 4).map_err(io_error)?;
    match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ok(Some(u32::from_le_bytes(bytes))),
        Err(_) if bytes.is_empty() => Ok(None),
        Err(_) => Err(cut_short("the length of an Arrow message", 4, bytes.len() as u64)),
    }
}

/// Exactly so many bytes; memory is taken for those that are there, whatever is declared.
fn read_part(reader: &mut dyn Read, length: u64, what: &str) -> Result<Vec<u8>> {
    let mut part = Vec::new();
    let found = reader.take(length).read_to_end(&mut part).map_err(io_error)? as u64;
    if found == length { Ok(part) } else { Err(cut_short(what, length, found)) }
}

/// Opens a file by its footer, behind which its length and the magic stand.
fn open_file(mut reader: Box<dyn ReadSeek>, length: u64) -> Result<(Vec<Field>, Messages)> {
    let tail = 4 + MAGIC.len() as u64;
    let no_footer = || {
        malformed("it does not end with a footer and the magic ARROW1")
            .way_out("the file is incomplete: copy, download or write it again")
    };
    let end = length.checked_sub(tail).ok_or_else(no_footer)?;
    reader.seek(SeekFrom::Start(end)).map_err(io_error)?;
    let size = u64::from(read_length(&mut reader)?.ok_or_else(no_footer)?);
    let start = end.checked_sub(size).ok_or_else(no_footer)?;
    if read_head(&mut reader, MAGIC.len()).map_err(io_error)? != MAGIC || size > MAX_FOOTER_BYTES {
        return Err(no_footer());
    }
    reader.seek(SeekFrom::Start(start)).map_err(io_error)?;
    let footer = read_part(&mut reader, size, "the footer of an Arrow file")?;
    let footer = Table::root(&footer)?;
    let fields = fields_of(footer.table(1)?.ok_or_else(no_footer)?)?;
    let dictionaries = footer.block_places(2)?;
    let places: Vec<u64> = dictionaries.into_iter().chain(footer.block_places(3)?).collect();
    Ok((fields, Messages::File(reader, places.into_iter())))
}

fn cut_short(what: &str, expected: u64, found: u64) -> Error {
    Error::new(Problem::Truncated { what: what.into(), expected, found })
        .way_out("the file is incomplete: copy, download or write it again")
}
