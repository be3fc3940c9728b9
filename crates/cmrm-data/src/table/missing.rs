//! Which cells of a column are missing.

/// A mask that costs nothing until the first missing cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Missing {
    /// Empty as long as nothing is missing; shorter than the column if the tail has nothing missing.
    mask: Vec<bool>,
    count: usize,
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
                if self.at(row) {
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
    }
}
