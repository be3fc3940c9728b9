//! The second pass: cells into typed columns, a chunk at a time.

use std::sync::Arc;

use super::JsonFile;
use super::columns::Columns;
use super::flatten::{Value, each_cell};
use super::rows::Rows;
use crate::dataset::{Features, Input};
use crate::error::Result;
use crate::read::csv::not_of_kind;
use crate::read::options::assemble;
use crate::table::ColumnBuilder;

/// Iterates over a JSON file's rows in chunks.
pub struct JsonChunks {
    file: Arc<JsonFile>,
    source: Rows,
    columns: Columns,
    rows: usize,
    done: bool,
}

impl JsonChunks {
    pub(super) fn new(file: &Arc<JsonFile>, rows: usize) -> Result<Self> {
        let source = Rows::open(&file.source, &file.found.options)?;
        let columns = Columns::new(&file.found.plan.names);
        Ok(JsonChunks { file: file.clone(), source, columns, rows: rows.max(1), done: false })
    }

    fn read_chunk(&mut self) -> Result<Option<Input>> {
        let found = self.file.found.clone();
        let (plan, text) = (&found.plan, &found.options.text);
        let mut builders: Vec<Option<ColumnBuilder>> = (0..plan.names.len()).map(|at| plan.builder(at)).collect();
        let first_row = self.source.row();
        while self.source.row() - first_row < self.rows as u64 && self.source.advance()? {
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
        if self.source.row() == first_row {
            return Ok(None);
        }
        let named = builders.into_iter().zip(&plan.names);
        let columns = named.map(|(builder, name)| builder.map(|builder| builder.finish(name))).collect();
        let (table, labels, ids) = assemble(plan, columns, false)?;
        let features = Features::Table(table.starting_at(first_row));
        Ok(Some(Input { features, labels, ids, source: self.file.source.name().to_string() }))
    }
}

impl Iterator for JsonChunks {
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
