//! A column as the kind it has to be, where that is possible without guessing.

use std::borrow::Cow;

use super::{Column, ColumnBuilder, Kind, Style, Values};
use crate::error::{Error, Problem, Result};

/// The column itself, or a copy of the wanted kind. Anything has a text; text is parsed in the style; booleans are zero
/// and one. A cell that cannot be turned is refused with its row.
pub(crate) fn as_kind<'a>(column: &'a Column, kind: Kind, style: Style, first_row: u64) -> Result<Cow<'a, Column>> {
    if column.kind() == kind {
        return Ok(Cow::Borrowed(column));
    }
    let mut builder = ColumnBuilder::new(kind).written(style, column.doubt.clone());
    for row in 0..column.len() {
        let Some(text) = column.text(row) else {
            builder.push_missing();
            continue;
        };
        let fits = match (&column.values, kind) {
            (Values::Boolean(values), Kind::Numeric) => {
                builder.push_number(f64::from(u8::from(values[row])));
                true
            }
            (Values::Numeric(values), Kind::Boolean) if values[row] == 0.0 || values[row] == 1.0 => {
                builder.push_boolean(values[row] == 1.0);
                true
            }
            _ => builder.push_text(&text),
        };
        if !fits {
            return Err(not_of_kind(text.into_owned(), kind, first_row + row as u64, &column.name));
        }
    }
    Ok(Cow::Owned(builder.finish(&column.name)))
}

/// The error of a cell that is not of the kind that its column has to be.
pub(crate) fn not_of_kind(text: String, kind: Kind, row: u64, column: &str) -> Error {
    Error::new(Problem::NotOfKind { text, kind })
        .at_row(row)
        .in_column(column)
        .way_out(format!("the column has to be {kind}: correct the cell, or state the column's kind"))
}
