//! A table whose cells are taken as they are written.

use super::{Opened, ReadOptions, Source, TextOptions, open, read};
use crate::dataset::Features;
use crate::error::{Error, Problem, Result};
use crate::table::{Override, Table};

/// Reads a table with a header and keeps every cell as text: `007`, `NA` and `yes` stay what they are.
pub fn read_text(source: &Source) -> Result<Table> {
    let text = TextOptions { header: Some(true), missing: Vec::new(), ..TextOptions::default() };
    let mut options = ReadOptions { text, ..ReadOptions::default() };
    if let Opened::Csv(file) = open(source, &options)? {
        options.overrides = file.names().iter().map(|name| (name.clone(), Override::Categorical)).collect();
    }
    match read(source, &options)?.features {
        Features::Table(table) => Ok(table),
        Features::Array(_) => Err(Error::new(Problem::Unsupported("an array where a table belongs".into()))
            .in_file(source.name())
            .way_out("give a CSV or Parquet file with named columns")),
    }
}
