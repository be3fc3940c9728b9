//! Trees as whoever writes them down elsewhere reads them.

use super::boosting::Boosting;
use super::forest::Forest;
use super::tree::{COLUMN, MISSING_RIGHT, NAMES, Node, Trees};

/// A node of a tree; nodes are numbered from the root, which is 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'a> {
    /// A question about a column, by its place in [`TreeColumns`](super::TreeColumns).
    Question {
        /// The column.
        column: usize,
        /// What goes left.
        test: Test<'a>,
        /// Whether missing values go right.
        missing_right: bool,
        /// The left child; the right one comes after it.
        left: usize,
    },
    /// Boosting: what is added to the logit.
    Value(f32),
    /// A forest: one vote for a class.
    Class(usize),
    /// A forest: a vote divided among all classes.
    Shares(&'a [f32]),
}

/// What goes left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Test<'a> {
    /// Numbers up to this one.
    UpTo(f32),
    /// Names of a set.
    Among(Names<'a>),
}

/// A set of names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Names<'a> {
    words: &'a [u32],
}

impl Names<'_> {
    /// Whether the name at this place among the column's is one of them.
    pub fn holds(&self, level: usize) -> bool {
        self.words[level / 32] >> (level % 32) & 1 == 1
    }
}

impl Boosting {
    /// The logit that every row starts with: one for two classes, else one for each class.
    pub fn start(&self) -> &[f32] {
        &self.start
    }

    /// Number of trees; tree `t` adds to the logit `t % start.len()`.
    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    /// The nodes of a tree.
    pub fn tree(&self, tree: usize) -> impl ExactSizeIterator<Item = Step<'_>> {
        let leaf = |payload| Step::Value(f32::from_bits(payload));
        self.trees.tree(tree).iter().map(move |node| self.trees.step(node, leaf))
    }
}

impl Forest {
    /// The nodes of a tree.
    pub fn tree(&self, tree: usize) -> impl ExactSizeIterator<Item = Step<'_>> {
        let classes = self.classes;
        let leaf = move |payload: u32| match (payload as usize).checked_sub(classes) {
            None => Step::Class(payload as usize),
            Some(index) => Step::Shares(&self.shares[index * classes..][..classes]),
        };
        self.trees.tree(tree).iter().map(move |node| self.trees.step(node, leaf))
    }
}

impl Trees {
    fn step<'a>(&'a self, node: &Node, leaf: impl Fn(u32) -> Step<'a>) -> Step<'a> {
        if node.children == 0 {
            return leaf(node.payload);
        }
        let test = if node.column & NAMES == 0 {
            Test::UpTo(f32::from_bits(node.payload))
        } else {
            Test::Among(Names { words: &self.sets[node.payload as usize..] })
        };
        Step::Question {
            column: (node.column & COLUMN) as usize,
            test,
            missing_right: node.column & MISSING_RIGHT != 0,
            left: node.children as usize,
        }
    }
}
