//! A compact list of label sets.

use serde::Serialize;

/// One set of classes a row: all members in one array, and where each row's part ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PredictionSets {
    classes: usize,
    ends: Vec<usize>,
    members: Vec<u32>,
}

impl PredictionSets {
    pub(super) fn with_capacity(classes: usize, rows: usize) -> Self {
        PredictionSets { classes, ends: Vec::with_capacity(rows), members: Vec::with_capacity(rows) }
    }

    pub(super) fn members_mut(&mut self) -> &mut Vec<u32> {
        &mut self.members
    }

    pub(super) fn close_row(&mut self) {
        self.ends.push(self.members.len());
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Number of classes that a set can hold.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The set of row `i`, ascending. Panics if there is no such row, as slices do.
    pub fn row(&self, i: usize) -> &[u32] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.members[start..self.ends[i]]
    }

    /// The sets, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.rows()).map(|i| self.row(i))
    }

    /// The size of each set.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> {
        self.iter().map(<[u32]>::len)
    }

    /// Whether the set of row `i` holds `class`. Panics if there is no such row, as slices do.
    pub fn contains(&self, i: usize, class: u32) -> bool {
        self.row(i).binary_search(&class).is_ok()
    }
}
