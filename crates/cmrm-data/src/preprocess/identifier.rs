//! Columns that tell rows apart instead of saying something about them: left out, since a model learns them by heart.

use std::collections::{HashMap, HashSet};

use crate::table::{count_words, names_identifiers};

/// Fewest rows that show whether cells repeat.
const ROWS: u64 = 50;
/// Fewest rows for which a column that counts them is one of IDs.
const ROWS_TO_COUNT: u64 = 20;
/// How much further apart than the rows the numbers of those rows may be: the first and the last row need not be among the
/// training rows, and in another order it is other numbers that are not.
const CLOSE: f64 = 1.5;
/// Pairs of equal numbers that chance would have made, at least.
const EQUAL_PAIRS: f64 = 7.0;
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
    /// Whether the column is called an ID: a few numbers may be there twice then.
    called_id: bool,
    /// The numbers by their bits, as long as all are whole and, unless the column is called an ID, different.
    different: Option<HashSet<u64>>,
    /// The least and the greatest number, and the rows that they are looked for in.
    numbers: Option<(f64, f64)>,
    rows: Option<(u64, u64)>,
    cells: u64,
}

impl Numbers {
    /// Nothing seen yet of a column.
    pub fn new(column: &str) -> Self {
        let (called_id, different) = (names_identifiers(column), Some(HashSet::new()));
        Numbers { called_id, different, numbers: None, rows: None, cells: 0 }
    }

    /// What nobody looks at: columns of an array are seldom IDs.
    pub fn unknown() -> Self {
        Numbers { called_id: false, different: None, numbers: None, rows: None, cells: 0 }
    }

    /// Looks at the number in a row.
    pub fn add(&mut self, value: f64, row: u64) {
        let Some(different) = &mut self.different else { return };
        self.cells += 1;
        // Both zeros are one number.
        let is_new = different.insert((value + 0.0).to_bits());
        if value.fract() != 0.0 || !is_new && !self.called_id {
            self.different = None;
            return;
        }
        let (least, greatest) = self.numbers.unwrap_or((value, value));
        self.numbers = Some((least.min(value), greatest.max(value)));
        let (first, last) = self.rows.unwrap_or((row, row));
        self.rows = Some((first.min(row), last.max(row)));
    }

    /// How numbers that tell the rows apart look, if they do.
    pub fn why(&self) -> Option<String> {
        let different = self.different.as_ref()?.len() as u64;
        if different == self.cells && self.count_rows() {
            return Some("numbers the rows".into());
        }
        let enough = self.called_id && self.cells >= ROWS && different as f64 >= NEARLY_ALL * self.cells as f64;
        enough.then(|| format!("has {different} different numbers on {} rows, as IDs do,", self.cells))
    }

    /// Whether numbers that all differ count the rows, in whatever order: they lie as close together as the rows do. Those
    /// are often only some of all rows, so that there are gaps; and chance would have made several numbers the same.
    fn count_rows(&self) -> bool {
        let (Some((least, greatest)), Some((first, last))) = (self.numbers, self.rows) else { return false };
        let (apart, rows) = (greatest - least + 1.0, (last - first + 1) as f64);
        let pairs = self.cells as f64 * (self.cells as f64 - 1.0) / 2.0;
        self.cells >= ROWS_TO_COUNT && apart <= CLOSE * rows && pairs >= EQUAL_PAIRS * apart
    }
}
