//! Readers: a file or bytes in memory become an [`Input`].
//!
//! [`read`] takes it whole. [`open`] gives an [`Opened`] file that can be passed over in chunks as often as wanted,
//! in the memory of one chunk. The format is picked by content, then by name, and can be stated.

mod arrays;
mod arriving;
mod arrow;
mod cell;
mod cifar;
mod csv;
mod folder;
mod format;
mod idx;
mod json;
pub mod limits;
mod lines;
mod npy;
mod npz;
mod options;
mod parquet;
mod pieces;
mod plain;
mod source;
mod sparse;
mod spool;
mod stream;
mod transition;
mod workbook;

pub use self::arrow::{ArrowChunks, ArrowFile};
pub use self::csv::{CsvChunks, CsvFile, Dialect};
pub use self::json::{JsonChunks, JsonFile};
pub use self::parquet::{ParquetChunks, ParquetFile};
pub use cifar::{read_cifar10, read_cifar100};
pub use folder::{files_of, open_path, read_path};
pub use format::Format;
pub use idx::{read_idx, read_idx_labels};
pub use limits::Limits;
pub use npy::{Dtype, ElementKind, Header, NpyRows, read_npy, read_npy_labels};
pub use npz::read_npz;
pub use options::{ArrayNames, Expected, ExpectedColumn, ReadOptions, TextOptions};
pub use pieces::Pieces;
pub use plain::read_text;
pub use source::Source;
pub use sparse::{read_matrix_market, read_svmlight};
pub use stream::{Incoming, Usual, read_json_rows, read_stream};
pub use transition::read_transition;

pub(crate) use options::missing_columns;

use std::io::ErrorKind;
use std::sync::Arc;

use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::table::{Column, ColumnRef, Kind, Override};

/// Rows that [`read`] takes at a time from formats that are read in chunks.
pub const CHUNK_ROWS: usize = 1 << 14;

/// Chunks of a file, in order. An error ends them.
pub type Chunks = Box<dyn Iterator<Item = Result<Input>> + Send>;

/// A file whose columns are known and whose rows can be passed over any number of times.
pub enum Opened {
    /// Text.
    Csv(Arc<CsvFile>),
    /// JSON.
    Json(Arc<JsonFile>),
    /// Parquet.
    Parquet(Arc<ParquetFile>),
    /// Arrow.
    Arrow(Arc<ArrowFile>),
    /// Several files with the same columns.
    Pieces(Arc<Pieces>),
    /// A row-major array.
    Npy(Source, Box<ReadOptions>),
    /// A format that is read whole.
    Whole(Box<Input>),
}

/// Opens a file or bytes in memory.
pub fn open(source: &Source, options: &ReadOptions) -> Result<Opened> {
    open_here(source, options).map_err(if_incomplete)
}

fn open_here(source: &Source, options: &ReadOptions) -> Result<Opened> {
    let format = format_of(source, options)?;
    let whole = |input: Result<Input>| Ok(Opened::Whole(Box::new(input?)));
    match format {
        Format::Csv => Ok(Opened::Csv(Arc::new(CsvFile::open(source, options)?))),
        Format::Json => Ok(Opened::Json(Arc::new(JsonFile::open(source, options)?))),
        Format::Parquet => Ok(Opened::Parquet(Arc::new(ParquetFile::open(source, options)?))),
        Format::Arrow => Ok(Opened::Arrow(Arc::new(ArrowFile::open(source, options)?))),
        _ if options.label.is_some() || options.id.is_some() => Err(no_columns(source, options, format)),
        // With the first index fastest, a row is spread over the whole file.
        Format::Npy if npy::open(source, options)?.header.fortran => whole(read_npy(source, options)),
        Format::Npy => Ok(Opened::Npy(source.clone(), Box::new(options.clone()))),
        Format::Npz => whole(read_npz(source, options)),
        Format::Svmlight => whole(read_svmlight(source, options)),
        Format::Mtx => whole(read_matrix_market(source, options)),
        Format::Idx => whole(read_idx(source, options)),
        Format::Cifar10 => whole(read_cifar10(source, options)),
        Format::Cifar100 => whole(read_cifar100(source, options)),
    }
}

/// Reads a file or bytes in memory whole.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Input> {
    open(source, options)?.read().map_err(|error| if_incomplete(error).in_file(source.name()))
}

/// The format, stated or detected.
fn format_of(source: &Source, options: &ReadOptions) -> Result<Format> {
    if let Some(format) = options.format {
        return Ok(format);
    }
    workbook::refuse(source)?;
    Format::detect(source, options)
}

/// Adds the way out for a file that ends too early, as a packed one does whose download broke off.
fn if_incomplete(error: Error) -> Error {
    match error.problem() {
        Problem::Io(io) if io.kind() == ErrorKind::UnexpectedEof && error.advice().is_none() => {
            error.way_out("the file is incomplete: copy or download it again")
        }
        _ => error,
    }
}

