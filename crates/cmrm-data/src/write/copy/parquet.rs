//! A Parquet file copied value by value, with its types and metadata, apart from the labels that change and the rows that
//! are left out.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescriptor;

use super::super::parquet::failed;
use super::Change;
use crate::error::{Error, Problem, Result};
use crate::read::ParquetFile;

/// Records that are copied at a time.
const BATCH: usize = 1 << 14;

/// Whether a file can be copied with other labels in the column at that place: it has no nested columns, and labels are
/// text, numbers or booleans.
pub fn can_copy_parquet(file: &ParquetFile, label: usize) -> bool {
    let columns = file.metadata().file_metadata().schema_descr().columns();
    let is_flat = |column: &ColumnDescriptor| column.max_rep_level() == 0 && column.max_def_level() <= 1;
    columns.iter().all(|column| is_flat(column)) && columns.get(label).is_some_and(|column| is_plain(column))
}

/// Writes the rows again, whose `changes` are given, with the labels in the column at that place.
pub fn copy_parquet<W: Write + Send>(file: &ParquetFile, out: W, label: usize, changes: &[Change<'_>]) -> Result<()> {
    let metadata = file.metadata();
    let columns = metadata.file_metadata().schema_descr().columns();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(metadata.file_metadata().key_value_metadata().cloned())
        .build();
    let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(failed)?;
    let mut first_row = 0;
    for at in 0..metadata.num_row_groups() {
        let rows = usize::try_from(metadata.row_group(at).num_rows()).unwrap_or(0);
        let changes =
            changes.get(first_row..first_row + rows).ok_or_else(|| Error::internal("a change for each row"))?;
        if changes.iter().all(|change| *change == Change::Drop) {
            first_row += rows;
            continue;
        }
        let mut group = writer.next_row_group().map_err(failed)?;
        let mut column = 0;
        while let Some(mut target) = group.next_column().map_err(failed)? {
            let place = Place { column: &columns[column], is_label: column == label, first_row };
            file.guarded(|| copy_column(file.column_reader(at, column)?, target.untyped(), changes, &place))
                .map_err(|error| error.in_column(columns[column].name()))?;
            target.close().map_err(failed)?;
            column += 1;
        }
        group.close().map_err(failed)?;
        first_row += rows;
    }
    writer.close().map_err(failed)?;
    Ok(())
}

/// Whether a label's text can be turned into a value again.
fn is_plain(column: &ColumnDescriptor) -> bool {
    let physical = !matches!(column.physical_type(), Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY);
    let logical = match column.logical_type_ref() {
        Some(logical) => matches!(logical, LogicalType::String | LogicalType::Enum | LogicalType::Integer(_)),
        None => !matches!(
            column.converted_type(),
            ConvertedType::DATE
                | ConvertedType::DECIMAL
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS
        ),
    };
    physical && logical
}

/// A column of a row group.
struct Place<'a> {
    column: &'a ColumnDescriptor,
    is_label: bool,
    first_row: usize,
}

fn copy_column(
    reader: ColumnReader,
    writer: &mut ColumnWriter<'_>,
    changes: &[Change<'_>],
    place: &Place<'_>,
) -> Result<()> {
    let unsigned = match place.column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(place.column.converted_type(), ConvertedType::UINT_32 | ConvertedType::UINT_64),
    };
    match (reader, writer) {
        (ColumnReader::BoolColumnReader(reader), ColumnWriter::BoolColumnWriter(writer)) => {
            copy(reader, writer, changes, place, |text| text.parse().ok())
        }
        (ColumnReader::Int32ColumnReader(reader), ColumnWriter::Int32ColumnWriter(writer)) => {
            // The bits are the same; only what they mean differs.
            let unsigned = |text: &str| text.parse().ok().filter(|_| unsigned).map(|value: u32| value as i32);
            copy(reader, writer, changes, place, |text| unsigned(text).or_else(|| text.parse().ok()))
        }
        (ColumnReader::Int64ColumnReader(reader), ColumnWriter::Int64ColumnWriter(writer)) => {
            let unsigned = |text: &str| text.parse().ok().filter(|_| unsigned).map(|value: u64| value as i64);
            copy(reader, writer, changes, place, |text| unsigned(text).or_else(|| text.parse().ok()))
        }
        (ColumnReader::FloatColumnReader(reader), ColumnWriter::FloatColumnWriter(writer)) => {
            copy(reader, writer, changes, place, |text| text.parse().ok())
        }
        (ColumnReader::DoubleColumnReader(reader), ColumnWriter::DoubleColumnWriter(writer)) => {
            copy(reader, writer, changes, place, |text| text.parse().ok())
        }
        (ColumnReader::ByteArrayColumnReader(reader), ColumnWriter::ByteArrayColumnWriter(writer)) => {
            copy(reader, writer, changes, place, |text| Some(ByteArray::from(text)))
        }
        (ColumnReader::Int96ColumnReader(reader), ColumnWriter::Int96ColumnWriter(writer)) => {
            copy(reader, writer, changes, place, |_| None)
        }
        (ColumnReader::FixedLenByteArrayColumnReader(reader), ColumnWriter::FixedLenByteArrayColumnWriter(writer)) => {
            copy(reader, writer, changes, place, |_| None)
        }
        _ => Err(Error::internal("a copied column has another type")),
    }
}

fn copy<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    writer: &mut ColumnWriterImpl<'_, T>,
    changes: &[Change<'_>],
    place: &Place<'_>,
    value_of: impl Fn(&str) -> Option<T::T>,
) -> Result<()> {
    let nullable = place.column.max_def_level() > 0;
    let mut done = 0;
    while done < changes.len() {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let (records, ..) = reader
            .read_records(BATCH.min(changes.len() - done), Some(&mut levels), None, &mut values)
            .map_err(|error| Error::malformed("Parquet", error))?;
        if records == 0 {
            let (expected, found) = (changes.len() as u64, done as u64);
            return Err(Error::new(Problem::Shape { what: "rows of the column".into(), expected, found }));
        }
        let mut present = values.into_iter();
        let (mut new_levels, mut new_values) = (Vec::with_capacity(records), Vec::with_capacity(records));
        for (at, change) in changes[done..].iter().take(records).enumerate() {
            let level = levels.get(at).copied().unwrap_or(1);
            let old = if level > 0 { present.next() } else { None };
            let value = match change {
                Change::Drop => continue,
                Change::Label(text) if place.is_label => Some(
                    value_of(text)
                        .ok_or_else(|| not_of_type(text, place.column).at_row((place.first_row + done + at) as u64))?,
                ),
                _ => old,
            };
            new_levels.push(i16::from(value.is_some()));
            new_values.extend(value);
        }
        writer.write_batch(&new_values, nullable.then_some(&new_levels[..]), None).map_err(failed)?;
        done += records;
    }
    Ok(())
}

fn not_of_type(label: &str, column: &ColumnDescriptor) -> Error {
    Error::option(format!("'{label}' cannot be a label there: the column's type is {}", column.physical_type()))
        .way_out("correct the label, or write the new file as .csv, where labels are text")
}
