//! The second pass: cells into typed columns, a chunk at a time.

use std::sync::Arc;

use super::columns::Columns;
use super::flatten::{Value, each_cell};
use super::rows::Rows;
use super::{Found, JsonFile, Seen, no_rows};
use crate::dataset::{Features, Input};
use crate::error::Result;
use crate::read::arriving::{Arrived, Arriving};
use crate::read::csv::not_of_kind;
use crate::read::options::assemble;
use crate::read::{ReadOptions, Usual};
use crate::table::ColumnBuilder;

/// Iterates over a JSON file's rows in chunks.
pub struct JsonChunks {
    name: String,
    found: Arc<Found>,
    source: Rows,
    columns: Columns,
    rows: usize,
    done: bool,
    /// For a stream: how much of it is here. Rows that are do not wait for others.
    arrived: Option<Arrived>,
    /// Whether the current row has been looked at and not been taken.
    ahead: bool,
}

impl JsonChunks {
    pub(super) fn new(file: &Arc<JsonFile>, rows: usize) -> Result<Self> {
        let source = Rows::open(&file.source, &file.found.options)?;
        Ok(JsonChunks::of(file.source.name(), file.found.clone(), source, rows))
    }

    fn of(name: &str, found: Arc<Found>, source: Rows, rows: usize) -> Self {
        let columns = Columns::new(&found.plan.names);
        let (name, rows) = (name.to_owned(), rows.max(1));
        JsonChunks { name, found, source, columns, rows, done: false, arrived: None, ahead: false }
    }

    /// The rows of a stream. The first one says which columns there are beside those that the model needs.
    pub(in crate::read) fn of_stream(
        name: &str,
        stream: Arriving,
        options: &ReadOptions,
        usual: &Usual,
        rows: usize,
    ) -> Result<Self> {
        let arrived = stream.arrived();
        let mut source = Rows::of(Box::new(stream))?;
        if !source.advance()? {
            return Err(no_rows());
        }
        let mut seen = Seen::default();
        seen.row(&source, name, options)?;
        seen.rows = source.row();
        let options = usual.beside(options, seen.columns.names());
        let chunks = JsonChunks::of(name, Arc::new(seen.settle(&options)?), source, rows);
        Ok(JsonChunks { arrived: Some(arrived), ahead: true, ..chunks })
    }

    fn advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.ahead) { Ok(true) } else { self.source.advance() }
    }

    /// Whether the next row may have to be waited for.
    fn would_wait(&self) -> bool {
        self.arrived.as_ref().is_some_and(|arrived| self.source.is_behind(arrived.bytes()))
    }

    fn read_chunk(&mut self) -> Result<Option<Input>> {
        let found = self.found.clone();
        let (plan, text) = (&found.plan, &found.options.text);
        let mut builders: Vec<Option<ColumnBuilder>> = (0..plan.names.len()).map(|at| plan.builder(at)).collect();
        let first_row = self.source.row() - u64::from(self.ahead);
        let mut rows = 0;
        while rows < self.rows && !(rows > 0 && self.would_wait()) && self.advance()? {
            rows += 1;
            let columns = &mut self.columns;
            columns.begin_row();
            each_cell(self.source.text(), &mut |key, value| {
                let Some(at) = columns.find(key) else { return Ok(()) };
                let Some(builder) = &mut builders[at] else { return Ok(()) };
                columns.fill(at)?;
                match value {
                    Value::Missing => builder.push_missing(),
                    Value::Text(cell) if plan.push(at, builder, &cell, text) => {}
                    Value::Text(cell) => return Err(not_of_kind(&cell, builder.kind()).in_column(key)),
                    Value::Nested(nested) => return Err(nested.refused(key)),
                }
                Ok(())
            })
            .map_err(|error| self.source.place(error))?;
            for (at, builder) in builders.iter_mut().enumerate() {
                if let Some(builder) = builder.as_mut().filter(|_| !columns.is_filled(at)) {
                    builder.push_missing();
                }
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let named = builders.into_iter().zip(&plan.names);
        let columns = named.map(|(builder, name)| builder.map(|builder| builder.finish(name))).collect();
        let (table, labels, ids) = assemble(plan, columns, false)?;
        let features = Features::Table(table.starting_at(first_row));
        Ok(Some(Input { features, labels, ids, source: self.name.clone() }))
    }
}

impl Iterator for JsonChunks {
    type Item = Result<Input>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let chunk = self.read_chunk().map_err(|error| error.in_file(&self.name)).transpose();
        self.done = !matches!(chunk, Some(Ok(_)));
        chunk
    }
}
