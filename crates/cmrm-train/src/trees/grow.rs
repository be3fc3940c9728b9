//! One tree of a boosting: the leaf that gains most is split first.

use std::ops::Range;

use rayon::prelude::*;

use super::bins::{Bins, CODES};
use super::codes::{CodeBlock, Codes};
use super::grown::Grown;
use super::histogram::{Cell, Column, Format, accumulate};
use super::split::{Split, SplitRules, best_split};
use super::wide::with_wide_vectors;

/// Below so many additions a leaf is not worth a second thread.
const SHARED_WORK: usize = 1 << 15;

/// What all trees of a boosting have in common.
pub(crate) struct Grower<'a> {
    pub bins: &'a Bins,
    pub codes: &'a Codes,
    /// The codes once more, column by column: the rows of a split are told apart by one column alone.
    pub by_column: Vec<Vec<u8>>,
    pub rules: SplitRules,
    pub leaves: usize,
}

/// The histograms of a leaf: of every block of columns, one for each of its columns.
type Histogram<C> = Vec<Vec<Column<C>>>;

/// What one tree after the other reuses.
#[derive(Debug)]
pub(crate) struct Workspace<C> {
    /// The rows, those of a leaf side by side and in order.
    pub rows: Vec<u32>,
    right: Vec<u32>,
    cells: Vec<C>,
    free: Vec<Histogram<C>>,
}

impl<C> Default for Workspace<C> {
    fn default() -> Self {
        Workspace { rows: Vec::new(), right: Vec::new(), cells: Vec::new(), free: Vec::new() }
    }
}

/// A leaf of the finished tree: its node, and where its rows lie in [`Workspace::rows`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GrownLeaf {
    pub node: u32,
    pub rows: Range<usize>,
}

struct Leaf<C> {
    leaf: GrownLeaf,
    sum: C,
    histogram: Option<Histogram<C>>,
    split: Option<Split>,
}

/// The gradients of all rows as words, and the columns that this tree may ask about.
pub(crate) struct TreeInput<'a, C> {
    pub cells: &'a [C],
    pub format: Format,
    pub asked: &'a [bool],
}

impl Grower<'_> {
    /// Grows a tree on the rows that are in the workspace, ascending.
    pub fn grow<C: Cell>(&self, input: &TreeInput<'_, C>, work: &mut Workspace<C>) -> (Grown, Vec<GrownLeaf>) {
        let mut grown = Grown::new();
        let sum = work.rows.iter().fold(C::default(), |sum, &row| sum.plus(input.cells[row as usize]));
        let rows = GrownLeaf { node: 0, rows: 0..work.rows.len() };
        let mut root = Leaf { leaf: rows, sum, histogram: None, split: None };
        if self.leaves > 1 && self.may_split(&root) {
            self.search_root(input, work, &mut root);
        }
        let mut leaves = vec![root];
        while leaves.len() < self.leaves {
            let Some((at, split)) = most_gaining(&leaves) else { break };
            let is_last = leaves.len() + 1 == self.leaves;
            let Some(mut parent) = leaves[at].histogram.take() else { break };
            let (mut left, mut right) = self.divide(&mut grown, &leaves[at], &parent, &split, work);
            let wanted = !is_last && (self.may_split(&left) || self.may_split(&right));
            if wanted {
                let (small, large) = if left.leaf.rows.len() <= right.leaf.rows.len() {
                    (&mut left, &mut right)
                } else {
                    (&mut right, &mut left)
                };
                let mut fresh = self.histogram(work);
                self.search_children(input, work, (small, &mut fresh), (large, &mut parent));
                keep_or_free(small, fresh, work);
                keep_or_free(large, parent, work);
            } else {
                work.free.push(parent);
            }
            leaves[at] = left;
            leaves.push(right);
        }
        let done = leaves.into_iter().map(|leaf| {
            work.free.extend(leaf.histogram);
            leaf.leaf
        });
        (grown, done.collect())
    }

    fn may_split<C>(&self, leaf: &Leaf<C>) -> bool {
        leaf.leaf.rows.len() >= 2 * (self.rules.min_leaf as usize).max(1)
    }

    /// Histograms to write to, with what is left in them.
    fn histogram<C: Cell>(&self, work: &mut Workspace<C>) -> Histogram<C> {
        let fresh = |block: &CodeBlock| vec![[C::default(); CODES]; block.width];
        work.free.pop().unwrap_or_else(|| self.codes.blocks().iter().map(fresh).collect())
    }

    fn search_root<C: Cell>(&self, input: &TreeInput<'_, C>, work: &mut Workspace<C>, root: &mut Leaf<C>) {
        let mut histogram = self.histogram(work);
        let (rows, cells) = gather(input, work, &root.leaf.rows);
        let blocks = self.codes.blocks().par_iter().zip(&mut histogram);
        let found = each_block(rows.len() * self.codes.columns(), blocks, |(block, histogram)| {
            self.count(histogram, block, rows, cells);
            [self.best_of_block(input, block, histogram, root.sum)]
        });
        [root.split] = found;
        root.histogram = Some(histogram);
    }

    /// Searches both children: the smaller one is counted, the larger one is what is left of the parent.
    fn search_children<C: Cell>(
        &self,
        input: &TreeInput<'_, C>,
        work: &mut Workspace<C>,
        (small, fresh): (&mut Leaf<C>, &mut Histogram<C>),
        (large, parent): (&mut Leaf<C>, &mut Histogram<C>),
    ) {
        let (rows, cells) = gather(input, work, &small.leaf.rows);
        let searched = [self.may_split(small), self.may_split(large)];
        let sums = [small.sum, large.sum];
        let blocks = self.codes.blocks().par_iter().zip(fresh).zip(parent);
        let found = each_block(rows.len() * self.codes.columns(), blocks, |((block, fresh), parent)| {
            self.count(fresh, block, rows, cells);
            for (at, (parent, fresh)) in parent.iter_mut().zip(fresh.iter()).enumerate() {
                let used = self.bins.column(block.first + at).bins() + 1;
                parent[..used].iter_mut().zip(&fresh[..used]).for_each(|(all, part)| *all = all.minus(*part));
            }
            let best = |side: usize, histogram| {
                if searched[side] { self.best_of_block(input, block, histogram, sums[side]) } else { None }
            };
            [best(0, fresh), best(1, parent)]
        });
        [small.split, large.split] = found;
    }

    /// The histograms of a block's columns over some rows.
    fn count<C: Cell>(&self, histogram: &mut [Column<C>], block: &CodeBlock, rows: &[u32], cells: &[C]) {
        for (at, column) in histogram.iter_mut().enumerate() {
            column[..=self.bins.column(block.first + at).bins()].fill(C::default());
        }
        accumulate(histogram, block, rows, cells);
    }

    fn best_of_block<C: Cell>(
        &self,
        input: &TreeInput<'_, C>,
        block: &CodeBlock,
        histogram: &[Column<C>],
        sum: C,
    ) -> Option<Split> {
        with_wide_vectors(
            #[inline(always)]
            || {
                let mut best = None;
                // A plain loop: what iterators call is not compiled for wide vectors.
                for at in 0..histogram.len() {
                    let column = block.first + at;
                    if input.asked[column] {
                        let bins = self.bins.column(column);
                        best = better(best, best_split(&histogram[at], bins, column, sum, &input.format, &self.rules));
                    }
                }
                best
            },
        )
    }

    /// Splits a leaf: a question in the tree, and the rows that go left before those that go right.
    fn divide<C: Cell>(
        &self,
        grown: &mut Grown,
        parent: &Leaf<C>,
        histogram: &Histogram<C>,
        split: &Split,
        work: &mut Workspace<C>,
    ) -> (Leaf<C>, Leaf<C>) {
        let goes_left = split.question.answers(split.missing);
        let (block, at) = self.codes.place(split.column);
        let cells = histogram[block][at].iter().take(self.bins.column(split.column).bins() + 1);
        let sum = cells.zip(goes_left).filter(|(_, left)| *left).fold(C::default(), |sum, (cell, _)| sum.plus(*cell));
        let Range { start, end } = parent.leaf.rows;
        let codes = &self.by_column[split.column];
        let goes_left = |row: u32| goes_left[usize::from(codes[row as usize])];
        let middle = start + partition(&mut work.rows[start..end], &mut work.right, goes_left);
        let children = grown.ask(parent.leaf.node, split.column, split.question, split.missing, split.gain);
        let leaf = |node, rows, sum| Leaf { leaf: GrownLeaf { node, rows }, sum, histogram: None, split: None };
        (leaf(children, start..middle, sum), leaf(children + 1, middle..end, parent.sum.minus(sum)))
    }
}

