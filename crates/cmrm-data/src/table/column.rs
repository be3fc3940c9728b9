//! One column: a name, typed values and which of them are missing.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Kind, Missing, Style, date};
use crate::error::{Error, Problem, Result};

/// A named column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells; a missing cell has some value here that means nothing.
    pub values: Values,
    /// Which cells are missing.
    pub missing: Missing,
    /// How its cells were written, where they were text.
    pub style: Style,
    /// A sentence where deciding what the cells are was close.
    pub doubt: Option<String>,
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers.
    Numeric(Vec<f64>),
    /// True or false.
    Boolean(Vec<bool>),
    /// Names, each stored once.
    Categorical {
        /// For each cell, which of the names.
        codes: Vec<u32>,
        /// The names, in the order of their first cell.
        levels: Vec<String>,
    },
    /// Microseconds since 1970-01-01 00:00 UTC.
    Date(Vec<i64>),
    /// Sentences and notes.
    Text(Vec<String>),
}

impl Values {
    /// What the cells are.
    pub fn kind(&self) -> Kind {
        match self {
            Values::Numeric(_) => Kind::Numeric,
            Values::Boolean(_) => Kind::Boolean,
            Values::Categorical { .. } => Kind::Categorical,
            Values::Date(_) => Kind::Date,
            Values::Text(_) => Kind::Text,
        }
    }
}

impl Column {
    /// A column without missing cells.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Column { name: name.into(), values, missing: Missing::default(), style: Style::PLAIN, doubt: None }
    }

    /// A numeric column without missing cells.
    pub fn numeric(name: impl Into<String>, values: Vec<f64>) -> Self {
        Column::new(name, Values::Numeric(values))
    }

    /// A column of names without missing cells.
    pub fn categorical<S: AsRef<str>>(name: impl Into<String>, cells: &[S]) -> Self {
        let mut builder = super::ColumnBuilder::new(Kind::Categorical);
        for cell in cells {
            builder.push_name(cell.as_ref());
        }
        builder.finish(name)
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Numeric(values) => values.len(),
            Values::Boolean(values) => values.len(),
            Values::Categorical { codes, .. } => codes.len(),
            Values::Date(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the cells are.
    pub fn kind(&self) -> Kind {
        self.values.kind()
    }

    /// Cell `row` as text, or nothing if it is missing. Numbers have the shortest text that reads back the same.
    pub fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        if self.missing.at(row) || row >= self.len() {
            return None;
        }
        Some(match &self.values {
            Values::Numeric(values) => Cow::Owned(values[row].to_string()),
            Values::Boolean(values) => Cow::Borrowed(if values[row] { "true" } else { "false" }),
            Values::Categorical { codes, levels } => Cow::Borrowed(&levels[codes[row] as usize]),
            Values::Date(values) => Cow::Owned(date::format(values[row])),
            Values::Text(values) => Cow::Borrowed(&values[row]),
        })
    }

    /// The cells at `rows`, which must exist.
    pub(crate) fn gather(&self, rows: &[usize]) -> Column {
        let values = match &self.values {
            Values::Numeric(values) => Values::Numeric(rows.iter().map(|&row| values[row]).collect()),
            Values::Boolean(values) => Values::Boolean(rows.iter().map(|&row| values[row]).collect()),
            Values::Date(values) => Values::Date(rows.iter().map(|&row| values[row]).collect()),
            Values::Text(values) => Values::Text(rows.iter().map(|&row| values[row].clone()).collect()),
            Values::Categorical { codes, levels } => {
                Values::Categorical { codes: rows.iter().map(|&row| codes[row]).collect(), levels: levels.clone() }
            }
        };
        let (name, missing) = (self.name.clone(), self.missing.gather(rows));
        Column { name, values, missing, style: self.style, doubt: self.doubt.clone() }
    }

    /// Adds the cells of a later chunk of the same kind.
    pub fn append(&mut self, later: Column) -> Result<()> {
        let length = self.len();
        let (ours, theirs) = (self.kind(), later.kind());
        match (&mut self.values, later.values) {
            (Values::Numeric(values), Values::Numeric(more)) => values.extend(more),
            (Values::Boolean(values), Values::Boolean(more)) => values.extend(more),
            (Values::Date(values), Values::Date(more)) => values.extend(more),
            (Values::Text(values), Values::Text(more)) => values.extend(more),
            (Values::Categorical { codes, levels }, Values::Categorical { codes: more, levels: new }) => {
                append_levels(codes, levels, &more, new);
            }
            _ => {
                return Err(Error::new(Problem::Option(format!("a {theirs} chunk cannot follow a {ours} one")))
                    .in_column(&*self.name));
            }
        }
        self.missing.append(length, &later.missing);
        Ok(())
    }
}

fn append_levels(codes: &mut Vec<u32>, levels: &mut Vec<String>, more: &[u32], new: Vec<String>) {
    let known: HashMap<&str, u32> = levels.iter().map(String::as_str).zip(0..).collect();
    let mut unseen = Vec::new();
    let mut map = Vec::with_capacity(new.len());
    for level in new {
        match known.get(level.as_str()) {
            Some(&code) => map.push(code),
            None => {
                map.push((known.len() + unseen.len()) as u32);
                unseen.push(level);
            }
        }
    }
    levels.extend(unseen);
    // A missing cell may carry a code when there is no level at all; any code will do for it.
    codes.extend(more.iter().map(|&code| map.get(code as usize).copied().unwrap_or(0)));
}
