//! Text that is still arriving: how it is written is told by its first line alone, or not at all.

use std::sync::Arc;

use super::dialect::DELIMITERS;
use super::header::Row;
use super::{CsvChunks, CsvFile, Dialect, Records, header_names};
use crate::error::Result;
use crate::read::arriving::Arriving;
use crate::read::source::io_error;
use crate::read::stream::Usual;
use crate::read::{Expected, ReadOptions, Source};
use crate::table::number::{self, Decimal};
use crate::table::{made_up_name, refuse_duplicates};

impl CsvChunks {
    /// The rows of a stream whose first line names all columns that a model needs, or is a row of an array; gives the stream
    /// back if that cannot be told.
    pub(in crate::read) fn of_stream(
        name: &str,
        mut stream: Arriving,
        options: &ReadOptions,
        usual: &Usual,
        rows: usize,
    ) -> Result<std::result::Result<Self, Arriving>> {
        let line = stream.first_line().map_err(io_error)?.to_vec();
        let Some(expected) = &options.expected else { return Ok(Err(stream)) };
        let Some((dialect, names)) = settle(&line, options, expected) else { return Ok(Err(stream)) };
        let options = usual.beside(options, &names);
        let plan = match options.plan(names, !dialect.header) {
            Ok(plan) if (0..plan.names.len()).all(|at| !plan.is_open(at)) => plan,
            _ => return Ok(Err(stream)),
        };
        let arrived = stream.arrived();
        let file = Arc::new(CsvFile { source: Source::bytes(name, Vec::new()), passing: true, options, dialect, plan });
        let records = Records::of(Box::new(stream), &file).map_err(|error| error.in_file(name))?;
        Ok(Ok(CsvChunks::of(&file, records, rows, Some(arrived))))
    }
}

/// The dialect and the names of the columns, if the first line leaves no doubt.
fn settle(line: &[u8], options: &ReadOptions, expected: &Expected) -> Option<(Dialect, Vec<String>)> {
    let text = &options.text;
    // A cell that goes on in the next line, or another encoding.
    let open = line.iter().filter(|&&byte| byte == text.quote).count() % 2 == 1;
    if open || line.contains(&0) || std::str::from_utf8(line).is_err() || !line.ends_with(b"\n") {
        return None;
    }
    let needed = expected.needed();
    let by_name = !expected.unnamed && text.header != Some(false);
    let delimiters = text.delimiter.map_or(DELIMITERS.to_vec(), |stated| vec![stated]);
    delimiters.into_iter().filter(|&delimiter| delimiter != text.quote).find_map(|delimiter| {
        let (header, quote, comment) = (by_name, text.quote, text.comment);
        let dialect = Dialect { delimiter, header, quote, comment, skip_lines: 0 };
        let mut record = csv::ByteRecord::new();
        if !dialect.builder().from_reader(line).read_byte_record(&mut record).unwrap_or(false) {
            return None;
        }
        let cells = Row::of(&record).cells;
        if by_name {
            let names = header_names(&cells);
            let whole = needed.iter().all(|needed| names.iter().any(|name| name == needed));
            return (whole && refuse_duplicates(names.iter().map(String::as_str)).is_ok()).then_some((dialect, names));
        }
        let is_number = |cell: &String| number::parse(cell, Decimal::Point).is_some();
        let row = expected.unnamed && text.header != Some(true) && cells.len() == expected.width;
        let names = || (0..cells.len()).map(made_up_name).collect();
        (row && options.label.is_none() && options.id.is_none() && cells.iter().all(is_number))
            .then(|| (dialect, names()))
    })
}
