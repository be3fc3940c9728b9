//! IDX files, as MNIST and its family are distributed, gzipped or not.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::limits::MAX_DIMENSIONS;
use super::npy::{Dtype, ElementKind, Header, Open};
use super::source::{Content, read_blocks};
use super::{ReadOptions, Source};
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::table::Column;

/// Reads a file of features. For a file of images the labels are read too, if they lie beside it under the usual
/// name (`train-images-idx3-ubyte` and `train-labels-idx1-ubyte`).
pub fn read_idx(source: &Source, options: &ReadOptions) -> Result<Input> {
    let features = open(source, options)?.features().map_err(|error| error.in_file(source.name()))?;
    let input =
        Input { features: Features::Array(features), labels: None, ids: None, source: source.name().to_string() };
    match source.content() {
        Content::File(path) => match labels_beside(path) {
            Some(labels) => input.with_labels(read_idx_labels(&Source::file(labels), options)?),
            None => Ok(input),
        },
        Content::Bytes(_) | Content::Spooled(_) => Ok(input),
    }
}

/// Reads a file of labels.
pub fn read_idx_labels(source: &Source, options: &ReadOptions) -> Result<Column> {
    open(source, options)?.column("label").map_err(|error| error.in_file(source.name()))
}

/// Whether these first bytes are those of an IDX file.
pub(super) fn is_idx(head: &[u8]) -> bool {
    matches!(head, [0, 0, code, dimensions, ..] if dtype(*code).is_some() && (1..=8).contains(dimensions))
}

fn open(source: &Source, options: &ReadOptions) -> Result<Open<'static>> {
    let length = if source.is_packed()? { None } else { Some(source.len()?) };
    let mut reader = source.open_unpacked(&options.limits)?;
    read_header(&mut reader)
        .and_then(|header| Open::with_header(header, reader, length))
        .map_err(|error| error.in_file(source.name()))
}

/// Two zeros, a type, the number of dimensions, and each dimension in four bytes, highest first.
fn read_header(reader: &mut dyn Read) -> Result<Header> {
    let mut take = |bytes: usize| {
        let mut taken = Vec::new();
        read_blocks(reader, bytes as u64, 1, "the IDX header", |block| {
            taken.extend_from_slice(block);
            Ok(())
        })?;
        Ok::<_, Error>(taken)
    };
    let start = take(4)?;
    let dtype = match start[..2] {
        [0, 0] => dtype(start[2]),
        _ => return Err(Error::malformed("IDX", "it does not start with two zero bytes")),
    };
    let dtype =
        dtype.ok_or_else(|| Error::new(Problem::Unsupported(format!("the IDX element type 0x{:02x}", start[2]))))?;
    let dimensions = usize::from(start[3]);
    if dimensions > MAX_DIMENSIONS {
        return Err(Error::new(Problem::TooLarge {
            what: "the number of dimensions".into(),
            size: dimensions as u64,
            limit: MAX_DIMENSIONS as u64,
        }));
    }
    let sizes = take(4 * dimensions)?;
    let shape =
        sizes.chunks_exact(4).map(|size| u32::from_be_bytes([size[0], size[1], size[2], size[3]]) as usize).collect();
    Ok(Header { dtype, fortran: false, shape, data_offset: 4 + 4 * dimensions as u64 })
}

fn dtype(code: u8) -> Option<Dtype> {
    let (kind, size) = match code {
        0x08 => (ElementKind::Unsigned, 1),
        0x09 => (ElementKind::Signed, 1),
        0x0b => (ElementKind::Signed, 2),
        0x0c => (ElementKind::Signed, 4),
        0x0d => (ElementKind::Float, 4),
        0x0e => (ElementKind::Float, 8),
        _ => return None,
    };
    Some(Dtype { kind, size, big_endian: true })
}

/// The file of labels that belongs to a file of images, packed or not, if it is there.
pub(super) fn labels_beside(images: &Path) -> Option<PathBuf> {
    let name = images.file_name()?.to_str()?;
    if !name.contains("images") {
        return None;
    }
    let labels = name.replace("images", "labels").replace("idx3", "idx1");
    let bare = labels.trim_end_matches(".gz");
    [labels.clone(), bare.to_string(), format!("{bare}.gz")]
        .into_iter()
        .map(|name| images.with_file_name(name))
        .find(|path| path.is_file())
}
