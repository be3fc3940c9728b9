//! Tables as text.

use std::borrow::Cow;
use std::io::Write;

use crate::files::text::spreadsheet_cell;

use crate::error::{Error, Result};
use crate::table::{Table, Values};

/// Writes a header and then rows. A missing cell is empty; numbers have the shortest text that reads back the same.
pub struct CsvWriter<W: Write> {
    writer: csv::Writer<W>,
    started: bool,
    /// Whether people are going to open it in a spreadsheet.
    for_people: bool,
}

impl<W: Write> CsvWriter<W> {
    /// Writes with that byte between cells.
    pub fn new(writer: W, delimiter: u8) -> Self {
        let writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(writer);
        CsvWriter { writer, started: false, for_people: false }
    }

    /// Marks text that a spreadsheet would take for a formula as text ([`crate::files::text::spreadsheet_cell`]), or not.
    pub fn for_people(self, for_people: bool) -> Self {
        CsvWriter { for_people, ..self }
    }

    /// Adds the rows of a chunk; the first one's columns make the header.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        if !self.started {
            self.writer.write_record(table.names()).map_err(failed)?;
            self.started = true;
        }
        for row in 0..table.rows() {
            for column in table.columns() {
                let cell = match &column.values {
                    Values::Numeric(values) if !column.missing.at(row) => shortest(values[row]).into(),
                    _ => column.text(row).unwrap_or_default(),
                };
                let is_text = matches!(column.values, Values::Categorical { .. } | Values::Text(_));
                let cell = if self.for_people && is_text { spreadsheet_cell(&cell) } else { Cow::Borrowed(&*cell) };
                self.writer.write_field(cell.as_bytes()).map_err(failed)?;
            }
            self.writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes what is left in the buffer, for somebody who waits for it.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.writer.flush()?)
    }

    /// Writes what is left in the buffer.
    pub fn finish(mut self) -> Result<()> {
        self.flush()
    }
}

/// Like Display, but with an exponent where that saves a row of zeros.
fn shortest(value: f64) -> String {
    let text = format!("{value:?}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_string(),
        None => text,
    }
}

fn failed(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => Error::malformed("CSV", format!("{other:?}")),
    }
}
