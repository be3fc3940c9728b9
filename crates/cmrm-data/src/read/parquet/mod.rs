//! Parquet: flat columns, row group by row group, in chunks.
//!
//! Nested columns, brotli and encryption are not supported, nor the encoding DELTA_BYTE_ARRAY. Columns that a data
//! frame adds for its own row numbers (`__index_level_0__`) are skipped.

mod chunks;
mod footer;
mod guard;
mod pages;
mod schema;
mod thrift;
mod values;

pub use chunks::ParquetChunks;

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use parquet::file::serialized_reader::SerializedPageReader;

use self::guard::{Guard, Store};
use self::pages::CheckedPages;
use self::schema::Meaning;
use super::cell::{add_large, settle_large};
use super::limits::MAX_FOOTER_BYTES;
use super::options::{Plan, look};
use super::source::Content;
use super::{CHUNK_ROWS, ReadOptions, Source};
use crate::error::{Error, Problem, Result};
use crate::table::{Guess, Kind, refuse_duplicates};
use footer::is_plausible;

/// A Parquet file whose columns are known.
#[derive(Clone)]
pub struct ParquetFile {
    name: String,
    store: Store,
    metadata: ParquetMetaData,
    plan: Plan,
    meanings: Vec<Option<Meaning>>,
    /// For each column whether it is of numbers and nobody has said so: then its type has.
    numbers: Vec<bool>,
    options: ReadOptions,
}

impl ParquetFile {
    /// Reads the footer and settles the columns.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let mut files = Self::open_all(std::slice::from_ref(source), options)?;
        files.pop().ok_or_else(|| Error::internal("one file was opened and none came back"))
    }

    /// The same for files that belong together: text that is to be numbers or dates is read in one way in all of them, and
    /// so are integers.
    pub(crate) fn open_all(sources: &[Source], options: &ReadOptions) -> Result<Vec<Self>> {
        let (mut guesses, mut large) = (HashMap::new(), BTreeSet::new());
        let mut files = Vec::with_capacity(sources.len());
        for source in sources {
            let opened = Self::open_here(source, options).and_then(|file| {
                file.look(&mut guesses)?;
                file.look_for_large(&mut large)?;
                Ok(file)
            });
            files.push(opened.map_err(|error| error.in_file(source.name()))?);
        }
        for file in &mut files {
            file.plan.settle_all(&guesses);
            settle_large(&mut file.plan, &file.numbers, &large);
        }
        Ok(files)
    }

    /// Passes over the columns of long integers.
    fn look_for_large(&self, names: &mut BTreeSet<String>) -> Result<()> {
        let types = self.metadata.file_metadata().schema_descr();
        let may_be =
            |at: usize| self.meanings[at].is_some_and(|meaning| meaning.may_be_large(types.column(at).physical_type()));
        let of = (0..self.numbers.len()).filter(|&at| self.numbers[at] && may_be(at)).collect();
        if self.rows() == 0 || self.check_size().is_err() {
            return Ok(());
        }
        add_large(of, &self.plan, u64::MAX, names, |plan| {
            Ok(Arc::new(ParquetFile { plan, ..self.clone() }).chunks(CHUNK_ROWS))
        })
    }

    /// Passes over the columns of text that are to be something else: all of their cells decide how they are written.
    fn look(&self, known: &mut HashMap<String, Guess>) -> Result<()> {
        let is_text = |at: usize| self.meanings[at].is_some_and(|meaning| meaning.kind() == Kind::Categorical);
        match self.plan.to_look_at(is_text) {
            None => Ok(()),
            Some(plan) => {
                let file = Arc::new(ParquetFile { plan, ..self.clone() });
                look(file.chunks(CHUNK_ROWS), &self.options.text, known)
            }
        }
    }

    fn open_here(source: &Source, options: &ReadOptions) -> Result<Self> {
        let store = match source.content() {
            Content::Bytes(bytes) => Store::Bytes(bytes.clone()),
            Content::File(path) => Store::File(Arc::new(source.open_file(path)?)),
            Content::Spooled(file) => Store::File(file.clone()),
        };
        let metadata = read_footer(&store)?;
        let columns = metadata.file_metadata().schema_descr().columns();
        let names: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
        refuse_duplicates(names.iter().map(String::as_str))?;
        check_chunks(&metadata, names.len())?;
        let mut plan = options.plan(names, false)?;
        plan.skip_row_numbers();
        let (mut meanings, mut numbers) = (Vec::with_capacity(columns.len()), vec![false; columns.len()]);
        for (at, column) in columns.iter().enumerate() {
            meanings.push(match &mut plan.columns[at] {
                None => None,
                Some(kind) => {
                    let meaning = Meaning::of(column)?;
                    numbers[at] = kind.is_none() && meaning.kind() == Kind::Numeric;
                    kind.get_or_insert(meaning.kind());
                    Some(meaning)
                }
            });
        }
        let (name, options) = (source.name().to_string(), options.clone());
        Ok(ParquetFile { name, store, metadata, plan, meanings, numbers, options })
    }

    pub(super) fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Names of all columns.
    pub fn names(&self) -> &[String] {
        &self.plan.names
    }

    /// The kind of each column that is read, by name.
    pub fn kinds(&self) -> Vec<(&str, Kind)> {
        self.plan.kinds()
    }

    /// Number of rows, as the footer declares.
    pub fn rows(&self) -> u64 {
        self.metadata.row_groups().iter().map(|group| group.num_rows().unsigned_abs()).fold(0, u64::saturating_add)
    }

    /// Refuses to read more cells into memory than a file of this length may unpack to: a column that repeats one value
    /// takes next to nothing in the file, whatever its rows.
    pub(crate) fn check_size(&self) -> Result<()> {
        let columns = self.plan.columns.iter().flatten().count() as u64;
        let size = self.rows().saturating_mul(columns).saturating_mul(8);
        let limit = self.options.limits.of_packed(self.store.len());
        if size <= limit {
            return Ok(());
        }
        let what = format!("the table of {} rows and {columns} columns, at eight bytes per cell,", self.rows());
        Err(Error::new(Problem::TooLarge { what, size, limit }).in_file(&self.name).way_out(
            "if you trust the file, leave out columns that hardly vary, or write it plainly: in pandas \
             to_parquet(file, compression=None, use_dictionary=False)",
        ))
    }

    /// The footer.
    pub(crate) fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// The values of a column in a row group, from their start.
    pub(crate) fn column_reader(&self, group: usize, column: usize) -> Result<ColumnReader> {
        let group = self.metadata.row_group(group);
        let (rows, column) = (usize::try_from(group.num_rows()).unwrap_or(0), group.column(column));
        let guard = Guard {
            store: self.store.clone(),
            page_bytes: self.options.limits.page_bytes,
            compressed: column.compression() != Compression::UNCOMPRESSED,
        };
        let pages = SerializedPageReader::new(Arc::new(guard), column, rows, None).map_err(malformed)?;
        let pages = CheckedPages {
            pages: Box::new(pages),
            has_dictionary: false,
            nullable: column.column_descr().max_def_level() > 0,
        };
        Ok(get_column_reader(column.column_descr_ptr(), Box::new(pages)))
    }

    /// What `decode` gives; a panic of the decoder is an error.
    pub(crate) fn guarded<T>(&self, decode: impl FnOnce() -> Result<T>) -> Result<T> {
        guarded(decode).map_err(|error| error.in_file(&self.name))
    }

    /// The rows, at most `rows` at a time.
    pub fn chunks(self: &Arc<Self>, rows: usize) -> ParquetChunks {
        ParquetChunks::new(self.clone(), rows)
    }
}

