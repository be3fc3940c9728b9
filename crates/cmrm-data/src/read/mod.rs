//! Readers: a file or bytes in memory become an [`Input`].
//!
//! [`read`] takes it whole. [`open`] gives an [`Opened`] file that can be passed over in chunks as often as wanted,
//! in the memory of one chunk. The format is picked by content, then by name, and can be stated.

mod arrays;
mod cifar;
mod csv;
mod folder;
mod format;
mod idx;
pub mod limits;
mod npy;
mod npz;
mod options;
mod parquet;
mod plain;
mod source;
mod sparse;

pub use self::csv::{CsvChunks, CsvFile, Dialect};
pub use self::parquet::{ParquetChunks, ParquetFile};
pub use cifar::{read_cifar10, read_cifar100};
pub use folder::{arrays_of, read_path};
pub use format::Format;
pub use idx::{read_idx, read_idx_labels};
pub use limits::Limits;
pub use npy::{Dtype, ElementKind, Header, NpyRows, read_npy, read_npy_labels};
pub use npz::read_npz;
pub use options::{ArrayNames, Expected, ExpectedColumn, ReadOptions, TextOptions};
pub use plain::read_text;
pub use source::Source;

pub(crate) use options::missing_columns;

use std::sync::Arc;

use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::table::{Column, ColumnRef, Override};

/// Rows that [`read`] takes at a time from formats that are read in chunks.
pub const CHUNK_ROWS: usize = 1 << 14;

/// Chunks of a file, in order. An error ends them.
pub type Chunks = Box<dyn Iterator<Item = Result<Input>> + Send>;

/// A file whose columns are known and whose rows can be passed over any number of times.
pub enum Opened {
    /// Text.
    Csv(Arc<CsvFile>),
    /// Parquet.
    Parquet(Arc<ParquetFile>),
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
    let whole = |input: Result<Input>| Ok(Opened::Whole(Box::new(input?)));
    match format {
        Format::Csv => Ok(Opened::Csv(Arc::new(CsvFile::open(source, options)?))),
        Format::Parquet => Ok(Opened::Parquet(Arc::new(ParquetFile::open(source, options)?))),
        _ if options.label.is_some() || options.id.is_some() => Err(no_columns(source, options, format)),
        // With the first index fastest, a row is spread over the whole file.
        Format::Npy if npy::open(source, options)?.header.fortran => whole(read_npy(source, options)),
        Format::Npy => Ok(Opened::Npy(source.clone(), Box::new(options.clone()))),
        Format::Npz => whole(read_npz(source, options)),
        Format::Idx => whole(read_idx(source, options)),
        Format::Cifar10 => whole(read_cifar10(source, options)),
        Format::Cifar100 => whole(read_cifar100(source, options)),
    }
}

/// Reads a file or bytes in memory whole.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Input> {
    match open(source, options)? {
        Opened::Whole(input) => Ok(*input),
        Opened::Npy(source, options) => read_npy(&source, &options),
        opened => {
            if let Opened::Parquet(file) = &opened {
                file.check_size()?;
            }
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

/// Reads labels that have a file of their own: an array, or a table with one column or with the stated label column.
pub fn read_labels(source: &Source, options: &ReadOptions) -> Result<Column> {
    let format = match options.format {
        Some(format) => format,
        None => Format::detect(source, options)?,
    };
    match format {
        Format::Npy => read_npy_labels(source, options),
        Format::Idx => read_idx_labels(source, options),
        Format::Csv | Format::Parquet => read_label_table(source, options),
        Format::Npz | Format::Cifar10 | Format::Cifar100 => read(source, options)?
            .labels
            .ok_or_else(|| Error::new(Problem::Empty("the set of labels".into())).in_file(source.name())),
    }
}

/// A lone column is the label, and its text is kept; in a table with more columns it has to be named.
fn read_label_table(source: &Source, options: &ReadOptions) -> Result<Column> {
    let names = match open(source, &ReadOptions { label: None, ..options.clone() })? {
        Opened::Csv(file) => file.names().to_vec(),
        Opened::Parquet(file) => file.names().to_vec(),
        _ => Vec::new(),
    };
    let label = match (&options.label, names.as_slice()) {
        (Some(label), _) => label.resolve(&names).map_err(|error| error.in_file(source.name()))?,
        (None, [_]) => 0,
        (None, _) => {
            return Err(Error::option(format!("the label file has {} columns", names.len()))
                .in_file(source.name())
                .way_out(format!("name the label column: {}", crate::error::quoted(&names))));
        }
    };
    // Read as an ordinary column of names, since a table of labels has no features.
    let mut plain = ReadOptions { label: None, ..options.clone() };
    plain.overrides = names.iter().map(|name| (name.clone(), Override::Ignore)).collect();
    plain.overrides.insert(names[label].clone(), Override::Categorical);
    match read(source, &plain)?.features {
        Features::Table(mut table) => table.take(&ColumnRef::from(0)),
        Features::Array(_) => Err(Error::new(Problem::Empty("the set of labels".into()))),
    }
}

impl Opened {
    /// The rows, at most `rows` at a time; formats that are read whole come as one chunk.
    pub fn chunks(&self, rows: usize) -> Result<Chunks> {
        match self {
            Opened::Csv(file) => Ok(Box::new(file.chunks(rows)?)),
            Opened::Parquet(file) => Ok(Box::new(file.chunks(rows))),
            Opened::Npy(source, options) => Ok(Box::new(npy::NpyChunks::new(source, options, rows)?)),
            Opened::Whole(input) => Ok(Box::new(std::iter::once(Ok((**input).clone())))),
        }
    }
}

fn no_columns(source: &Source, options: &ReadOptions, format: Format) -> Error {
    let column = options.label.as_ref().or(options.id.as_ref()).map_or("", |column| column.0.as_str());
    Error::option(format!("a file of format {format} has no column '{column}'"))
        .in_file(source.name())
        .way_out("give the labels as an array of the same archive or folder, or in a separate file")
}
