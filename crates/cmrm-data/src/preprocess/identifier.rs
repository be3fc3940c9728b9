//! Columns that tell rows apart instead of saying something about them: left out, since a model learns them by heart.

use std::collections::{HashMap, HashSet};

use crate::table::{count_words, names_identifiers};

/// Fewest rows that show whether cells repeat.
const ROWS: u64 = 50;
/// Fewest rows for which a column that counts them is one of IDs.
const ROWS_TO_COUNT: u64 = 20;
/// Share of different cells above which a column of names is one of IDs.
const NEARLY_ALL: f64 = 0.9;
/// The same where the column's name or every cell looks like an ID.
const MANY: f64 = 0.5;
/// Words a cell, on average, that make sentences of names: those differ from row to row and still say something.
const WORDS_OF_TEXT: f64 = 3.0;

/// How names that tell the rows apart look, if they do. `levels` are the names and how often each is there.
pub(super) fn names(column: &str, levels: &HashMap<String, u64>) -> Option<String> {
    let rows: u64 = levels.values().sum();
    let share = levels.len() as f64 / rows.max(1) as f64;
    if rows < ROWS || share < MANY {
        return None;
    }
    let words: usize = levels.keys().map(|level| count_words(level)).sum();
    if words as f64 >= WORDS_OF_TEXT * levels.len() as f64 {
        return None;
    }
    let looks = || names_identifiers(column) || levels.keys().all(|level| is_code(level));
    (share >= NEARLY_ALL || looks())
        .then(|| format!("has {} different values on {rows} rows, as IDs do,", levels.len()))
}

/// One word with a digit, as `C-000123` and `3f2a91`.
fn is_code(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && !text.contains(char::is_whitespace)
}

/// What numbers show of being IDs.
pub(super) struct Numbers {
    /// The number minus the row, as long as that is the same for every row.
    counts_rows: Option<Option<f64>>,
    /// The numbers by their bits, as long as all are whole, in a column that is called an ID.
    different: Option<HashSet<u64>>,
    cells: u64,
}

impl Numbers {
    /// Nothing seen yet of a column.
    pub fn new(column: &str) -> Self {
        Numbers { counts_rows: Some(None), different: names_identifiers(column).then(HashSet::new), cells: 0 }
    }

    /// What nobody looks at: columns of an array are seldom IDs.
    pub fn unknown() -> Self {
        Numbers { counts_rows: None, different: None, cells: 0 }
    }

    /// Looks at the number in a row.
    pub fn add(&mut self, value: f64, row: u64) {
        self.cells += 1;
        if let Some(offset) = self.counts_rows {
            let now = value - row as f64;
            self.counts_rows = offset.is_none_or(|offset| offset == now).then_some(Some(now));
        }
        if let Some(different) = &mut self.different {
            different.insert(value.to_bits());
            if value.fract() != 0.0 {
                self.different = None;
            }
        }
    }

    /// How numbers that tell the rows apart look, if they do.
    pub fn why(&self) -> Option<String> {
        if matches!(self.counts_rows, Some(Some(_))) && self.cells >= ROWS_TO_COUNT {
            return Some("numbers the rows".into());
        }
        let different = self.different.as_ref()?.len();
        let enough = self.cells >= ROWS && different as f64 >= NEARLY_ALL * self.cells as f64;
        enough.then(|| format!("has {different} different numbers on {} rows, as IDs do,", self.cells))
    }
}
