//! The first sheet of an `.xls` workbook.

use std::io::Cursor;

use calamine::{Data, Reader, Xls};

use super::numbers::{as_whole, wrong_columns};

/// The rows of whole numbers below the titles, row by row. Any number of rows of text may come first.
pub(super) fn read(file: &[u8], columns: &[&str]) -> Result<Vec<i64>, String> {
    let mut book = Xls::new(Cursor::new(file)).map_err(|error| format!("not a readable xls workbook: {error}"))?;
    let sheet = match book.worksheet_range_at(0) {
        Some(sheet) => sheet.map_err(|error| format!("not a readable xls workbook: {error}"))?,
        None => return Err("a workbook without sheets".into()),
    };
    if sheet.width() != columns.len() {
        return Err(wrong_columns(sheet.width(), columns.len()));
    }
    let mut values = Vec::with_capacity(sheet.height() * columns.len());
    for (index, row) in sheet.rows().enumerate() {
        let titles = values.is_empty() && row.iter().any(|cell| number(cell).is_none());
        if titles {
            continue;
        }
        for (cell, column) in row.iter().zip(columns) {
            let value = number(cell)
                .ok_or_else(|| format!("sheet row {}, column '{column}': '{cell}' is not a whole number", index + 1))?;
            values.push(value);
        }
    }
    Ok(values)
}

fn number(cell: &Data) -> Option<i64> {
    match cell {
        Data::Int(value) => Some(*value),
        Data::Float(value) => as_whole(*value),
        // Some copies of the workbook store numbers as text.
        Data::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}
