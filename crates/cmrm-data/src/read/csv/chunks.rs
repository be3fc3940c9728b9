//! The second pass: cells into typed columns, a chunk at a time.

use std::sync::Arc;

use super::{CsvFile, Records};
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::read::arriving::Arrived;
use crate::read::options::assemble;
use crate::table::{ColumnBuilder, Kind};

/// Iterates over a text file's rows in chunks.
pub struct CsvChunks {
    file: Arc<CsvFile>,
    records: Records,
    rows: usize,
    done: bool,
    started: bool,
    /// For a stream: how much of it is here. Rows that are do not wait for others.
    arrived: Option<Arrived>,
}

impl CsvChunks {
    pub(super) fn new(file: &Arc<CsvFile>, rows: usize) -> Result<Self> {
        Ok(CsvChunks::of(file, Records::open(file)?, rows, None))
    }

    pub(super) fn of(file: &Arc<CsvFile>, records: Records, rows: usize, arrived: Option<Arrived>) -> Self {
        CsvChunks { file: file.clone(), records, rows: rows.max(1), done: false, started: false, arrived }
    }

    /// Whether the next row may have to be waited for: nothing but ends of lines is left of what has come.
    fn would_wait(&self) -> bool {
        self.arrived.as_ref().is_some_and(|arrived| arrived.in_lines() <= self.records.bytes())
    }

    fn read_chunk(&mut self) -> Result<Option<Input>> {
        let file = self.file.clone();
        let first_row = self.records.row;
        let mut builders: Vec<Option<ColumnBuilder>> =
            (0..file.plan.names.len()).map(|at| file.plan.builder(at)).collect();
        let mut rows = 0;
        while rows < self.rows && !(rows > 0 && self.would_wait()) {
            if !self.records.advance(&file)? {
                self.done = true;
                break;
            }
            self.records.check_width(&file)?;
            for (column, (cell, builder)) in self.records.cells().zip(&mut builders).enumerate() {
                let Some(builder) = builder else { continue };
                if !file.plan.push(column, builder, cell, &file.options.text) {
                    let error = not_of_kind(cell, builder.kind());
                    return Err(self.records.place(&file, error).in_column(&*file.plan.names[column]));
                }
            }
            rows += 1;
        }
        if rows == 0 && self.started {
            return Ok(None);
        }
        if rows == 0 {
            return Err(Error::new(Problem::Empty("the file, apart from its header,".into())));
        }
        self.started = true;
        let named = builders.into_iter().zip(&file.plan.names);
        let columns = named.map(|(builder, name)| builder.map(|builder| builder.finish(name))).collect();
        let (table, labels, ids) = assemble(&file.plan, columns, !file.dialect.header)?;
        let features = Features::Table(table.starting_at(first_row));
        Ok(Some(Input { features, labels, ids, source: file.source.name().to_string() }))
    }
}

impl Iterator for CsvChunks {
    type Item = Result<Input>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.read_chunk() {
            Ok(Some(input)) => Some(Ok(input)),
            Ok(None) => None,
            Err(error) => {
                self.done = true;
                Some(Err(error.in_file(self.file.source.name())))
            }
        }
    }
}

/// The error for a cell that does not fit its column.
pub(in crate::read) fn not_of_kind(cell: &str, kind: Kind) -> Error {
    Error::new(Problem::NotOfKind { text: cell.to_string(), kind })
        .way_out("correct the cell, or state the column's kind (numeric, boolean, categorical, date, text or ignore)")
}
