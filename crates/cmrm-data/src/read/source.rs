//! Where bytes come from: a file, memory, or a stream that was put aside. All can be opened any number of times.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

use super::Limits;
use super::spool::{ReadAt, Spooled, spool};
use crate::error::{Error, Problem, Result};

/// A file or bytes in memory, with a name for messages.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    File(PathBuf),
    Bytes(Bytes),
    /// A file without a name, which is gone when the last handle is.
    Spooled(Arc<File>),
}

/// What can be read from any place.
pub(crate) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// How bytes are packed, by their first ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn of(head: &[u8]) -> Option<Packing> {
        match head {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            // A frame, or one that is skipped: parallel packers put such frames first.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Packing::Zstd),
            _ => None,
        }
    }
}

impl Source {
    /// A file.
    pub fn file(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Source { name: path.display().to_string(), content: Content::File(path.to_path_buf()) }
    }

    /// Bytes in memory, under a name that messages use and whose extension counts.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Source { name: name.into(), content: Content::Bytes(bytes.into()) }
    }

    /// A stream that can be read only once, such as standard input: put aside in memory, or if it is long in a
    /// temporary file that vanishes with the program, however that ends.
    pub fn stream(name: impl Into<String>, reader: impl Read) -> Result<Self> {
        let name = name.into();
        let content = match spool(reader).map_err(|error| io_error(error).in_file(&name))? {
            Spooled::Memory(bytes) => Content::Bytes(bytes.into()),
            Spooled::File(file) => Content::Spooled(Arc::new(file)),
        };
        Ok(Source { name, content })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    /// Number of bytes.
    pub fn len(&self) -> Result<u64> {
        match &self.content {
            Content::Bytes(bytes) => Ok(bytes.len() as u64),
            Content::File(path) => Ok(std::fs::metadata(path).map_err(|error| self.io(error))?.len()),
            Content::Spooled(file) => Ok(file.metadata().map_err(|error| self.io(error))?.len()),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The bytes from the start.
    pub fn open(&self) -> Result<Box<dyn Read + Send>> {
        match &self.content {
            Content::Bytes(bytes) => Ok(Box::new(Cursor::new(bytes.clone()))),
            Content::File(path) => Ok(Box::new(self.open_file(path)?)),
            Content::Spooled(file) => Ok(Box::new(ReadAt::new(file.clone()))),
        }
    }

    /// The same, for readers that move about.
    pub(crate) fn open_seekable(&self) -> Result<Box<dyn ReadSeek>> {
        match &self.content {
            Content::Bytes(bytes) => Ok(Box::new(Cursor::new(bytes.clone()))),
            Content::File(path) => Ok(Box::new(BufReader::new(self.open_file(path)?))),
            Content::Spooled(file) => Ok(Box::new(BufReader::new(ReadAt::new(file.clone())))),
        }
    }

    pub(crate) fn open_file(&self, path: &Path) -> Result<File> {
        let file = File::open(path).map_err(|error| self.io(error))?;
        let folder = file.metadata().map_err(|error| self.io(error))?.is_dir();
        if folder { Err(Error::option("this is a folder, not a file").in_file(&self.name)) } else { Ok(file) }
    }

    /// The bytes from the start, unpacked if they are a gzip or zstd file; an error once they unpack to more than the
    /// limit.
    pub fn open_unpacked(&self, limits: &Limits) -> Result<Box<dyn Read + Send>> {
        let reader = self.open()?;
        let Some(packing) = self.packing()? else { return Ok(reader) };
        let unpacked: Box<dyn Read + Send> = match packing {
            Packing::Gzip => Box::new(MultiGzDecoder::new(BufReader::new(reader))),
            Packing::Zstd => unpack_zstd(reader).map_err(|error| error.in_file(&self.name))?,
        };
        let limit = limits.of_packed(self.len()?);
        Ok(Box::new(Bounded { reader: unpacked, left: limit, limit }))
    }

    /// Whether the bytes are a gzip or zstd file.
    pub fn is_packed(&self) -> Result<bool> {
        Ok(self.packing()?.is_some())
    }

    fn packing(&self) -> Result<Option<Packing>> {
        Ok(Packing::of(&self.head(4)?))
    }

    /// At most `length` bytes from the start.
    pub fn head(&self, length: usize) -> Result<Vec<u8>> {
        read_head(self.open()?, length).map_err(|error| self.io(error))
    }

    /// All bytes as they are, for files that are parsed whole, such as models.
    pub fn read_all(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes).map_err(|error| self.io(error))?;
        Ok(bytes)
    }

    pub(crate) fn io(&self, error: std::io::Error) -> Error {
        io_error(error).in_file(&self.name)
    }
}

/// The library refuses a window of more than 128 MiB, which bounds the memory.
#[cfg(feature = "zstd")]
fn unpack_zstd(reader: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
    Ok(Box::new(zstd::stream::read::Decoder::new(reader).map_err(io_error)?))
}

#[cfg(not(feature = "zstd"))]
fn unpack_zstd(_: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
    Err(Error::new(Problem::Unsupported("zstd in this build".into())).way_out("unpack the file first (zstd -d)"))
}

/// The way out for a file that unpacks to too much.
pub(crate) const UNPACK_FIRST: &str =
    "if you trust the file, unpack it first, or save it without compression (numpy.savez)";

/// At most `length` bytes of a reader.
pub(crate) fn read_head(reader: impl Read, length: usize) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(length as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Turns an error that a [`Bounded`] reader raised back into what it was.
pub(crate) fn io_error(error: std::io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<OverLimit>()) {
        Some(over) => too_large(over.0),
        None => match crate::files::way_out_of_reading(error.kind()) {
            "" => Error::from(error),
            advice => Error::from(error).way_out(advice),
        },
    }
}

pub(crate) fn too_large(limit: u64) -> Error {
    Error::new(Problem::TooLarge { what: "the unpacked data, in bytes, at least".into(), size: limit + 1, limit })
        .way_out(UNPACK_FIRST)
}

#[derive(Debug, thiserror::Error)]
#[error("unpacks to more than {0} bytes")]
struct OverLimit(u64);

/// Passes bytes on and fails at the first one over a limit, unlike [`Read::take`], which ends silently.
pub(crate) struct Bounded<R> {
    pub(crate) reader: R,
    pub(crate) left: u64,
    pub(crate) limit: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => {
                self.left = left;
                Ok(read)
            }
            None => Err(std::io::Error::other(OverLimit(self.limit))),
        }
    }
}

/// Reads exactly `expected` bytes in blocks and hands each to `take`; memory is one block, whatever is declared.
/// Blocks hold a whole number of `unit` bytes.
pub(crate) fn read_blocks(
    reader: &mut dyn Read,
    expected: u64,
    unit: usize,
    what: &str,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let unit = unit.max(1);
    let block = unit * ((1 << 16) / unit).max(1);
    let mut buffer = vec![0; block];
    let mut done = 0;
    while done < expected {
        let wanted = (block as u64).min(expected - done) as usize;
        let mut filled = 0;
        while filled < wanted {
            match reader.read(&mut buffer[filled..wanted]) {
                Ok(0) => {
                    let found = done + filled as u64;
                    return Err(Error::new(Problem::Truncated { what: what.into(), expected, found })
                        .way_out("the file is incomplete: copy or download it again"));
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error(error)),
            }
        }
        take(&buffer[..wanted])?;
        done += wanted as u64;
    }
    Ok(())
}
