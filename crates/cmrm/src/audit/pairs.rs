//! Counts of rows by a pair of classes, kept sparse: a table of ten thousand classes has a hundred million cells, and
//! at most as many of them as there are rows are not zero.

use super::groups::Groups;

/// How many rows have a given label and another class beside it (true, suggested). Cells that are absent are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairCounts {
    starts: Vec<usize>,
    cells: Vec<(u32, u32)>,
}

impl PairCounts {
    /// Counts `other[row]` within each group; rows whose class is `skip` are left out.
    pub(super) fn count(groups: &Groups, other: &[u32], skip: Option<u32>) -> Self {
        let classes = groups.classes();
        let mut builder = PairBuilder::new(classes);
        let mut tally = vec![0u32; classes];
        let mut seen = Vec::new();
        for given in 0..classes {
            for &row in groups.of(given) {
                let class = other[row as usize];
                if Some(class) == skip {
                    continue;
                }
                if tally[class as usize] == 0 {
                    seen.push(class);
                }
                tally[class as usize] += 1;
            }
            seen.sort_unstable();
            builder.push_row(seen.iter().map(|&class| (class, std::mem::take(&mut tally[class as usize]))));
            seen.clear();
        }
        builder.finish()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The cells of a given label that are not zero, as (class, count), ascending by class. None past the last class.
    pub fn row(&self, given: u32) -> &[(u32, u32)] {
        let given = given as usize;
        if given < self.classes() { &self.cells[self.starts[given]..self.starts[given + 1]] } else { &[] }
    }

    /// One cell; zero past the last class.
    pub fn get(&self, given: u32, class: u32) -> u32 {
        let row = self.row(given);
        row.binary_search_by_key(&class, |cell| cell.0).map_or(0, |at| row[at].1)
    }

    /// The cells that are not zero, as (given, class, count).
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        (0..self.classes() as u32)
            .flat_map(|given| self.row(given).iter().map(move |&(class, count)| (given, class, count)))
    }

    /// Sum of all cells.
    pub fn total(&self) -> u64 {
        self.cells.iter().map(|cell| u64::from(cell.1)).sum()
    }

    /// Sum of the cells whose two classes are the same.
    pub fn diagonal(&self) -> u64 {
        self.iter().filter(|(given, class, _)| given == class).map(|(_, _, count)| u64::from(count)).sum()
    }

    /// Sums over the given labels: one number a class.
    pub fn column_sums(&self) -> Vec<u64> {
        let mut sums = vec![0; self.classes()];
        for (_, class, count) in self.iter() {
            sums[class as usize] += u64::from(count);
        }
        sums
    }

    /// The pairs of different classes, most frequent first (then by class).
    pub fn most_frequent(&self) -> Vec<(u32, u32, u32)> {
        let mut pairs: Vec<_> = self.iter().filter(|(given, class, _)| given != class).collect();
        pairs.sort_by_key(|&(given, class, count)| (std::cmp::Reverse(count), given, class));
        pairs
    }

    /// The full table, a row of `classes` numbers per given label: `classes²` numbers of memory.
    pub fn to_dense(&self) -> Vec<u32> {
        let mut dense = vec![0; self.classes() * self.classes()];
        for (given, class, count) in self.iter() {
            dense[given as usize * self.classes() + class as usize] = count;
        }
        dense
    }
}

/// Builds a [`PairCounts`] one given label after another.
pub(super) struct PairBuilder(PairCounts);

impl PairBuilder {
    pub fn new(classes: usize) -> Self {
        let mut starts = Vec::with_capacity(classes + 1);
        starts.push(0);
        PairBuilder(PairCounts { starts, cells: Vec::new() })
    }

    /// Adds the next given label's cells, ascending by class.
    pub fn push_row(&mut self, cells: impl Iterator<Item = (u32, u32)>) {
        self.0.cells.extend(cells.filter(|cell| cell.1 > 0));
        self.0.starts.push(self.0.cells.len());
    }

    pub fn finish(self) -> PairCounts {
        self.0
    }
}
