//! Where a table of predictions goes: a file, in the format of its name, or standard output.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use cmrm_data::table::Values;
use cmrm_data::write::{CsvWriter, NpyWriter, ParquetTableWriter};
use cmrm_data::{Problem, Table};

use crate::failure::{Failure, Result};

/// The formats that predictions can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutFormat {
    Text(u8),
    JsonLines,
    Parquet,
    /// The matrix of probabilities and nothing else.
    Npy,
}

impl OutFormat {
    /// By the name's extension.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Ok(OutFormat::Text(b',')),
            "tsv" => Ok(OutFormat::Text(b'\t')),
            "jsonl" | "ndjson" => Ok(OutFormat::JsonLines),
            "parquet" => Ok(OutFormat::Parquet),
            "npy" => Ok(OutFormat::Npy),
            _ => Err(Failure::input(format!(
                "{}: predictions cannot be written to a file of that name; end it in .csv, .tsv, .jsonl, .parquet or .npy",
                path.display()
            ))),
        }
    }
}

/// A place for rows.
pub enum PredictionWriter<'a> {
    Stdout(CsvWriter<std::io::StdoutLock<'static>>),
    /// Elements of a JSON list; whether one has been written.
    Json(BufWriter<std::io::StdoutLock<'static>>, bool),
    JsonLines(Box<dyn Write + 'a>),
    Text(CsvWriter<&'a mut BufWriter<File>>),
    Parquet(Box<ParquetTableWriter<&'a mut BufWriter<File>>>),
    Npy(NpyWriter<&'a mut BufWriter<File>>),
}

impl<'a> PredictionWriter<'a> {
    /// Rows on standard output, as JSON Lines or as CSV.
    pub fn stdout(lines: bool) -> Self {
        let out = std::io::stdout().lock();
        match lines {
            true => PredictionWriter::JsonLines(Box::new(BufWriter::new(out))),
            false => PredictionWriter::Stdout(CsvWriter::new(out, b',')),
        }
    }

    /// Rows in a file under way; `classes` is the width of a matrix of probabilities.
    pub fn file(file: &'a mut BufWriter<File>, format: OutFormat, classes: usize) -> cmrm_data::Result<Self> {
        Ok(match format {
            OutFormat::Text(delimiter) => PredictionWriter::Text(CsvWriter::new(file, delimiter)),
            OutFormat::JsonLines => PredictionWriter::JsonLines(Box::new(file)),
            OutFormat::Parquet => PredictionWriter::Parquet(Box::new(ParquetTableWriter::new(file))),
            OutFormat::Npy => PredictionWriter::Npy(NpyWriter::new(file, classes)?),
        })
    }

    /// Rows as the list `predictions` at the end of a JSON object.
    pub fn json(head: &serde_json::Map<String, serde_json::Value>) -> cmrm_data::Result<Self> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let head = serde_json::Value::Object(head.clone()).to_string();
        // The object is left open: the rows follow.
        out.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
        out.write_all(b",\"predictions\":[")?;
        Ok(PredictionWriter::Json(out, false))
    }

    /// Adds rows.
    pub fn write(&mut self, table: &Table, probabilities: &[f32]) -> cmrm_data::Result<()> {
        match self {
            PredictionWriter::Stdout(writer) => writer.write(table),
            PredictionWriter::Text(writer) => writer.write(table),
            PredictionWriter::Parquet(writer) => writer.write(table),
            PredictionWriter::Npy(writer) => writer.write(probabilities),
            PredictionWriter::Json(out, started) => {
                let rows = JsonRows::of(table)?;
                for row in 0..table.rows() {
                    out.write_all(if *started { b",\n" } else { b"\n" })?;
                    rows.write(row, out)?;
                    *started = true;
                }
                Ok(())
            }
            PredictionWriter::JsonLines(out) => {
                let rows = JsonRows::of(table)?;
                for row in 0..table.rows() {
                    rows.write(row, out)?;
                    out.write_all(b"\n")?;
                }
                Ok(())
            }
        }
    }

    /// Hands on what is written so far, where somebody reads along.
    pub fn flush(&mut self) -> cmrm_data::Result<()> {
        match self {
            PredictionWriter::Stdout(writer) => writer.flush(),
            PredictionWriter::Json(out, _) => Ok(out.flush()?),
            PredictionWriter::JsonLines(out) => Ok(out.flush()?),
            PredictionWriter::Text(_) | PredictionWriter::Parquet(_) | PredictionWriter::Npy(_) => Ok(()),
        }
    }

    /// Writes what is left.
    pub fn finish(self) -> cmrm_data::Result<()> {
        match self {
            PredictionWriter::Stdout(writer) => writer.finish(),
            PredictionWriter::Text(writer) => writer.finish(),
            PredictionWriter::Parquet(writer) => writer.finish(),
            PredictionWriter::Npy(writer) => writer.finish(),
            PredictionWriter::JsonLines(mut out) => Ok(out.flush()?),
            PredictionWriter::Json(mut out, _) => Ok(out.write_all(b"]}\n").and_then(|()| out.flush())?),
        }
    }
}

/// The rows of a table as JSON objects.
struct JsonRows<'a> {
    table: &'a Table,
    /// The names as JSON.
    keys: Vec<String>,
}

impl<'a> JsonRows<'a> {
    fn of(table: &'a Table) -> cmrm_data::Result<Self> {
        let key = |name: &str| Ok(serde_json::to_string(name).map_err(std::io::Error::from)?);
        Ok(JsonRows { table, keys: table.names().into_iter().map(key).collect::<cmrm_data::Result<_>>()? })
    }

    fn write(&self, row: usize, out: &mut impl Write) -> std::io::Result<()> {
        for (at, (column, key)) in self.table.columns().iter().zip(&self.keys).enumerate() {
            write!(out, "{}{key}:", if at == 0 { '{' } else { ',' })?;
            match &column.values {
                Values::Numeric(values) if !column.missing.at(row) => {
                    serde_json::to_writer(&mut *out, &number(values[row]))?;
                }
                Values::Boolean(values) if !column.missing.at(row) => serde_json::to_writer(&mut *out, &values[row])?,
                _ => serde_json::to_writer(&mut *out, &column.text(row))?,
            }
        }
        out.write_all(b"}")
    }
}

/// Whole numbers without a fraction.
fn number(value: f64) -> serde_json::Value {
    // Row numbers stay below 2⁵³, where every whole number is exact.
    if value.fract() == 0.0 && value.abs() < 9e15 { (value as i64).into() } else { value.into() }
}

/// Whether the reader of standard output has gone away (`| head`).
pub fn is_closed_pipe(error: &cmrm_data::Error) -> bool {
    matches!(error.problem(), Problem::Io(io) if io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Names the output in an error, and the way out.
pub fn in_output(error: cmrm_data::Error, name: impl std::fmt::Display) -> Failure {
    let advice = match error.problem() {
        Problem::Io(io) if error.advice().is_none() => cmrm_data::files::way_out_of_writing(io.kind()),
        _ => "",
    };
    let error = if advice.is_empty() { error } else { error.way_out(advice) };
    Failure::input(error.in_file(name))
}
