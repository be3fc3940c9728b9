//! What is to be done with each column of a file, settled once and then done for every chunk.

use std::collections::HashMap;

use super::super::csv::not_of_kind;
use super::TextOptions;
use crate::dataset::{Features, Input};
use crate::error::{Error, Problem, Result};
use crate::table::number::Decimal;
use crate::table::{Column, ColumnBuilder, Guess, Kind, Style, Table, as_kind, is_nothing};

/// What to do with each column of a table.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Names; in a file without a header the features are numbered without the label and the row names, so that it
    /// does not matter where those stand.
    pub names: Vec<String>,
    /// For each column: `None` to skip it, else the kind it must have, if that is settled.
    pub columns: Vec<Option<Option<Kind>>>,
    /// For each column how text in it is read.
    pub reading: Vec<Reading>,
    pub label: Option<usize>,
    pub id: Option<usize>,
    pub(super) strict: bool,
    pub(super) decimal_comma: bool,
}

/// How the text of a column's cells is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reading {
    /// How it is written, if that is settled.
    pub style: Option<Style>,
    /// Whether a cell that is not of the kind counts as missing.
    pub tolerant: bool,
    /// A sentence where settling it was close.
    pub doubt: Option<String>,
}

impl Plan {
    /// Whether the cells of a column have to be looked at before it can be read: its kind is open, or its style matters.
    pub fn is_open(&self, at: usize) -> bool {
        match self.columns[at] {
            None => false,
            Some(None) => true,
            Some(Some(kind)) => self.reading[at].style.is_none() && is_written(kind),
        }
    }

    /// Settles a column whose cells were looked at.
    pub fn settle(&mut self, at: usize, guess: &Guess) {
        let Some(kind) = &mut self.columns[at] else { return };
        let settled = guess.settle(*kind);
        let reading = &mut self.reading[at];
        // What was stated stays, and nothing about it is in doubt.
        let stated = reading.style.is_some() || self.decimal_comma && settled.kind == Kind::Numeric;
        let doubt = if stated { None } else { settled.doubt };
        let style = *reading.style.get_or_insert(settled.style);
        *reading = Reading { style: Some(style), tolerant: settled.tolerant && !self.strict, doubt };
        *kind = Some(settled.kind);
    }

    /// Adds a cell as it is written; false, and nothing added, if it is not of the column's kind.
    #[must_use]
    pub fn push(&self, at: usize, builder: &mut ColumnBuilder, cell: &str, text: &TextOptions) -> bool {
        if text.is_missing(cell) {
            builder.push_missing();
        } else if !builder.push_text(cell) {
            if is_nothing(cell) {
                builder.push_missing();
            } else if self.reading[at].tolerant {
                builder.push_unreadable(cell);
            } else {
                return false;
            }
        }
        true
    }

    /// A column of a file with types as what is wanted of it. Text that is to be something else is read as that of a text
    /// file is.
    pub fn typed(&self, at: usize, column: Column, first_row: u64, text: &TextOptions) -> Result<Column> {
        let (Some(kind), Some(mut builder)) = (self.columns[at].flatten(), self.builder(at)) else { return Ok(column) };
        if column.kind() == kind {
            return Ok(column);
        }
        if column.kind() != Kind::Categorical || !is_written(kind) {
            let style = self.reading[at].style.unwrap_or_default();
            return Ok(as_kind(&column, kind, style, first_row)?.into_owned());
        }
        for row in 0..column.len() {
            match column.text(row) {
                None => builder.push_missing(),
                Some(cell) if self.push(at, &mut builder, cell.trim(), text) => {}
                Some(cell) => {
                    return Err(not_of_kind(&cell, kind).at_row(first_row + row as u64).in_column(&*column.name));
                }
            }
        }
        Ok(builder.finish(column.name))
    }

    /// Only those columns of a file with types that are text and have to be looked at first, as names; nothing if there are
    /// none.
    pub fn to_look_at(&self, is_text: impl Fn(usize) -> bool) -> Option<Plan> {
        let look = |at| (self.is_open(at) && is_text(at)).then_some(Some(Kind::Categorical));
        let columns: Vec<_> = (0..self.columns.len()).map(look).collect();
        columns.iter().any(Option::is_some).then(|| Plan { columns, ..self.clone() })
    }

    /// Settles the columns that [`Plan::to_look_at`] gave, with their cells in all files that belong together.
    pub fn settle_all(&mut self, guesses: &HashMap<String, Guess>) {
        for at in 0..self.names.len() {
            if let Some(guess) = guesses.get(&self.names[at]) {
                self.settle(at, guess);
            }
        }
    }

    /// An empty column for the cells of a column that is read, in the style that is settled.
    pub fn builder(&self, at: usize) -> Option<ColumnBuilder> {
        let Reading { style, doubt, .. } = &self.reading[at];
        let kind = self.columns[at].flatten()?;
        let mut style = style.unwrap_or_default();
        if self.decimal_comma && kind == Kind::Numeric {
            style.decimal = Decimal::Comma;
        }
        Some(ColumnBuilder::new(kind).written(style, doubt.clone()))
    }
}

impl Plan {
    /// Skips the columns that a data frame adds for its own row numbers, unless they are asked for.
    pub fn skip_row_numbers(&mut self) {
        for (at, name) in self.names.iter().enumerate() {
            if name.starts_with("__index_level_") && self.label != Some(at) && self.id != Some(at) {
                self.columns[at] = None;
            }
        }
    }

    /// The kind of each column that is read, by name.
    pub fn kinds(&self) -> Vec<(&str, Kind)> {
        let columns = self.names.iter().zip(&self.columns);
        columns.filter_map(|(name, kind)| Some((name.as_str(), (*kind)??))).collect()
    }
}

/// Whether cells of that kind are written in more than one way.
fn is_written(kind: Kind) -> bool {
    matches!(kind, Kind::Numeric | Kind::Date | Kind::Boolean)
}

/// Goes on with what is known of columns of text, by all of their cells.
pub(crate) fn look(
    chunks: impl Iterator<Item = Result<Input>>,
    missing: &TextOptions,
    known: &mut HashMap<String, Guess>,
) -> Result<()> {
    for chunk in chunks {
        let Features::Table(table) = chunk?.features else { continue };
        for column in table.columns() {
            let guess = known.entry(column.name.clone()).or_insert_with(|| Guess::new(&column.name));
            for cell in (0..column.len()).filter_map(|row| column.text(row)) {
                if !missing.is_missing(cell.trim()) {
                    guess.add(cell.trim());
                }
            }
        }
    }
    Ok(())
}

/// Sorts the columns of a chunk into features, label and row name; a column that was skipped is `None`.
pub(crate) fn assemble(
    plan: &Plan,
    columns: Vec<Option<Column>>,
    unnamed: bool,
) -> Result<(Table, Option<Column>, Option<Column>)> {
    let (mut features, mut skipped) = (Vec::new(), Vec::new());
    let (mut labels, mut ids) = (None, None);
    for (at, column) in columns.into_iter().enumerate() {
        match column {
            None => skipped.push(plan.names[at].clone()),
            Some(column) if plan.label == Some(at) => labels = Some(column),
            Some(column) if plan.id == Some(at) => ids = Some(column),
            Some(column) => features.push(column),
        }
    }
    if features.is_empty() {
        return Err(Error::new(Problem::Empty("the list of feature columns".into()))
            .way_out("at least one column must be neither label, row ID nor ignored"));
    }
    let table = Table::new(features)?.with_skipped(skipped);
    Ok((if unnamed { table.without_names() } else { table }, labels, ids))
}
