//! A table whose cells are taken as they are written.

use super::{Opened, ReadOptions, Source, TextOptions, open, read};
use crate::dataset::Features;
use crate::error::{Error, Problem, Result};
use crate::files::text::spreadsheet_value;
use crate::table::{Column, ColumnBuilder, Kind, Override, Table};

/// Reads a table with a header and keeps every cell as text: `007`, `NA` and `yes` stay what they are. A text file may
/// have been made for people ([`crate::write::write_table_for_people`]): the marks of such cells are taken away.
pub fn read_text(source: &Source) -> Result<Table> {
    let text = TextOptions { header: Some(true), missing: Vec::new(), ..TextOptions::default() };
    let mut options = ReadOptions { text, ..ReadOptions::default() };
    let opened = open(source, &options)?;
    if opened.is_text() {
        options.overrides = opened.names().iter().map(|name| (name.clone(), Override::Categorical)).collect();
    }
    match read(source, &options)?.features {
        Features::Table(table) if matches!(opened, Opened::Csv(_)) => {
            Table::new(table.columns().iter().map(unmarked).collect())
        }
        Features::Table(table) => Ok(table),
        _ => Err(Error::new(Problem::Unsupported("an array where a table belongs".into()))
            .in_file(source.name())
            .way_out("give a CSV or Parquet file with named columns")),
    }
}

/// The column as it was before its cells were marked.
fn unmarked(column: &Column) -> Column {
    let mut builder = ColumnBuilder::new(Kind::Categorical);
    for row in 0..column.len() {
        match column.text(row) {
            Some(cell) => builder.push_name(spreadsheet_value(&cell)),
            None => builder.push_missing(),
        }
    }
    builder.finish(column.name.clone())
}
