//! What the columns are, to show before anything is fitted.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::dataset::Features;
use crate::table::{Column, Kind, Values, date};

/// Names shown for a column of names.
const SHOWN: usize = 4;
/// Longest cell shown whole.
const LONGEST: usize = 24;

/// One line for each column; prints as a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Number of rows.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<ColumnSummary>,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// Its kind, as detected or stated.
    pub kind: Kind,
    /// How many cells are missing.
    pub missing: usize,
    /// Number of names, for a column of names.
    pub levels: Option<usize>,
    /// Its range, or some of its names.
    pub cells: String,
}

impl Summary {
    /// Looks at every row. An array of more than a few columns comes as one line.
    pub fn of(features: &Features) -> Self {
        let columns = match features {
            Features::Table(table) => table.columns().iter().map(ColumnSummary::of).collect(),
            Features::Array(array) => {
                let range = array
                    .values()
                    .iter()
                    .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
                vec![ColumnSummary {
                    name: format!("x0 to x{}", array.width() - 1),
                    kind: Kind::Numeric,
                    missing: 0,
                    levels: None,
                    cells: format!("{} to {}", range.0, range.1),
                }]
            }
        };
        Summary { rows: features.rows(), columns }
    }
}

impl ColumnSummary {
    /// Looks at every cell.
    pub fn of(column: &Column) -> Self {
        let present = (0..column.len()).filter(|&row| !column.missing.at(row));
        let mut levels = None;
        let cells = match &column.values {
            Values::Numeric(values) => {
                let range = present.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| {
                    (low.min(values[row]), high.max(values[row]))
                });
                format!("{} to {}", range.0, range.1)
            }
            Values::Date(values) => {
                let range = present
                    .fold((i64::MAX, i64::MIN), |range, row| (range.0.min(values[row]), range.1.max(values[row])));
                if range.0 <= range.1 {
                    format!("{} to {}", date::format(range.0), date::format(range.1))
                } else {
                    String::new()
                }
            }
            Values::Boolean(values) => format!("{} true", present.filter(|&row| values[row]).count()),
            Values::Categorical { codes, levels: names } => {
                let used: BTreeSet<u32> = present.map(|row| codes[row]).collect();
                levels = Some(used.len());
                let mut shown: Vec<String> =
                    used.iter().take(SHOWN).map(|&code| shorten(&names[code as usize])).collect();
                if used.len() > SHOWN {
                    shown.push("…".into());
                }
                shown.join(", ")
            }
        };
        let missing = column.missing.count();
        let cells = if missing == column.len() { String::new() } else { cells };
        ColumnSummary { name: column.name.clone(), kind: column.kind(), missing, levels, cells }
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.columns.iter().map(|column| shorten(&column.name)).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("column".len());
        writeln!(f, "{:widest$}  {:11}  {:>8}  values", "column", "kind", "missing")?;
        for (column, name) in self.columns.iter().zip(&names) {
            write!(f, "{name:widest$}  {:11}  {:>8}  ", column.kind, column.missing)?;
            match column.levels {
                Some(levels) => writeln!(f, "{levels} names: {}", column.cells)?,
                None => writeln!(f, "{}", column.cells)?,
            }
        }
        Ok(())
    }
}
