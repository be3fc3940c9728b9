//! Chunks of an Arrow file: rows of one batch after the other, with the dictionaries that they refer to.

use std::sync::Arc;

use bytes::Bytes;

use super::array::Array;
use super::batch::{Dictionaries, read_batch};
use super::flat::Table;
use super::messages::{Message, Messages};
use super::schema::Field;
use super::{ArrowFile, malformed};
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::read::cell::kind_to_read;
use crate::read::options::assemble;
use crate::table::{ColumnBuilder, Kind, Style};

/// Iterates over an Arrow file's rows in chunks, which do not cross batches.
pub struct ArrowChunks {
    file: Arc<ArrowFile>,
    messages: Messages,
    dictionaries: Dictionaries,
    arrays: Vec<Option<Array>>,
    /// Rows of the batch, and how many of them have been read.
    batch_rows: usize,
    batch_done: usize,
    row: u64,
    rows: usize,
    done: bool,
}

impl ArrowChunks {
    pub(super) fn new(file: &Arc<ArrowFile>, rows: usize) -> Result<Self> {
        let (_, messages) = Messages::open(&file.source, &file.options)?;
        Ok(ArrowChunks {
            file: file.clone(),
            messages,
            dictionaries: Dictionaries::new(),
            arrays: Vec::new(),
            batch_rows: 0,
            batch_done: 0,
            row: 0,
            rows: rows.max(1),
            done: false,
        })
    }

    fn read_chunk(&mut self) -> Result<Option<Input>> {
        while self.batch_done == self.batch_rows {
            if !self.next_batch()? {
                return match self.row {
                    0 => Err(Error::new(Problem::Empty("the file, which has columns but no rows,".into()))),
                    _ => Ok(None),
                };
            }
        }
        let rows = self.rows.min(self.batch_rows - self.batch_done);
        let file = self.file.clone();
        let mut columns = Vec::with_capacity(self.arrays.len());
        for (at, array) in self.arrays.iter().enumerate() {
            let (Some(array), Some(Some(kind))) = (array, file.plan.columns[at]) else {
                columns.push(None);
                continue;
            };
            let field = &file.fields[at];
            let doubt = file.plan.reading[at].doubt.clone();
            let mut builder = ColumnBuilder::new(kind_to_read(kind, field.of.kind())).written(Style::PLAIN, doubt);
            array
                .read_into(self.batch_done, rows, self.row, &mut builder)
                .map_err(|error| error.in_column(&*field.name))?;
            let column = builder.finish(&field.name);
            columns.push(Some(file.plan.typed(at, column, self.row, &file.options.text)?));
        }
        let (table, labels, ids) = assemble(&file.plan, columns, false)?;
        let features = Features::Table(table.starting_at(self.row));
        self.batch_done += rows;
        self.row += rows as u64;
        Ok(Some(Input { features, labels, ids, source: file.source.name().to_string() }))
    }

    /// Moves to the next batch of rows; false at the end.
    fn next_batch(&mut self) -> Result<bool> {
        let file = self.file.clone();
        loop {
            match self.messages.next()? {
                None => return Ok(false),
                Some(Message::Dictionary(metadata, body)) => self.add_dictionary(metadata.header()?, &body)?,
                Some(Message::Rows(metadata, body)) => {
                    let limits = &file.options.limits;
                    let (rows, arrays) =
                        read_batch(metadata.header()?, &body, file.wanted(), &self.dictionaries, limits)
                            .map_err(|error| error.at_row(self.row))?;
                    (self.batch_rows, self.batch_done, self.arrays) = (rows, 0, arrays);
                    return Ok(true);
                }
                Some(Message::Schema(_)) => return Err(malformed("it has a second schema")),
                Some(Message::Other) => {
                    return Err(Error::new(Problem::Unsupported("a tensor in an Arrow file".into())));
                }
            }
        }
    }

    /// Takes a dictionary, or adds to one, if a column that is wanted uses it.
    fn add_dictionary(&mut self, header: Table<'_>, body: &Bytes) -> Result<()> {
        let id = header.i64(0)?;
        let uses = |field: &Field| field.encoding.is_some_and(|encoding| encoding.id == id);
        let Some((field, true)) = self.file.wanted().find(|(field, wanted)| *wanted && uses(field)) else {
            return Ok(());
        };
        // Names keep the text of the value; if another column takes the same values as numbers, those of both are.
        let mut kinds = self.file.fields.iter().zip(&self.file.plan.columns).filter(|(field, _)| uses(field));
        let named = kinds.all(|(_, kind)| kind.is_none_or(|kind| kind == Some(Kind::Categorical)));
        let kind = if named { Kind::Categorical } else { field.of.kind() };
        let batch = header.table(1)?.ok_or_else(|| malformed("a dictionary has no values"))?;
        // The values themselves are not references to a dictionary.
        let values = Field { encoding: None, ..field.clone() };
        let (rows, arrays) =
            read_batch(batch, body, std::iter::once((&values, true)), &self.dictionaries, &self.file.options.limits)?;
        self.file.check_size(rows as u64)?;
        let mut builder = ColumnBuilder::new(kind);
        for array in arrays.iter().flatten() {
            array.read_into(0, rows, 0, &mut builder).map_err(|error| error.in_column(&*field.name))?;
        }
        let mut column = builder.finish(&field.name);
        if header.u8(2)? != 0
            && let Some(before) = self.dictionaries.get(&id)
        {
            let mut joined = (**before).clone();
            joined.append(column)?;
            column = joined;
        }
        self.dictionaries.insert(id, Arc::new(column));
        Ok(())
    }
}

impl Iterator for ArrowChunks {
    type Item = Result<Input>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let chunk = self.read_chunk().map_err(|error| error.in_file(self.file.source.name())).transpose();
        self.done = !matches!(chunk, Some(Ok(_)));
        chunk
    }
}
