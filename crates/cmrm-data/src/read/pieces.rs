//! Several files with the same columns, one after the other, as one.

use std::sync::Arc;

use super::arrow::too_many_rows;
use super::{ArrowFile, Chunks, CsvFile, Format, JsonFile, Opened, ParquetFile, ReadOptions, Source};
use crate::dataset::{Features, Input};
use crate::error::{Error, Result};
use crate::table::{Kind, Table};

/// Files of one format whose columns agree.
pub struct Pieces {
    name: String,
    files: Vec<(String, Opened)>,
}

impl Pieces {
    /// Opens files of one format that holds tables, and compares their columns. Their order is the order of the rows.
    pub(crate) fn open(name: String, sources: &[Source], format: Format, options: &ReadOptions) -> Result<Self> {
        let opened: Vec<Opened> = match format {
            Format::Csv => {
                CsvFile::open_all(sources, options)?.into_iter().map(|file| Opened::Csv(Arc::new(file))).collect()
            }
            Format::Json => {
                JsonFile::open_all(sources, options)?.into_iter().map(|file| Opened::Json(Arc::new(file))).collect()
            }
            Format::Parquet => ParquetFile::open_all(sources, options)?
                .into_iter()
                .map(|file| Opened::Parquet(Arc::new(file)))
                .collect(),
            Format::Arrow => {
                ArrowFile::open_all(sources, options)?.into_iter().map(|file| Opened::Arrow(Arc::new(file))).collect()
            }
            _ => return Err(Error::option(format!("files of format {format} cannot be put together")).in_file(name)),
        };
        let files: Vec<_> = sources.iter().map(|source| source.name().to_string()).zip(opened).collect();
        if let Some((first, rest)) = files.split_first() {
            rest.iter().try_for_each(|other| agree(first, other))?;
        }
        Ok(Pieces { name, files })
    }

    /// The columns of all files, in the order of the first.
    pub fn names(&self) -> &[String] {
        self.files.first().map_or(&[], |(_, file)| file.names())
    }

    /// As [`Opened::check_size`], with the lengths of all files taken together.
    pub(super) fn check_size(&self, rows: u64) -> Result<()> {
        let mut most = 0u64;
        for file in self.files() {
            match file {
                Opened::Arrow(file) => most = most.saturating_add(file.most_rows()?),
                file => {
                    file.check_size(rows)?;
                    most = u64::MAX;
                }
            }
        }
        if rows <= most { Ok(()) } else { Err(too_many_rows(rows, most).in_file(&self.name)) }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Opened> {
        self.files.iter().map(|(_, file)| file)
    }

    /// The rows of one file after the other. Their numbers run on; errors name the file, and the row within it.
    pub(super) fn chunks(self: &Arc<Self>, rows: usize) -> PieceChunks {
        PieceChunks {
            pieces: self.clone(),
            next: 0,
            chunks: None,
            order: None,
            rows,
            first_row: 0,
            row: 0,
            failed: false,
        }
    }
}

/// Refuses columns that only one of two files has, or that are of different kinds.
fn agree((first, ours): &(String, Opened), (other, theirs): &(String, Opened)) -> Result<()> {
    let refuse = |what: String, column: &str| {
        Err(Error::option(what)
            .in_file(other)
            .in_column(column)
            .way_out("give all files the same columns, or read them one by one"))
    };
    for (has, lacks, missing_here) in [(ours, theirs, true), (theirs, ours, false)] {
        if let Some(name) = has.names().iter().find(|name| !lacks.names().contains(name)) {
            return match missing_here {
                true => refuse(format!("the column is missing here; {first} has it"), name),
                false => refuse(format!("the column is not in {first}"), name),
            };
        }
    }
    let kinds: Vec<(&str, Kind)> = ours.kinds();
    for (name, kind) in theirs.kinds() {
        if let Some((_, expected)) = kinds.iter().find(|(known, found)| *known == name && *found != kind) {
            return refuse(format!("the column is {kind} here and {expected} in {first}"), name);
        }
    }
    Ok(())
}

/// Iterates over the rows of several files in chunks, which do not cross files.
pub(super) struct PieceChunks {
    pieces: Arc<Pieces>,
    /// The file to open next.
    next: usize,
    chunks: Option<Chunks>,
    /// Names of the feature columns, as the first chunk has them.
    order: Option<Vec<String>>,
    rows: usize,
    /// Where the open file's first row stands, and how many rows have been read.
    first_row: u64,
    row: u64,
    failed: bool,
}

impl PieceChunks {
    fn read_chunk(&mut self) -> Result<Option<Input>> {
        loop {
            if let Some(chunk) = self.chunks.as_mut().and_then(Iterator::next) {
                return self.in_place(chunk?).map(Some);
            }
            let Some((_, file)) = self.pieces.files.get(self.next) else { return Ok(None) };
            self.chunks = Some(file.chunks(self.rows)?);
            self.next += 1;
            self.first_row = self.row;
        }
    }

    /// The chunk with its columns in the order of the first file, and its rows behind those of the files before.
    fn in_place(&mut self, chunk: Input) -> Result<Input> {
        let Features::Table(table) = chunk.features else {
            return Err(Error::option("an array cannot be put together with tables").in_file(chunk.source));
        };
        let (skipped, unnamed) = (table.skipped().to_vec(), table.unnamed());
        let order = self.order.get_or_insert_with(|| table.names().into_iter().map(str::to_string).collect());
        let columns = order.iter().filter_map(|name| table.column(name).cloned()).collect();
        let first_row = self.first_row + table.first_row();
        let table = Table::new(columns)?.with_skipped(skipped).starting_at(first_row);
        self.row = first_row + table.rows() as u64;
        let features = Features::Table(if unnamed { table.without_names() } else { table });
        Ok(Input { features, source: self.pieces.name.clone(), ..chunk })
    }
}

impl Iterator for PieceChunks {
    type Item = Result<Input>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let chunk = self.read_chunk().transpose();
        self.failed = !matches!(chunk, Some(Ok(_)));
        chunk
    }
}
