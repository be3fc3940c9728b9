//! Trees as flat nodes, and the way of a row through them.

use super::bins::{Bins, ColumnBins};
use super::columns::TreeColumns;
use super::grown::{Grown, Side};

/// Set in [`Node::column`] where the column holds names.
pub(crate) const NAMES: u32 = 1 << 31;
/// Set in [`Node::column`] where missing values go right.
pub(crate) const MISSING_RIGHT: u32 = 1 << 30;
/// What is left of [`Node::column`]: the column.
pub(crate) const COLUMN: u32 = MISSING_RIGHT - 1;

/// A question, or a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Node {
    /// The left child, counted from the tree's root, after which the right one lies; 0 for a leaf.
    pub children: u32,
    /// The column, and two flags.
    pub column: u32,
    /// The bits of the threshold, up to which numbers go left; of names, where the set that goes left begins. For a leaf,
    /// what the model makes of it.
    pub payload: u32,
}

/// Trees one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trees {
    pub columns: TreeColumns,
    pub nodes: Vec<Node>,
    /// What the question of each node gained; 0 for a leaf.
    pub gains: Vec<f32>,
    /// The first node of every tree.
    pub roots: Vec<u32>,
    /// Sets of names, one bit a name; each begins at a word of its own.
    pub sets: Vec<u32>,
}

/// Words of a set of names.
pub(crate) fn set_words(levels: usize) -> usize {
    levels.div_ceil(32)
}

/// Rows that go through a tree together: while one waits for memory the others move on.
pub(crate) const TOGETHER: usize = 8;

impl Trees {
    pub fn new(columns: TreeColumns) -> Self {
        Trees { columns, nodes: Vec::new(), gains: Vec::new(), roots: Vec::new(), sets: Vec::new() }
    }

    /// Adds a tree, whose bins become thresholds and sets of names.
    pub fn push(&mut self, grown: &Grown, bins: &Bins) {
        self.roots.push(self.nodes.len() as u32);
        for node in &grown.nodes {
            let mut flat = Node { children: node.children, column: 0, payload: node.payload };
            if node.children > 0 {
                let missing = if node.missing == Side::Right { MISSING_RIGHT } else { 0 };
                let names = match bins.column(node.column as usize) {
                    ColumnBins::Numbers { cuts } => {
                        // After the last cut: whatever is there goes left, and what is missing right.
                        flat.payload = cuts.get(node.payload as usize).copied().unwrap_or(f32::MAX).to_bits();
                        0
                    }
                    ColumnBins::Names { bin_of_level, .. } => {
                        let begin = self.sets.len();
                        self.sets.resize(begin + set_words(bin_of_level.len()), 0);
                        for (level, &bin) in bin_of_level.iter().enumerate() {
                            if grown.sets[node.payload as usize].holds(bin) {
                                self.sets[begin + level / 32] |= 1 << (level % 32);
                            }
                        }
                        flat.payload = begin as u32;
                        NAMES
                    }
                };
                flat.column = node.column | names | missing;
            }
            self.nodes.push(flat);
            self.gains.push(node.gain);
        }
    }

    /// Number of trees.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// The nodes of a tree.
    pub fn tree(&self, tree: usize) -> &[Node] {
        let end = self.roots.get(tree + 1).map_or(self.nodes.len(), |&end| end as usize);
        &self.nodes[self.roots[tree] as usize..end]
    }

    /// Forgets all but the first `trees` trees; the sets of the others stay.
    pub fn truncate(&mut self, trees: usize) {
        if let Some(&end) = self.roots.get(trees) {
            self.nodes.truncate(end as usize);
            self.gains.truncate(end as usize);
            self.roots.truncate(trees);
        }
    }

    /// Hands `take` the payload of the leaf that each of the rows reaches in a tree. `values` are the rows as
    /// [`TreeColumns::read`] gives them.
    pub fn walk(&self, tree: usize, values: &[f32], mut take: impl FnMut(usize, u32)) {
        let nodes = self.tree(tree);
        let width = self.columns.len();
        for (group, values) in values.chunks(TOGETHER * width).enumerate() {
            let rows = values.len() / width;
            let mut at = [0u32; TOGETHER];
            let mut walking = true;
            while walking {
                walking = false;
                for (row, at) in at[..rows].iter_mut().enumerate() {
                    let node = &nodes[*at as usize];
                    if node.children > 0 {
                        walking = true;
                        let value = values[row * width + (node.column & COLUMN) as usize];
                        *at = node.children + u32::from(self.goes_right(node, value));
                    }
                }
            }
            for (row, &at) in at[..rows].iter().enumerate() {
                take(group * TOGETHER + row, nodes[at as usize].payload);
            }
        }
    }

    fn goes_right(&self, node: &Node, value: f32) -> bool {
        if value.is_nan() {
            return node.column & MISSING_RIGHT != 0;
        }
        if node.column & NAMES == 0 {
            return value > f32::from_bits(node.payload);
        }
        let level = value as usize;
        self.sets[node.payload as usize + level / 32] >> (level % 32) & 1 == 0
    }

    /// What the questions about each column gained, summed over all trees.
    pub fn importance(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns.len()];
        for (node, &gain) in self.nodes.iter().zip(&self.gains) {
            if node.children > 0 {
                sums[(node.column & COLUMN) as usize] += f64::from(gain);
            }
        }
        sums
    }
}