/// Lays the words of a leaf's rows side by side: every block reads them in this order.
fn gather<'w, C: Cell>(
    input: &TreeInput<'_, C>,
    work: &'w mut Workspace<C>,
    rows: &Range<usize>,
) -> (&'w [u32], &'w [C]) {
    let rows = &work.rows[rows.clone()];
    work.cells.clear();
    work.cells.extend(rows.iter().map(|&row| input.cells[row as usize]));
    (rows, &work.cells)
}

/// Moves the rows that go left to the front; both sides keep their order. Returns how many they are.
pub(crate) fn partition(rows: &mut [u32], right: &mut Vec<u32>, goes_left: impl Fn(u32) -> bool) -> usize {
    if right.len() < rows.len() {
        right.resize(rows.len(), 0);
    }
    // Every row is written to both sides and one of the two moves on: nothing that could be guessed wrong.
    let mut count = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        let left = usize::from(goes_left(row));
        rows[count] = row;
        right[at - count] = row;
        count += left;
    }
    let rest = rows.len() - count;
    rows[count..].copy_from_slice(&right[..rest]);
    count
}

/// The leaf that gains most; of equals, the first.
fn most_gaining<C>(leaves: &[Leaf<C>]) -> Option<(usize, Split)> {
    let splits = leaves.iter().enumerate().filter_map(|(at, leaf)| leaf.split.map(|split| (at, split)));
    splits.reduce(|best, next| if next.1.gain > best.1.gain { next } else { best })
}

/// The better of two splits; of equals, the first.
fn better(first: Option<Split>, second: Option<Split>) -> Option<Split> {
    match (first, second) {
        (Some(a), Some(b)) => Some(if b.gain > a.gain { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Runs `work` for every block of columns, on several threads if there is enough to do, and keeps the best splits.
fn each_block<const N: usize, T: Send>(
    additions: usize,
    blocks: impl IndexedParallelIterator<Item = T>,
    work: impl Fn(T) -> [Option<Split>; N] + Sync + Send,
) -> [Option<Split>; N] {
    let least = if additions < SHARED_WORK { usize::MAX } else { 1 };
    let found: Vec<[Option<Split>; N]> = blocks.with_min_len(least).map(work).collect();
    let mut best = [None; N];
    for found in found {
        for (best, found) in best.iter_mut().zip(found) {
            *best = better(*best, found);
        }
    }
    best
}

fn keep_or_free<C>(leaf: &mut Leaf<C>, histogram: Histogram<C>, work: &mut Workspace<C>) {
    if leaf.split.is_some() { leaf.histogram = Some(histogram) } else { work.free.push(histogram) }
}
