//! Tables as Parquet.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::error::{Error, Problem, Result};
use crate::table::{Column, Kind, Table, Values};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 17;

/// Writes chunks as row groups, compressed with snappy, which every reader knows. Numbers are doubles, dates are
/// timestamps in microseconds, any cell may be missing.
pub struct ParquetTableWriter<W: Write + Send> {
    /// Nothing once the file has been started.
    target: Option<W>,
    writer: Option<SerializedFileWriter<W>>,
    columns: Vec<(String, Kind)>,
}

impl<W: Write + Send> ParquetTableWriter<W> {
    /// The file starts with the first chunk, whose columns it has.
    pub fn new(writer: W) -> Self {
        ParquetTableWriter { target: Some(writer), writer: None, columns: Vec::new() }
    }

    /// Adds the rows of a chunk.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        let columns: Vec<(String, Kind)> =
            table.columns().iter().map(|column| (column.name.clone(), column.kind())).collect();
        if let Some(target) = self.target.take() {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = SerializedFileWriter::new(target, schema_of(&columns)?, Arc::new(properties));
            self.writer = Some(writer.map_err(failed)?);
            self.columns = columns;
        } else if columns != self.columns {
            return Err(Error::option("a later chunk has other columns than the first"));
        }
        for start in (0..table.rows()).step_by(GROUP_ROWS) {
            self.write_group(table, start..(start + GROUP_ROWS).min(table.rows()))?;
        }
        Ok(())
    }

    fn write_group(&mut self, table: &Table, rows: std::ops::Range<usize>) -> Result<()> {
        // `write` has started the file.
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let mut group = writer.next_row_group().map_err(failed)?;
        let mut columns = table.columns().iter();
        while let (Some(mut target), Some(column)) = (group.next_column().map_err(failed)?, columns.next()) {
            write_column(target.untyped(), column, rows.clone()).map_err(failed)?;
            target.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        Ok(())
    }

    /// Writes the footer.
    pub fn finish(self) -> Result<()> {
        match self.writer {
            Some(writer) => {
                writer.close().map_err(failed)?;
                Ok(())
            }
            None => Err(Error::new(Problem::Empty("the table to be written".into()))),
        }
    }
}

fn schema_of(columns: &[(String, Kind)]) -> Result<TypePtr> {
    let fields = columns.iter().map(|(name, kind)| {
        let (physical, logical) = match kind {
            Kind::Numeric => (Physical::DOUBLE, None),
            Kind::Boolean => (Physical::BOOLEAN, None),
            Kind::Categorical | Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Date => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build();
        field.map(Arc::new).map_err(failed)
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new).map_err(failed)
}

fn write_column(
    writer: &mut ColumnWriter<'_>,
    column: &Column,
    rows: std::ops::Range<usize>,
) -> std::result::Result<usize, ParquetError> {
    let levels: Vec<i16> = rows.clone().map(|row| i16::from(!column.missing.at(row))).collect();
    let present = rows.filter(|&row| !column.missing.at(row));
    match (writer, &column.values) {
        (ColumnWriter::DoubleColumnWriter(writer), Values::Numeric(values)) => {
            writer.write_batch(&present.map(|row| values[row]).collect::<Vec<_>>(), Some(&levels), None)
        }
        (ColumnWriter::BoolColumnWriter(writer), Values::Boolean(values)) => {
            writer.write_batch(&present.map(|row| values[row]).collect::<Vec<_>>(), Some(&levels), None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), Values::Date(values)) => {
            writer.write_batch(&present.map(|row| values[row]).collect::<Vec<_>>(), Some(&levels), None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Categorical { codes, levels: names }) => {
            // Names share their bytes; a row costs a pointer.
            let names: Vec<ByteArray> = names.iter().map(|name| ByteArray::from(name.as_str())).collect();
            let cells: Vec<ByteArray> = present.map(|row| names[codes[row] as usize].clone()).collect();
            writer.write_batch(&cells, Some(&levels), None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
            let cells: Vec<ByteArray> = present.map(|row| ByteArray::from(values[row].as_str())).collect();
            writer.write_batch(&cells, Some(&levels), None)
        }
        _ => Err(ParquetError::General("a column does not fit the schema".into())),
    }
}

pub(super) fn failed(error: ParquetError) -> Error {
    match error {
        // A full disk or a lost connection keeps its kind, and with it its way out.
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(error) => Error::from(*error),
            Err(other) => Error::malformed("Parquet", other),
        },
        other => Error::malformed("Parquet", other),
    }
}
