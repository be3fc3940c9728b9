//! Rows grouped by their given label.

/// Row indices, class after class, in row order within a class.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Groups {
    /// Groups rows by label; labels are below `classes` and rows are at most `u32::MAX`, both checked before.
    pub fn new(labels: &[u32], classes: usize) -> Self {
        let mut starts = vec![0usize; classes + 1];
        for &label in labels {
            starts[label as usize + 1] += 1;
        }
        for class in 0..classes {
            starts[class + 1] += starts[class];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; labels.len()];
        for (row, &label) in labels.iter().enumerate() {
            rows[next[label as usize]] = row as u32;
            next[label as usize] += 1;
        }
        Groups { starts, rows }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a class, ascending.
    pub fn of(&self, class: usize) -> &[u32] {
        &self.rows[self.starts[class]..self.starts[class + 1]]
    }
}
