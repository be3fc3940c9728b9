//! A table of named, typed columns, each cell of which may be missing.

mod builder;
mod column;
mod column_ref;
mod convert;
pub mod date;
mod guess;
mod kind;
mod missing;
pub mod number;
mod style;
mod words;

pub use builder::ColumnBuilder;
pub use column::{Column, Values};
pub use column_ref::{ColumnRef, closest};
pub(crate) use convert::{as_kind, not_of_kind};
pub use guess::{Guess, Settled};
pub(crate) use guess::{agree_on_marks, unheld_numbers};
pub use kind::{Kind, Override};
pub use missing::{Missing, Unreadable};
pub use style::Style;
pub(crate) use words::is_nan;
pub use words::parse_boolean;
pub(crate) use words::{count_words, is_nothing, names_identifiers};

use crate::error::{Error, Problem, Result};

/// Columns of one length, with names that differ.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: usize,
    first_row: u64,
    unnamed: bool,
    skipped: Vec<String>,
}

impl Table {
    /// Puts columns together; refuses differing lengths and a name that occurs twice.
    pub fn new(columns: Vec<Column>) -> Result<Self> {
        let rows = columns.first().map_or(0, Column::len);
        for column in &columns {
            if column.len() != rows {
                return Err(Error::new(Problem::Shape {
                    what: "rows of a column".into(),
                    expected: rows as u64,
                    found: column.len() as u64,
                })
                .in_column(&*column.name));
            }
        }
        refuse_duplicates(columns.iter().map(|column| column.name.as_str()))?;
        Ok(Table { columns, rows, first_row: 0, unnamed: false, skipped: Vec::new() })
    }

    /// Sets the number of the first row, for a chunk from the middle of a file.
    pub fn starting_at(mut self, first_row: u64) -> Self {
        self.first_row = first_row;
        self
    }

    /// Marks the names as made up by the reader (`x0`, `x1`, …), so that columns are matched by position.
    pub fn without_names(mut self) -> Self {
        self.unnamed = true;
        self
    }

    /// Notes which columns of the file the reader left out.
    pub fn with_skipped(mut self, skipped: Vec<String>) -> Self {
        self.skipped = skipped;
        self
    }

    /// Columns of the file that the reader left out, as it was asked to.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Where the first row stands in the file.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// Whether the names were made up by the reader.
    pub fn unnamed(&self) -> bool {
        self.unnamed
    }

    /// The columns, in the file's order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns' names, in the file's order.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Takes a column out. In a table without names the columns behind it move up and are renamed.
    pub fn take(&mut self, wanted: &ColumnRef) -> Result<Column> {
        let index = wanted.resolve(&self.names())?;
        let column = self.columns.remove(index);
        if self.unnamed {
            for (position, later) in self.columns.iter_mut().enumerate().skip(index) {
                later.name = made_up_name(position);
            }
        }
        Ok(column)
    }

    /// The rows at `rows`, in that order. A row number that is out of range is refused.
    pub fn gather(&self, rows: &[usize]) -> Result<Table> {
        check_rows(rows, self.rows)?;
        let columns = self.columns.iter().map(|column| column.gather(rows)).collect();
        Ok(Table { columns, rows: rows.len(), first_row: 0, unnamed: self.unnamed, skipped: self.skipped.clone() })
    }

    /// Columns of names that are text by all of their cells become text, unless `stated` says what they are: for formats that
    /// have one kind for both.
    pub fn with_text_found(mut self, stated: impl Fn(&str) -> bool) -> Result<Self> {
        for column in &mut self.columns {
            if column.kind() != Kind::Categorical || stated(&column.name) {
                continue;
            }
            let mut guess = Guess::new(&column.name);
            (0..column.len()).filter_map(|row| column.text(row)).for_each(|cell| guess.add(&cell));
            let settled = guess.settle(None);
            if settled.kind == Kind::Text {
                *column = as_kind(column, Kind::Text, settled.style, self.first_row)?.into_owned();
            }
        }
        Ok(self)
    }

    /// Adds the rows of a later chunk with the same columns.
    pub fn append(&mut self, later: Table) -> Result<()> {
        if self.columns.len() != later.columns.len() {
            return Err(Error::new(Problem::Shape {
                what: "columns of a later chunk".into(),
                expected: self.columns.len() as u64,
                found: later.columns.len() as u64,
            }));
        }
        for (column, more) in self.columns.iter_mut().zip(later.columns) {
            column.append(more)?;
        }
        self.rows += later.rows;
        Ok(())
    }
}

/// The name of a column of data that has none.
pub fn made_up_name(position: usize) -> String {
    format!("x{position}")
}

pub(crate) fn check_rows(rows: &[usize], available: usize) -> Result<()> {
    match rows.iter().find(|&&row| row >= available) {
        None => Ok(()),
        Some(&row) => Err(Error::new(Problem::Shape {
            what: "rows asked for, at least".into(),
            expected: row as u64 + 1,
            found: available as u64,
        })),
    }
}

/// Refuses a name that occurs twice.
pub(crate) fn refuse_duplicates<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (second, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, second) {
            return Err(Error::new(Problem::DuplicateHeader { name: name.to_string(), first, second })
                .way_out("rename one of them in the header"));
        }
    }
    Ok(())
}
