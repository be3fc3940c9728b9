//! Arrays in NumPy's format.

use std::io::{Seek, SeekFrom, Write};

use crate::error::{Error, Problem, Result};
use crate::table::{Table, Values};

/// Bytes up to the first element: the header is written again at the end, when the number of rows is known.
const HEADER_BYTES: usize = 128;

/// Writes rows of 32-bit floats.
pub struct NpyWriter<W: Write + Seek> {
    writer: W,
    start: u64,
    width: usize,
    rows: u64,
}

impl<W: Write + Seek> NpyWriter<W> {
    /// Starts an array with rows of `width` numbers, at the writer's place.
    pub fn new(mut writer: W, width: usize) -> Result<Self> {
        if width == 0 {
            return Err(Error::new(Problem::Empty("a row of the array".into())));
        }
        let start = writer.stream_position()?;
        writer.write_all(&array_header(0, width)?)?;
        Ok(NpyWriter { writer, start, width, rows: 0 })
    }

    /// Adds rows.
    pub fn write(&mut self, values: &[f32]) -> Result<()> {
        if !values.len().is_multiple_of(self.width) {
            let (expected, found) = (self.width as u64, (values.len() % self.width) as u64);
            return Err(Error::new(Problem::Shape { what: "numbers in the last row".into(), expected, found }));
        }
        write_numbers(&mut self.writer, values)?;
        self.rows += (values.len() / self.width) as u64;
        Ok(())
    }

    /// Adds the rows of a table of numbers; an array has no way to say that a cell is missing.
    pub fn write_table(&mut self, table: &Table) -> Result<()> {
        let mut row_values = Vec::with_capacity(self.width);
        for row in 0..table.rows() {
            row_values.clear();
            for column in table.columns() {
                let place = |error: Error| error.at_row(row as u64).in_column(&*column.name);
                let way_out = "write the table as CSV or Parquet";
                match &column.values {
                    _ if column.missing.at(row) => {
                        return Err(place(Error::new(Problem::MissingCell)).way_out(way_out));
                    }
                    Values::Numeric(values) => row_values.push(values[row] as f32),
                    Values::Boolean(values) => row_values.push(f32::from(u8::from(values[row]))),
                    _ => {
                        let what = format!("a {} column in an NPY file", column.kind());
                        return Err(place(Error::new(Problem::Unsupported(what))).way_out(way_out));
                    }
                }
            }
            self.write(&row_values)?;
        }
        Ok(())
    }

    /// Writes the header with the number of rows.
    pub fn finish(mut self) -> Result<()> {
        self.writer.seek(SeekFrom::Start(self.start))?;
        self.writer.write_all(&array_header(self.rows, self.width)?)?;
        self.writer.seek(SeekFrom::End(0))?;
        Ok(self.writer.flush()?)
    }
}

/// Writes one text a row, as NumPy keeps arrays of `str`.
pub fn write_npy_labels<S: AsRef<str>>(writer: &mut impl Write, labels: &[S]) -> Result<()> {
    let longest = labels.iter().map(|label| label.as_ref().chars().count()).max().unwrap_or(0).max(1);
    writer.write_all(&header(&format!("<U{longest}"), &format!("({},)", labels.len()))?)?;
    let mut element = Vec::with_capacity(4 * longest);
    for label in labels {
        element.clear();
        element.extend(label.as_ref().chars().flat_map(|character| (character as u32).to_le_bytes()));
        element.resize(4 * longest, 0);
        writer.write_all(&element)?;
    }
    Ok(())
}

/// The header of an array that [`write_numbers`] fills.
pub(super) fn array_header(rows: u64, width: usize) -> Result<Vec<u8>> {
    header("<f4", &format!("({rows}, {width})"))
}

/// Writes the elements of an array of 32-bit floats.
pub(super) fn write_numbers(writer: &mut impl Write, values: &[f32]) -> Result<()> {
    let mut block = Vec::with_capacity(4 * 4096);
    for values in values.chunks(4096) {
        block.clear();
        block.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        writer.write_all(&block)?;
    }
    Ok(())
}

fn header(descr: &str, shape: &str) -> Result<Vec<u8>> {
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let room = HEADER_BYTES - 10;
    if dictionary.len() >= room {
        return Err(Error::internal(format!("shape {shape} is too long for an NPY header")));
    }
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((room as u16).to_le_bytes());
    bytes.extend(format!("{dictionary:<width$}\n", width = room - 1).bytes());
    Ok(bytes)
}
