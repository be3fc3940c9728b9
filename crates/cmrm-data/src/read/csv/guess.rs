//! The first pass: what each column's cells have in common.

use super::{CsvFile, Records};
use crate::error::Result;
use crate::table::{Kind, date, parse_boolean, parse_number};

/// What a column may still be after the cells seen so far.
#[derive(Debug, Clone)]
pub(super) struct Guess {
    numeric: bool,
    boolean: bool,
    date: bool,
    cells: u64,
}

impl Guess {
    /// The kind that fits every cell. A column with no cell at all counts as numbers, and is dropped as constant.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Guess { cells: 0, .. } | Guess { numeric: true, .. } => Kind::Numeric,
            Guess { boolean: true, .. } => Kind::Boolean,
            Guess { date: true, .. } => Kind::Date,
            _ => Kind::Categorical,
        }
    }
}

/// Passes over the whole file. Ragged rows and bytes that are not UTF-8 are found here.
pub(super) fn guess_kinds(file: &CsvFile) -> Result<Vec<Guess>> {
    let open = Guess { numeric: true, boolean: true, date: true, cells: 0 };
    let mut guesses = vec![open; file.plan.names.len()];
    let mut records = Records::open(file)?;
    let comma = file.options.text.decimal_comma;
    while records.advance(file)? {
        records.check_width(file.plan.names.len(), file.dialect.delimiter)?;
        for ((guess, cell), column) in guesses.iter_mut().zip(records.cells()).zip(&file.plan.columns) {
            if column.is_none() {
                continue;
            }
            if file.is_missing(cell) {
                continue;
            }
            guess.cells += 1;
            guess.numeric = guess.numeric && parse_number(&with_point(cell, comma)).is_some();
            guess.boolean = guess.boolean && parse_boolean(cell).is_some();
            guess.date = guess.date && date::parse(cell).is_some();
        }
    }
    Ok(guesses)
}

/// A number written with a decimal comma, written with a point.
pub(super) fn with_point(cell: &str, decimal_comma: bool) -> std::borrow::Cow<'_, str> {
    if decimal_comma && cell.contains(',') { cell.replacen(',', ".", 1).into() } else { cell.into() }
}
