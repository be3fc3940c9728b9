//! Which cells of a column are missing.

use crate::files::text::shorten;

/// A mask that costs nothing until the first missing cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Missing {
    /// Empty as long as nothing is missing; shorter than the column if the tail has nothing missing.
    mask: Vec<bool>,
    count: usize,
    /// Those of them that are not empty, by row.
    unreadable: Vec<Unreadable>,
}

/// A cell that counts as missing since it is not of its column's kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its row in the column.
    pub row: usize,
    /// The start of what is written there.
    pub text: String,
}

impl Missing {
    /// Marks cell `row`, which lies behind every cell marked before.
    pub fn mark(&mut self, row: usize) {
        if self.mask.len() <= row {
            self.mask.resize(row + 1, false);
        }
        if !self.mask[row] {
            self.mask[row] = true;
            self.count += 1;
        }
    }

    /// Marks cell `row`, which lies behind every cell marked before and says something else than its column does.
    pub fn mark_unreadable(&mut self, row: usize, text: &str) {
        self.mark(row);
        self.unreadable.push(Unreadable { row, text: shorten(text) });
    }

    /// The cells that are not of their column's kind, by row.
    pub fn unreadable(&self) -> &[Unreadable] {
        &self.unreadable
    }

    /// Whether cell `row` is missing though something is written there.
    pub fn is_unreadable(&self, row: usize) -> bool {
        self.unreadable.binary_search_by_key(&row, |cell| cell.row).is_ok()
    }

    /// Whether cell `row` is missing.
    pub fn at(&self, row: usize) -> bool {
        self.mask.get(row).copied().unwrap_or(false)
    }

    /// How many cells are missing.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The mask of the cells at `rows`.
    pub fn gather(&self, rows: &[usize]) -> Missing {
        let mut gathered = Missing::default();
        if self.count > 0 {
            for (position, &row) in rows.iter().enumerate() {
                if let Ok(at) = self.unreadable.binary_search_by_key(&row, |cell| cell.row) {
                    gathered.mark_unreadable(position, &self.unreadable[at].text);
                } else if self.at(row) {
                    gathered.mark(position);
                }
            }
        }
        gathered
    }

    /// Adds the mask of cells that follow the first `length`.
    pub fn append(&mut self, length: usize, later: &Missing) {
        for (row, &missing) in later.mask.iter().enumerate() {
            if missing {
                self.mark(length + row);
            }
        }
        let moved = later.unreadable.iter().map(|cell| Unreadable { row: length + cell.row, text: cell.text.clone() });
        self.unreadable.extend(moved);
    }
}