/// The footer is the last thing in the file: its length in four bytes and the magic stand behind it.
fn read_footer(store: &Store) -> Result<ParquetMetaData> {
    const TAIL: u64 = 8;
    let length = store.len();
    let cut_short = |what: String| {
        Error::malformed("Parquet", what).way_out("the file is incomplete: copy, download or write it again")
    };
    if length < TAIL + 4 {
        return Err(cut_short(format!("{length} bytes cannot hold a footer")));
    }
    let tail = store.bytes(length - TAIL, TAIL).map_err(malformed)?;
    match &tail[4..] {
        b"PAR1" => {}
        b"PARE" => return Err(Error::new(Problem::Unsupported("an encrypted Parquet file".into()))),
        _ => return Err(cut_short("it does not end with the magic PAR1".into())),
    }
    let declared = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if declared > length - TAIL {
        return Err(cut_short(format!(
            "the footer is {declared} bytes long, but only {} bytes precede it",
            length - TAIL
        )));
    }
    if declared > MAX_FOOTER_BYTES {
        let what = "the Parquet footer, in bytes,".to_string();
        return Err(Error::new(Problem::TooLarge { what, size: declared, limit: MAX_FOOTER_BYTES }));
    }
    let footer = store.bytes(length - TAIL - declared, declared).map_err(malformed)?;
    if !is_plausible(&footer) {
        return Err(Error::malformed(
            "Parquet",
            "its schema cannot be followed, declares more than it holds, or nests too deeply",
        ));
    }
    // Statistics are not used; leaving them out leaves out the ways in which they can be wrong.
    let options = ParquetMetaDataOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    guarded(|| ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options)).map_err(malformed))
}

/// Checks what the decoder takes for granted.
fn check_chunks(metadata: &ParquetMetaData, columns: usize) -> Result<()> {
    for (group, row_group) in metadata.row_groups().iter().enumerate() {
        let wrong = |what: &str| Err(Error::malformed("Parquet", format!("row group {group} {what}")));
        if row_group.num_rows() < 0 {
            return wrong("has a negative number of rows");
        }
        if row_group.num_columns() != columns {
            return wrong("has another number of columns than the schema");
        }
        for column in row_group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            if start < 0 || column.compressed_size() < 0 {
                return wrong("has a column at a negative place");
            }
            let compression = column.compression();
            let unknown = matches!(compression, Compression::BROTLI(_) | Compression::LZO)
                || (cfg!(not(feature = "zstd")) && matches!(compression, Compression::ZSTD(_)));
            if unknown {
                let what = format!("Parquet's compression {}", column.compression());
                return Err(Error::new(Problem::Unsupported(what)).way_out("write it with snappy, gzip, lz4 or zstd"));
            }
            if column.file_path().is_some() {
                return wrong("refers to another file");
            }
        }
    }
    Ok(())
}

fn malformed(error: ParquetError) -> Error {
    Error::malformed("Parquet", error)
}

/// Turns a panic of the decoder into an error. It checks nearly everything it reads, but it is not ours, and a file
/// that finds a gap must not take the program down.
fn guarded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(Error::malformed("Parquet", "the decoder gave up on it")))
}
