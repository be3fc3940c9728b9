//! Records one after the other, each with its row and line, checked for what no text file has.

use std::io::{BufReader, Read};

use super::super::limits::MAX_ROW_BYTES;
use super::super::source::io_error;
use super::{CsvFile, line, nul_byte, row_too_long, skip_line, utf8};
use crate::error::{Error, Problem, Result};

/// Reads records and keeps count.
pub(super) struct Records {
    reader: csv::Reader<RowBounded>,
    record: csv::ByteRecord,
    /// Rows so far, the current one included.
    pub row: u64,
}

impl Records {
    /// The records behind the skipped lines and the header.
    pub fn open(file: &CsvFile) -> Result<Self> {
        let mut reader = BufReader::with_capacity(1 << 16, file.source.open_unpacked(&file.options.limits)?);
        for _ in 0..file.dialect.skip_lines {
            skip_line(&mut reader).map_err(io_error)?;
        }
        Records::of(Box::new(reader), file)
    }

    /// The records behind the header of what the reader gives.
    pub fn of(reader: Box<dyn Read + Send>, file: &CsvFile) -> Result<Self> {
        let reader = file.dialect.builder().from_reader(RowBounded { reader, left: 0 });
        let mut records = Records { reader, record: csv::ByteRecord::new(), row: 0 };
        if file.dialect.header {
            records.next_record(file, 0)?;
        }
        Ok(records)
    }

    /// Bytes that have been taken from the reader and made into records.
    pub fn bytes(&self) -> u64 {
        self.reader.position().byte()
    }

    /// Moves to the next row; false at the end.
    pub fn advance(&mut self, file: &CsvFile) -> Result<bool> {
        self.next_record(file, 1)
    }

    /// Moves to the next record, which counts as that many rows.
    fn next_record(&mut self, file: &CsvFile, rows: u64) -> Result<bool> {
        self.reader.get_mut().left = MAX_ROW_BYTES;
        let read = self.reader.read_byte_record(&mut self.record);
        if let Ok(false) = read {
            return Ok(false);
        }
        self.row += rows;
        read.map_err(|error| {
            let error = match error.into_kind() {
                csv::ErrorKind::Io(error) if error.get_ref().is_some_and(|inner| inner.is::<RowTooLong>()) => {
                    row_too_long()
                }
                csv::ErrorKind::Io(error) => io_error(error),
                other => Error::malformed("CSV", format!("{other:?}")),
            };
            self.place(file, error)
        })?;
        // Quotes and delimiters are ASCII, so the record is valid exactly if its cells are.
        if self.record.iter().any(|cell| std::str::from_utf8(cell).is_err()) {
            let error = match file.passing {
                true => utf8::no_text("the row"),
                false => utf8::locate(&file.source, &file.options, &file.dialect)?,
            };
            return Err(self.place(file, error));
        }
        if self.record.as_slice().contains(&0) {
            return Err(self.place(file, self.locate_nul(file, rows == 0)));
        }
        Ok(true)
    }

    fn locate_nul(&self, file: &CsvFile, is_header: bool) -> Error {
        let cell = self.record.iter().position(|cell| cell.contains(&0)).unwrap_or(0);
        match file.plan.names.get(cell).filter(|_| !is_header) {
            Some(name) => nul_byte(None).in_column(&**name),
            None => nul_byte(Some(cell)),
        }
    }

    /// The cells of the current record without the spaces around them.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        // `advance` has refused anything else; an empty cell is what the compiler wants to hear about.
        self.record.iter().map(|cell| std::str::from_utf8(cell).unwrap_or("").trim())
    }

    /// Refuses a row with another number of cells.
    pub fn check_width(&self, file: &CsvFile) -> Result<()> {
        let (found, expected) = (self.record.len(), file.plan.names.len());
        if found == expected {
            return Ok(());
        }
        Err(self.place(file, Error::new(Problem::Ragged { expected, found })).way_out(format!(
            "put quotes around cells that contain the delimiter {:?}, or state the right delimiter (--delimiter) or how \
             many lines to skip at the start (--skip-lines)",
            file.dialect.delimiter as char
        )))
    }

    /// Adds row and line of the current record.
    pub fn place(&self, file: &CsvFile, error: Error) -> Error {
        let byte = self.record.position().map_or(0, csv::Position::byte);
        // A file that cannot be read again has an error of its own to report, and that comes with a row.
        let line = || line::of_record(&file.source, &file.options, &file.dialect, byte).ok();
        let error = match (!file.passing).then(line).flatten() {
            Some(line) => error.at_line(line),
            None => error,
        };
        if self.row > 0 { error.at_row(self.row - 1) } else { error }
    }
}

/// Passes bytes on and fails once a record has taken more than it may: a quotation mark without its partner would
/// otherwise make one cell of the rest of the file.
struct RowBounded {
    reader: Box<dyn Read + Send>,
    left: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("a row is longer than {MAX_ROW_BYTES} bytes")]
struct RowTooLong;

impl Read for RowBounded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(read).ok_or_else(|| std::io::Error::other(RowTooLong))?;
        Ok(read)
    }
}
