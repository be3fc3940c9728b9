//! The second pass: cells into typed columns, a chunk at a time.

use std::sync::Arc;

use super::guess::with_point;
use super::{CsvFile, Records};
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::read::options::assemble;
use crate::table::{ColumnBuilder, Kind};

/// Iterates over a text file's rows in chunks.
pub struct CsvChunks {
    file: Arc<CsvFile>,
    records: Records,
    rows: usize,
    done: bool,
    started: bool,
}

impl CsvChunks {
    pub(super) fn new(file: &Arc<CsvFile>, rows: usize) -> Result<Self> {
        let records = Records::open(file)?;
        Ok(CsvChunks { file: file.clone(), records, rows: rows.max(1), done: false, started: false })
    }

    fn read_chunk(&mut self) -> Result<Option<Input>> {
        let file = self.file.clone();
        let first_row = self.records.row;
        let mut builders: Vec<Option<ColumnBuilder>> =
            file.plan.columns.iter().map(|kind| kind.flatten().map(ColumnBuilder::new)).collect();
        let mut rows = 0;
        while rows < self.rows {
            if !self.records.advance(&file)? {
                self.done = true;
                break;
            }
            self.records.check_width(builders.len(), file.dialect.delimiter)?;
            for (column, (cell, builder)) in self.records.cells().zip(&mut builders).enumerate() {
                let Some(builder) = builder else { continue };
                if file.is_missing(cell) {
                    builder.push_missing();
                    continue;
                }
                let comma = file.options.text.decimal_comma && builder.kind() == Kind::Numeric;
                if !builder.push_text(&with_point(cell, comma)) {
                    let problem = Problem::NotOfKind { text: cell.to_string(), kind: builder.kind() };
                    return Err(self.records.place(Error::new(problem)).in_column(&*file.plan.names[column]).way_out(
                        "correct the cell, or state the column's kind (numeric, boolean, categorical, date or ignore)",
                    ));
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
