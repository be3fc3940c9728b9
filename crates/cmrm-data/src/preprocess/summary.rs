//! What the columns are and what becomes of them, to show before anything is trained.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::plan::{ColumnPlan, Encoder};
use super::{Note, Preprocess};
use crate::dataset::Features;
use crate::files::text::{printable_value, shorten};
use crate::table::{Column, Kind, Values, as_kind, date};

/// Names shown for a column of names.
const SHOWN: usize = 4;
/// Most columns that have a line of their own.
const COLUMNS: usize = 100;
/// Of more columns than this only the first few are printed: a table of genes has thousands that are all alike.
const MANY: usize = 40;
const FEW: usize = 3;
/// Widest part of a line that says what the cells are, in letters.
const WIDEST: usize = 36;

/// What becomes of a column that the user does not want.
const AS_STATED: &str = "left out, as stated";

/// One line for each column, up to a hundred; prints as a table, with a sentence below for each column whose kind was close.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of rows.
    pub rows: usize,
    /// The first columns.
    pub columns: Vec<ColumnSummary>,
    /// How many columns follow.
    pub more: usize,
}

/// What a column is, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// Its kind, as detected or stated; nothing for a column that was not read.
    pub kind: Option<Kind>,
    /// How many cells are missing.
    pub missing: usize,
    /// Number of names, for a column of names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<usize>,
    /// Its range, some of its names, or an example.
    pub cells: String,
    /// What becomes of it, once that is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// A sentence where deciding what the column is was close.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Summary {
    /// Looks at every row. The columns of an array come as one line.
    pub fn of(features: &Features) -> Self {
        let array = |width: usize, cells: String| ColumnSummary {
            kind: Some(Kind::Numeric),
            cells,
            ..ColumnSummary::unread(&format!("x0 to x{}", width.saturating_sub(1)))
        };
        let (columns, more) = match features {
            Features::Table(table) => (
                table.columns().iter().take(COLUMNS).map(ColumnSummary::of).collect(),
                table.columns().len().saturating_sub(COLUMNS),
            ),
            Features::Array(matrix) => {
                let range = matrix
                    .values()
                    .iter()
                    .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
                (vec![array(matrix.width(), format!("{} to {}", range.0, range.1))], 0)
            }
            Features::Sparse(matrix) => {
                let cells = format!("sparse, {} numbers that are not zero", matrix.rows.kept());
                (vec![array(matrix.rows.width(), cells)], 0)
            }
        };
        Summary { rows: features.rows(), columns, more }
    }

    /// The columns of a table with what `preprocess`, which was fitted on it with these `notes`, makes of them, and those
    /// that were left out when it was read. An array has no columns to speak of.
    pub fn planned(features: &Features, preprocess: &Preprocess, notes: &[Note]) -> Option<Self> {
        let Features::Table(table) = features else { return None };
        let mut summary = Summary::of(features);
        for (column, as_read) in summary.columns.iter_mut().zip(table.columns()) {
            let plan = preprocess.columns().iter().find(|plan| plan.name == column.name);
            // A data frame has the cells as it had them, whatever was stated about them.
            let stated = plan.filter(|plan| plan.kind != as_read.kind());
            if let Some(Ok(read)) = stated.map(|plan| as_kind(as_read, plan.kind, plan.style, table.first_row())) {
                *column = ColumnSummary::of(&read);
            }
            column.done = Some(plan.map_or_else(|| AS_STATED.into(), |plan| plan.words(column.missing, notes)));
            // What was stated is not in doubt.
            column.kind = plan.map(|plan| plan.kind).or(column.kind);
            column.doubt = column.doubt.take().filter(|_| plan.is_some());
        }
        let room = COLUMNS - summary.columns.len();
        let unread = table.skipped().iter().take(room);
        let unread = unread.map(|name| ColumnSummary { done: Some(AS_STATED.into()), ..ColumnSummary::unread(name) });
        summary.columns.extend(unread);
        summary.more += table.skipped().len().saturating_sub(room);
        Some(summary)
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
            Values::Text(values) => present.take(1).map(|row| shorten(&values[row])).collect(),
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
        let (kind, doubt) = (Some(column.kind()), column.doubt.clone());
        ColumnSummary { missing, levels, cells, kind, doubt, ..ColumnSummary::unread(&column.name) }
    }

    /// A column that was left out when the table was read.
    fn unread(name: &str) -> Self {
        ColumnSummary {
            name: name.to_string(),
            kind: None,
            missing: 0,
            levels: None,
            cells: String::new(),
            done: None,
            doubt: None,
        }
    }

    /// The cells in at most [`WIDEST`] letters.
    fn values(&self) -> String {
        let text = match self.levels {
            Some(levels) => format!("{levels} names: {}", self.cells),
            None => self.cells.clone(),
        };
        match text.char_indices().nth(WIDEST) {
            Some((end, _)) => format!("{}…", text[..end].trim_end()),
            None => text,
        }
    }
}

impl ColumnPlan {
    /// What becomes of the column, in a few words.
    fn words(&self, missing: usize, notes: &[Note]) -> String {
        let is_id = |note: &Note| matches!(note, Note::Identifier { column, .. } if *column == self.name);
        let done = match &self.encoder {
            Encoder::Dropped if notes.iter().any(is_id) => "left out: tells the rows apart".into(),
            Encoder::Dropped if self.flag => "whether it is missing".into(),
            Encoder::Dropped => "left out: always the same".into(),
            Encoder::Number(_) => "a number".into(),
            Encoder::Days(_) => "a number of days".into(),
            Encoder::OneHot { levels } => format!("yes or no for each of {} names", levels.len()),
            Encoder::Ordinal { levels, .. } => format!("the place among {} names", levels.len()),
            _ => format!("{} features", self.width()),
        };
        if missing > 0 && self.fill.is_some() && self.width() > 0 { format!("{done}, gaps filled in") } else { done }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.columns.len() + self.more;
        let shown = if all > MANY { &self.columns[..FEW.min(self.columns.len())] } else { &self.columns[..] };
        let lines: Vec<[String; 4]> = shown
            .iter()
            .map(|column| {
                let kind = column.kind.map_or("-".into(), |kind| kind.to_string());
                let [name, values] =
                    [&shorten(&column.name), &column.values()].map(|text| printable_value(text).into_owned());
                [name, kind, values, column.done.clone().unwrap_or_default()]
            })
            .collect();
        let widest = |at: usize, title: &str| {
            lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0).max(title.len())
        };
        let (name, kind, values) = (widest(0, "column"), widest(1, "kind"), widest(2, "values"));
        let mut line = |cells: [&str; 5]| {
            let [a, b, c, d, e] = cells;
            let text = format!("{a:name$}  {b:kind$}  {c:>8}  {d:values$}  {e}");
            writeln!(f, "{}", text.trim_end())
        };
        line([
            "column",
            "kind",
            "missing",
            "values",
            if self.columns.iter().any(|c| c.done.is_some()) { "used as" } else { "" },
        ])?;
        for (column, [name, kind, values, done]) in shown.iter().zip(&lines) {
            line([name, kind, &column.missing.to_string(), values, done])?;
        }
        if all > shown.len() {
            writeln!(f, "… and {} more columns", all - shown.len())?;
        }
        for column in &self.columns {
            if let Some(doubt) = &column.doubt {
                writeln!(f, "note: column '{}': {doubt}", printable_value(&column.name))?;
            }
        }
        Ok(())
    }
}
