//! The values of one column chunk, into a column.

use crate::files::text::hex;
use half::f16;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;

use super::super::cell::{Cell, decimal};
use super::schema::Meaning;
use crate::error::{Error, Problem, Result};
use crate::table::ColumnBuilder;
use crate::table::date::DAY;

/// Records that the decoder is asked for at a time.
const BATCH: usize = 1024;
/// The Julian day of 1970-01-01.
const JULIAN_EPOCH: i64 = 2_440_588;

/// Reads `rows` records into the builder. `first_row` is the row of the first, for messages.
pub(super) fn read_rows(
    reader: &mut ColumnReader,
    meaning: Meaning,
    rows: usize,
    first_row: u64,
    builder: &mut ColumnBuilder,
) -> Result<()> {
    let push = |builder: &mut ColumnBuilder, cell: Cell<'_>| {
        cell.push(builder);
        Ok(())
    };
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            read_typed(reader, rows, first_row, builder, |builder, value| push(builder, Cell::Boolean(*value)))
        }
        ColumnReader::Int32ColumnReader(reader) => read_typed(reader, rows, first_row, builder, |builder, value| {
            let cell = match meaning {
                // The bits are the same; only what they mean differs.
                Meaning::Unsigned => Cell::Unsigned(u64::from(*value as u32)),
                Meaning::Days => Cell::Date(i64::from(*value).saturating_mul(DAY)),
                Meaning::Decimal(scale) => Cell::Decimal(i128::from(*value), scale),
                _ => Cell::Signed(i64::from(*value)),
            };
            push(builder, cell)
        }),
        ColumnReader::Int64ColumnReader(reader) => read_typed(reader, rows, first_row, builder, |builder, value| {
            let cell = match meaning {
                Meaning::Unsigned => Cell::Unsigned(*value as u64),
                Meaning::Timestamp { times, over } => Cell::Date(value.saturating_mul(times).div_euclid(over)),
                Meaning::Decimal(scale) => Cell::Decimal(i128::from(*value), scale),
                _ => Cell::Signed(*value),
            };
            push(builder, cell)
        }),
        ColumnReader::Int96ColumnReader(reader) => read_typed(reader, rows, first_row, builder, |builder, value| {
            let data = value.data();
            let nanoseconds = u64::from(data[0]) | u64::from(data[1]) << 32;
            let days = i64::from(data[2]) - JULIAN_EPOCH;
            // At most 2⁶⁴ thousandths, and then the days: neither can overflow, but the sum is held in bounds.
            push(builder, Cell::Date(days.saturating_mul(DAY).saturating_add((nanoseconds / 1000) as i64)))
        }),
        ColumnReader::FloatColumnReader(reader) => {
            read_typed(reader, rows, first_row, builder, |builder, value| push(builder, Cell::Single(*value)))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            read_typed(reader, rows, first_row, builder, |builder, value| push(builder, Cell::Double(*value)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            read_typed(reader, rows, first_row, builder, |builder, value| match meaning {
                Meaning::Decimal(scale) => push(builder, decimal(value.data().iter().copied(), scale)),
                _ => push(builder, Cell::Text(std::str::from_utf8(value.data()).map_err(not_utf8)?)),
            })
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            read_typed(reader, rows, first_row, builder, |builder, value| match (meaning, value.data()) {
                (Meaning::Half, &[low, high]) => push(builder, Cell::Single(f16::from_le_bytes([low, high]).to_f32())),
                (Meaning::Decimal(scale), data) => push(builder, decimal(data.iter().copied(), scale)),
                (_, data) => push(builder, Cell::Text(&uuid(data))),
            })
        }
    }
}

fn read_typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    first_row: u64,
    builder: &mut ColumnBuilder,
    push: impl Fn(&mut ColumnBuilder, &T::T) -> Result<()>,
) -> Result<()> {
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let mut done = 0;
    while done < rows {
        values.clear();
        levels.clear();
        let (records, found, _) = reader
            .read_records(BATCH.min(rows - done), Some(&mut levels), None, &mut values)
            .map_err(|error| Error::malformed("Parquet", error).at_row(first_row + done as u64))?;
        if records == 0 {
            return Err(Error::new(Problem::Shape {
                what: "rows of the column".into(),
                expected: rows as u64,
                found: done as u64,
            }));
        }
        let mut present = values.iter().take(found);
        for record in 0..records {
            // A required column has no levels: every value is there.
            let level = levels.get(record).copied().unwrap_or(1);
            match if level > 0 { present.next() } else { None } {
                Some(value) => {
                    push(builder, value).map_err(|error| error.at_row(first_row + (done + record) as u64))?;
                }
                None => builder.push_missing(),
            }
        }
        done += records;
    }
    Ok(())
}

fn uuid(bytes: &[u8]) -> String {
    let mut text = hex(bytes);
    for at in [20, 16, 12, 8] {
        if at < text.len() {
            text.insert(at, '-');
        }
    }
    text
}

fn not_utf8(error: std::str::Utf8Error) -> Error {
    Error::malformed("Parquet", format!("byte {} of a text is not valid UTF-8", error.valid_up_to()))
        .way_out("write the column as text or numbers, or ignore it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_their_hyphens() {
        assert_eq!(uuid(&[0xab; 16]), "abababab-abab-abab-abab-abababababab");
    }
}
