//! Chunks of a Parquet file: every column advances by the same rows, a page of each in memory.

use std::sync::Arc;

use parquet::column::reader::ColumnReader;

use super::{ParquetFile, guarded, values};
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::read::cell::kind_to_read;
use crate::read::options::assemble;
use crate::table::{ColumnBuilder, Style};

/// Iterates over a Parquet file's rows in chunks, which do not cross row groups.
pub struct ParquetChunks {
    file: Arc<ParquetFile>,
    rows: usize,
    group: usize,
    readers: Vec<Option<ColumnReader>>,
    /// Rows of the open row group that are still to come.
    left: u64,
    row: u64,
    done: bool,
}

impl ParquetChunks {
    pub(super) fn new(file: Arc<ParquetFile>, rows: usize) -> Self {
        ParquetChunks { file, rows: rows.max(1), group: 0, readers: Vec::new(), left: 0, row: 0, done: false }
    }

    fn read_chunk(&mut self) -> Result<Option<Input>> {
        while self.left == 0 {
            if self.group == self.file.metadata.num_row_groups() {
                return match self.row {
                    0 => Err(Error::new(Problem::Empty("the file, which has columns but no rows,".into()))),
                    _ => Ok(None),
                };
            }
            self.open_group()?;
        }
        let rows = self.left.min(self.rows as u64) as usize;
        let file = self.file.clone();
        let mut columns = Vec::with_capacity(self.readers.len());
        for (at, reader) in self.readers.iter_mut().enumerate() {
            let name = &file.plan.names[at];
            let (Some(reader), Some(meaning), Some(Some(kind))) = (reader, file.meanings[at], file.plan.columns[at])
            else {
                columns.push(None);
                continue;
            };
            let doubt = file.plan.reading[at].doubt.clone();
            let mut builder = ColumnBuilder::new(kind_to_read(kind, meaning.kind())).written(Style::PLAIN, doubt);
            values::read_rows(reader, meaning, rows, self.row, &mut builder)
                .map_err(|error| error.in_column(name.as_str()))?;
            let column = builder.finish(name);
            columns.push(Some(file.plan.typed(at, column, self.row, &file.options.text)?));
        }
        let (table, labels, ids) = assemble(&file.plan, columns, false)?;
        let features = Features::Table(table.starting_at(self.row));
        self.row += rows as u64;
        self.left -= rows as u64;
        Ok(Some(Input { features, labels, ids, source: file.name.clone() }))
    }

    fn open_group(&mut self) -> Result<()> {
        let file = &self.file;
        let rows = u64::try_from(file.metadata.row_group(self.group).num_rows()).unwrap_or(0);
        self.readers.clear();
        for (column, wanted) in file.plan.columns.iter().enumerate() {
            let reader = wanted.map(|_| file.column_reader(self.group, column)).transpose()?;
            self.readers.push(reader);
        }
        self.left = rows;
        self.group += 1;
        Ok(())
    }
}

impl Iterator for ParquetChunks {
    type Item = Result<Input>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let chunk = guarded(|| self.read_chunk()).map_err(|error| error.in_file(&self.file.name)).transpose();
        self.done = !matches!(chunk, Some(Ok(_)));
        chunk
    }
}