/// Reads labels that have a file of their own: an array, or a table with one column or with the stated label column.
pub fn read_labels(source: &Source, options: &ReadOptions) -> Result<Column> {
    match format_of(source, options).map_err(if_incomplete)? {
        Format::Npy => read_npy_labels(source, options),
        Format::Idx => read_idx_labels(source, options),
        Format::Csv | Format::Json | Format::Parquet | Format::Arrow => read_label_table(source, options),
        Format::Npz | Format::Svmlight | Format::Mtx | Format::Cifar10 | Format::Cifar100 => {
            let labels = read(source, options)?.labels;
            labels.ok_or_else(|| {
                Error::new(Problem::Empty("the set of labels".into()))
                    .in_file(source.name())
                    .way_out("give one label per row as a column of a CSV file or as an NPY file")
            })
        }
    }
}

/// A lone column is the label, and its text is kept; in a table with more columns it has to be named.
fn read_label_table(source: &Source, options: &ReadOptions) -> Result<Column> {
    let names = open(source, &ReadOptions { label: None, ..options.clone() })?.names().to_vec();
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
        _ => Err(Error::new(Problem::Empty("the set of labels".into()))),
    }
}

impl Opened {
    /// Names of all columns; none in an array.
    pub fn names(&self) -> &[String] {
        match self {
            Opened::Csv(file) => file.names(),
            Opened::Json(file) => file.names(),
            Opened::Parquet(file) => file.names(),
            Opened::Arrow(file) => file.names(),
            Opened::Pieces(pieces) => pieces.names(),
            Opened::Npy(..) | Opened::Whole(_) => &[],
        }
    }

    /// The kind of each column that is read, by name; none in an array.
    pub fn kinds(&self) -> Vec<(&str, Kind)> {
        match self {
            Opened::Csv(file) => file.kinds(),
            Opened::Json(file) => file.kinds(),
            Opened::Parquet(file) => file.kinds(),
            Opened::Arrow(file) => file.kinds(),
            Opened::Pieces(pieces) => pieces.files().next().map(Opened::kinds).unwrap_or_default(),
            Opened::Npy(..) | Opened::Whole(_) => Vec::new(),
        }
    }

    /// Whether cells are text that can be kept as it is written.
    pub fn is_text(&self) -> bool {
        match self {
            Opened::Csv(_) | Opened::Json(_) => true,
            Opened::Pieces(pieces) => pieces.files().all(Opened::is_text),
            _ => false,
        }
    }

    /// The rows, at most `rows` at a time; formats that are read whole come as one chunk.
    pub fn chunks(&self, rows: usize) -> Result<Chunks> {
        let chunks: Chunks = match self {
            Opened::Csv(file) => Box::new(file.chunks(rows)?),
            Opened::Json(file) => Box::new(file.chunks(rows)?),
            Opened::Parquet(file) => Box::new(file.chunks(rows)),
            Opened::Arrow(file) => Box::new(file.chunks(rows)?),
            Opened::Pieces(pieces) => Box::new(pieces.chunks(rows)),
            Opened::Npy(source, options) => Box::new(npy::NpyChunks::new(source, options, rows)?),
            Opened::Whole(input) => Box::new(std::iter::once(Ok((**input).clone()))),
        };
        Ok(Box::new(chunks.map(|chunk| chunk.map_err(if_incomplete))))
    }

    /// All rows.
    pub fn read(self) -> Result<Input> {
        match self {
            Opened::Whole(input) => return Ok(*input),
            Opened::Npy(source, options) => return read_npy(&source, &options),
            _ => self.check_size(0)?,
        }
        let mut chunks = self.chunks(CHUNK_ROWS)?;
        let mut input = chunks.next().ok_or_else(|| Error::new(Problem::Empty("the file".into())))??;
        for chunk in chunks {
            input.append(chunk?)?;
            self.check_size(input.features.rows() as u64)?;
        }
        input.features = match (input.features, self.typed_options()) {
            (Features::Table(table), Some(options)) => {
                Features::Table(table.with_text_found(|name| options.states_kind(name))?)
            }
            (features, _) => features,
        };
        Ok(input)
    }

    /// How a file is read whose columns have types, among which there is none for sentences.
    fn typed_options(&self) -> Option<&ReadOptions> {
        match self {
            Opened::Parquet(file) => Some(file.options()),
            Opened::Arrow(file) => Some(file.options()),
            Opened::Pieces(pieces) => pieces.files().next().and_then(Opened::typed_options),
            _ => None,
        }
    }

    /// Refuses to hold more in memory than the length of a file allows: all rows where it says how many there are, else
    /// the `rows` so far.
    pub(crate) fn check_size(&self, rows: u64) -> Result<()> {
        match self {
            Opened::Parquet(file) => file.check_size(),
            Opened::Arrow(file) => file.check_size(rows),
            Opened::Pieces(pieces) => pieces.check_size(rows),
            _ => Ok(()),
        }
    }
}

fn no_columns(source: &Source, options: &ReadOptions, format: Format) -> Error {
    let column = options.label.as_ref().or(options.id.as_ref()).map_or("", |column| column.0.as_str());
    let way_out = match format {
        Format::Svmlight => "its labels are the first word of each line: leave the column out, or give a separate file",
        _ => "give the labels as an array of the same archive or folder, or in a separate file",
    };
    Error::option(format!("a file of format {format} has no column '{column}'")).in_file(source.name()).way_out(way_out)
}
