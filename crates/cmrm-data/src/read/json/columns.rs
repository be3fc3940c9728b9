//! Columns by name, found quickly where rows have their keys in the same order.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// The columns, and which of them the current row has filled.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    /// The column behind the one found last: most rows ask for it next.
    next: usize,
    /// For each column the last row that filled it.
    filled: Vec<u64>,
    row: u64,
}

impl Columns {
    pub fn new(names: &[String]) -> Self {
        let mut columns = Columns::default();
        for name in names {
            columns.find_or_add(name);
        }
        columns
    }

    /// No column has been filled yet.
    pub fn begin_row(&mut self) {
        self.row += 1;
        self.next = 0;
    }

    pub fn find(&mut self, name: &str) -> Option<usize> {
        let at = match self.names.get(self.next) {
            Some(expected) if expected == name => self.next,
            _ => *self.by_name.get(name)?,
        };
        self.next = at + 1;
        Some(at)
    }

    pub fn find_or_add(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            let at = self.names.len();
            self.names.push(name.to_string());
            self.by_name.insert(name.to_string(), at);
            self.filled.push(0);
            self.next = at + 1;
            at
        })
    }

    /// Notes that the row has a cell for the column; a second one is refused.
    pub fn fill(&mut self, at: usize) -> Result<()> {
        if self.is_filled(at) {
            return Err(Error::malformed("JSON", "the row has this key twice")
                .in_column(&*self.names[at])
                .way_out("delete one of them, or give it another name"));
        }
        self.filled[at] = self.row;
        Ok(())
    }

    /// Whether the row has a cell for the column.
    pub fn is_filled(&self, at: usize) -> bool {
        self.row > 0 && self.filled[at] == self.row
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn into_names(self) -> Vec<String> {
        self.names
    }
}
