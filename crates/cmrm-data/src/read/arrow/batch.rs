//! The arrays of a batch: their buffers cut out of the message's body, unpacked, and checked against the rows.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;

use super::array::{Array, Data};
use super::flat::Table;
use super::malformed;
use super::schema::{Field, Type};
use crate::error::{Error, Problem, Result};
use crate::read::Limits;
use crate::read::source::{Bounded, io_error};
use crate::table::Column;

/// The dictionaries so far, by their number.
pub(super) type Dictionaries = HashMap<i64, Arc<Column>>;

/// Reads the arrays of the wanted columns, with `None` for the others, and the number of rows.
pub(super) fn read_batch<'a>(
    batch: Table<'_>,
    body: &Bytes,
    fields: impl Iterator<Item = (&'a Field, bool)>,
    dictionaries: &Dictionaries,
    limits: &Limits,
) -> Result<(usize, Vec<Option<Array>>)> {
    let rows = usize::try_from(batch.i64(0)?).map_err(|_| malformed("a batch has a negative number of rows"))?;
    let codec = match batch.table(3)? {
        None => None,
        Some(compression) => Some(compression.u8(0)?),
    };
    let mut parts = Parts {
        arrays: batch.pairs(1)?.into_iter(),
        buffers: batch.pairs(2)?.into_iter(),
        pieces: batch.longs(4)?.into_iter(),
        body,
        codec,
        left: limits.of_packed(body.len() as u64),
    };
    let mut arrays = Vec::new();
    for (field, wanted) in fields {
        let array =
            if wanted { Some(parts.array(field, rows, dictionaries)) } else { parts.skip(field).err().map(Err) };
        arrays.push(array.transpose().map_err(|error| error.in_column(&*field.name))?);
    }
    Ok((rows, arrays))
}

/// What a batch lists, in the order of its columns.
struct Parts<'a> {
    /// Length and missing cells of each array.
    arrays: std::vec::IntoIter<(i64, i64)>,
    /// Place and length of each buffer.
    buffers: std::vec::IntoIter<(i64, i64)>,
    /// For each array of views, how many pieces it has.
    pieces: std::vec::IntoIter<i64>,
    body: &'a Bytes,
    codec: Option<u8>,
    /// Bytes that the rest of the batch may unpack to.
    left: u64,
}

impl Parts<'_> {
    fn array(&mut self, field: &Field, rows: usize, dictionaries: &Dictionaries) -> Result<Array> {
        let (length, _) = self.arrays.next().ok_or_else(too_few)?;
        if usize::try_from(length) != Ok(rows) {
            let what = format!("an array has {length} values where its batch has {rows} rows");
            return Err(malformed(what));
        }
        let of = match field.encoding {
            Some(encoding) => Type::Integer { bytes: encoding.index_bytes, signed: encoding.index_signed },
            None => field.of,
        };
        let valid = if of == Type::Null { Bytes::new() } else { self.buffer()? };
        let data = match of {
            Type::Null => Data::Fixed(Bytes::new()),
            Type::Text { wide } => Data::Text { offsets: self.buffer()?, text: self.buffer()?, wide },
            Type::TextView => {
                let views = self.buffer()?;
                let pieces = self.piece_count()?;
                Data::Views { views, pieces: (0..pieces).map(|_| self.buffer()).collect::<Result<_>>()? }
            }
            _ => Data::Fixed(self.buffer()?),
        };
        let dictionary = match field.encoding {
            None => None,
            Some(encoding) => Some(dictionaries.get(&encoding.id).cloned().ok_or_else(|| {
                malformed("a dictionary comes behind the rows that use it")
                    .way_out("write the column as text, or the file as a stream")
            })?),
        };
        Array::new(of, rows, valid, data, dictionary)
    }

    /// Passes over a column.
    fn skip(&mut self, field: &Field) -> Result<()> {
        for _ in 0..field.arrays {
            self.arrays.next().ok_or_else(too_few)?;
        }
        let mut buffers = field.buffers;
        for _ in 0..field.views {
            buffers = buffers.saturating_add(self.piece_count()?);
        }
        for _ in 0..buffers {
            self.buffers.next().ok_or_else(too_few)?;
        }
        Ok(())
    }

    /// How many pieces the next array of views has: no more than there are buffers.
    fn piece_count(&mut self) -> Result<usize> {
        let count = self.pieces.next().and_then(|count| usize::try_from(count).ok());
        count.filter(|&count| count <= self.buffers.len()).ok_or_else(too_few)
    }

    /// The next buffer, unpacked.
    fn buffer(&mut self) -> Result<Bytes> {
        let (start, length) = self.buffers.next().ok_or_else(too_few)?;
        let place = usize::try_from(start).ok().zip(usize::try_from(length).ok());
        let place = place.and_then(|(start, length)| Some((start, start.checked_add(length)?)));
        let Some((start, end)) = place.filter(|&(_, end)| end <= self.body.len()) else {
            return Err(malformed(format!(
                "a buffer of {length} bytes at {start} is outside its message of {} bytes",
                self.body.len()
            )));
        };
        let packed = self.body.slice(start..end);
        let Some(codec) = self.codec.filter(|_| !packed.is_empty()) else { return Ok(packed) };
        let (Some(declared), Some(packed)) =
            (packed.first_chunk().map(|size| i64::from_le_bytes(*size)), packed.get(8..))
        else {
            return Err(malformed("a compressed buffer is too short for its length"));
        };
        // A buffer that compression would only make longer is left as it is.
        if declared == -1 {
            return Ok(self.body.slice(start + 8..end));
        }
        let declared = u64::try_from(declared).map_err(|_| malformed("a buffer has a negative length"))?;
        self.unpack(codec, packed, declared)
    }

    /// Unpacks a buffer; memory is taken for what comes out, whatever is declared.
    fn unpack(&mut self, codec: u8, packed: &[u8], declared: u64) -> Result<Bytes> {
        let reader: Box<dyn Read + '_> = match codec {
            0 => Box::new(lz4_flex::frame::FrameDecoder::new(packed)),
            1 => zstd_reader(packed)?,
            codec => return Err(Error::new(Problem::Unsupported(format!("Arrow's compression number {codec}")))),
        };
        let mut unpacked = Vec::new();
        let limit = self.left;
        Bounded { reader: reader.take(declared.saturating_add(1)), left: limit, limit }
            .read_to_end(&mut unpacked)
            .map_err(|error| match error.get_ref().is_some_and(|inner| inner.is::<lz4_flex::frame::Error>()) {
                true => malformed(error),
                false => io_error(error),
            })?;
        if unpacked.len() as u64 != declared {
            return Err(malformed(format!("a buffer does not unpack to the {declared} bytes that it declares")));
        }
        self.left -= declared;
        Ok(unpacked.into())
    }
}

#[cfg(feature = "zstd")]
fn zstd_reader(packed: &[u8]) -> Result<Box<dyn Read + '_>> {
    Ok(Box::new(zstd::stream::read::Decoder::with_buffer(packed).map_err(io_error)?))
}

#[cfg(not(feature = "zstd"))]
fn zstd_reader(_: &[u8]) -> Result<Box<dyn Read>> {
    Err(Error::new(Problem::Unsupported("zstd in this build".into()))
        .way_out("write the file with lz4, or uncompressed"))
}

fn too_few() -> Error {
    malformed("a batch lists fewer arrays or buffers than the columns take")
}
