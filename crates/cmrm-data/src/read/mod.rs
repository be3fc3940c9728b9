//! Readers: a file or bytes in memory become an [`Input`].
//!
//! [`read`] takes it whole. [`open`] gives an [`Opened`] file that can be passed over in chunks as often as wanted,
//! in the memory of one chunk. The format is picked by content, then by name, and can be stated.

mod csv;
mod format;
pub mod limits;
mod npy;
mod options;
mod source;

pub use self::csv::{CsvChunks, CsvFile, Dialect};
pub use format::Format;
pub use limits::Limits;
pub use npy::{Dtype, ElementKind, Header, read_npy, read_npy_labels};
pub use options::{ArrayNames, Expected, ExpectedColumn, ReadOptions, TextOptions};
pub use source::Source;

use std::sync::Arc;

use crate::dataset::Input;
use crate::error::{Error, Problem, Result};
use crate::table::Column;

/// Rows that [`read`] takes at a time from formats that are read in chunks.
pub const CHUNK_ROWS: usize = 1 << 14;

/// Chunks of a file, in order. An error ends them.
pub type Chunks = Box<dyn Iterator<Item = Result<Input>> + Send>;

/// A file whose columns are known and whose rows can be passed over any number of times.
pub enum Opened {
    /// Text.
    Csv(Arc<CsvFile>),
    /// A row-major array.
    Npy(Source, Box<ReadOptions>),
    /// A format that is read whole.
    Whole(Box<Input>),
}

/// Opens a file or bytes in memory.
pub fn open(source: &Source, options: &ReadOptions) -> Result<Opened> {
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(source, options)?,
    };
    match format {
        Format::Csv => Ok(Opened::Csv(Arc::new(CsvFile::open(source, options)?))),
        Format::Npy => {
            no_label_column(source, options, "NPY")?;
            match npy::open(source, options)?.header.fortran {
                true => Ok(Opened::Whole(Box::new(read_npy(source, options)?))),
                false => Ok(Opened::Npy(source.clone(), Box::new(options.clone()))),
            }
        }
    }
}

/// Reads a file or bytes in memory whole.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Input> {
    match open(source, options)? {
        Opened::Whole(input) => Ok(*input),
        Opened::Npy(source, options) => read_npy(&source, &options),
        opened => {
            let mut chunks = opened.chunks(CHUNK_ROWS)?;
            let mut input =
                chunks.next().ok_or_else(|| Error::new(Problem::Empty("the file".into())).in_file(source.name()))??;
            for chunk in chunks {
                input.append(chunk?)?;
            }
            Ok(input)
        }
    }
}

/// Reads a file that holds nothing but labels: one array, or text with a single column.
pub fn read_labels(source: &Source, options: &ReadOptions) -> Result<Column> {
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(source, options)?,
    };
    match format {
        Format::Npy => read_npy_labels(source, options),
        Format::Csv => Err(Error::new(Problem::Unsupported("a text file of labels alone".into()))),
    }
}

impl Opened {
    /// The rows, at most `rows` at a time; formats that are read whole come as one chunk.
    pub fn chunks(&self, rows: usize) -> Result<Chunks> {
        match self {
            Opened::Csv(file) => Ok(Box::new(file.chunks(rows)?)),
            Opened::Npy(source, options) => Ok(Box::new(npy::NpyChunks::new(source, options, rows)?)),
            Opened::Whole(input) => Ok(Box::new(std::iter::once(Ok((**input).clone())))),
        }
    }
}

fn no_label_column(source: &Source, options: &ReadOptions, format: &str) -> Result<()> {
    match options.label.as_ref().or(options.id.as_ref()) {
        None => Ok(()),
        Some(column) => Err(Error::option(format!("an {format} file has no column '{column}'"))
            .in_file(source.name())
            .way_out("give the labels as a file of their own")),
    }
}
