//! How many different cells a column has, in bounded memory.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most different cells that are told apart; columns with more are judged by the cells up to there.
const MOST: usize = 1 << 16;

/// Different cells, by their hash.
#[derive(Debug, Clone, Default)]
pub(super) struct Distinct {
    seen: HashSet<u64>,
    /// Cells that were counted, up to the one that filled the set.
    cells: u64,
}

impl Distinct {
    /// Counts a cell.
    pub fn add(&mut self, cell: &str) {
        if self.seen.len() == MOST {
            return;
        }
        // Its keys are fixed: the same cells give the same answer.
        let mut hasher = DefaultHasher::new();
        cell.hash(&mut hasher);
        self.seen.insert(hasher.finish());
        self.cells += 1;
    }

    /// The share of the cells that differ from all before them; `of` are all cells there are.
    pub fn share(&self, of: u64) -> f64 {
        let cells = if self.seen.len() == MOST { self.cells } else { of };
        self.seen.len() as f64 / cells.max(1) as f64
    }

    /// How many differ, if all were told apart.
    pub fn exactly(&self) -> Option<u64> {
        (self.seen.len() < MOST).then_some(self.seen.len() as u64)
    }
}
