//! Writers for predictions and other tables: CSV, Parquet, NPY and NPZ.
//!
//! All take chunks, so that a table larger than memory can be written; [`crate::files::atomic_write`] makes the file
//! appear whole. `copy` writes a data file again in which only labels change.

mod copy;
mod csv;
mod npy;
mod npz;
mod parquet;

pub use self::copy::{Change, TextCopy, can_copy_parquet, copy_parquet};
pub use self::csv::CsvWriter;
pub use self::parquet::ParquetTableWriter;
pub use npy::{NpyWriter, write_npy_labels};
pub use npz::NpzWriter;

use std::path::Path;

use crate::error::{Error, Result};
use crate::files::atomic_write;
use crate::table::{Kind, Table};

/// Writes a whole table to a file, in the format of its extension: `.csv`, `.tsv`, `.parquet`, or `.npy` where every
/// column is numeric and no cell missing.
pub fn write_table(path: &Path, table: &Table) -> Result<()> {
    write_file(path, table, false)
}

/// The same for a table that people look at, such as suspects or a log: in `.csv` and `.tsv`, text that a spreadsheet would
/// take for a formula is marked as text.
pub fn write_table_for_people(path: &Path, table: &Table) -> Result<()> {
    write_file(path, table, true)
}

fn write_file(path: &Path, table: &Table, for_people: bool) -> Result<()> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    let write = |delimiter: u8| {
        atomic_write(path, |file| {
            let mut writer = CsvWriter::new(file, delimiter).for_people(for_people);
            writer.write(table)?;
            writer.finish()
        })
    };
    match extension.as_str() {
        "csv" => write(b','),
        "tsv" => write(b'\t'),
        "parquet" => atomic_write(path, |file| {
            let mut writer = ParquetTableWriter::new(file);
            writer.write(table)?;
            writer.finish()
        }),
        "npy" => atomic_write(path, |file| {
            let mut writer = NpyWriter::new(file, table.columns().len())?;
            writer.write_table(table)?;
            writer.finish()
        }),
        _ => Err(Error::option(format!("unknown table extension '{extension}'"))
            .in_file(path.display())
            .way_out(if is_array(table) { "use .csv, .tsv, .parquet or .npy" } else { "use .csv, .tsv or .parquet" })),
    }
}

/// Whether a table is one of numbers, without missing cells.
fn is_array(table: &Table) -> bool {
    let is_number = |kind: Kind| matches!(kind, Kind::Numeric | Kind::Boolean);
    table.columns().iter().all(|column| is_number(column.kind()) && column.missing.count() == 0)
}
