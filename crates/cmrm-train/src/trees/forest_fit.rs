//! The trees of a forest, each on a bootstrap of the rows.

use std::ops::Range;

use cmrm::error::check_length;
use cmrm::rng::Rng;
use rayon::prelude::*;

use super::bins::Bins;
use super::codes::Codes;
use super::forest::{Forest, ForestConfig, OutOfBag, vote};
use super::gini::{GiniSearch, GiniSplit, Sample};
use super::grown::Grown;
use super::objective::{Rows, class_shares};
use super::tree::Trees;
use crate::error::{Error, Result};
use crate::stop::Stop;

/// Stream of the seed; those of the trees follow.
const TREE_STREAM: u64 = 0x666f_7265_0000_0000;
/// Trees that are grown before their votes are counted and their bootstraps forgotten.
const BATCH: usize = 32;
/// Rows whose out-of-bag votes are one thread's work.
const CHUNK_ROWS: usize = 512;

/// What all trees have in common.
struct Planter<'a> {
    bins: &'a Bins,
    by_column: Vec<Vec<u8>>,
    labels: &'a [u32],
    classes: usize,
    weights: Option<&'a [f32]>,
    /// The rows that count.
    rows: Vec<u32>,
    config: ForestConfig,
    stop: &'a Stop,
}

/// A tree, its bootstrap and the shares of its leaves.
struct Planted {
    grown: Grown,
    shares: Vec<f32>,
    /// Whether each row was drawn.
    drawn: Vec<bool>,
}

impl Forest {
    /// Trains on rows given as codes. Rows of weight zero are in no bootstrap, so every tree votes on them.
    pub fn fit(
        bins: &Bins,
        codes: &Codes,
        labels: &[u32],
        classes: usize,
        weights: Option<&[f32]>,
        config: &ForestConfig,
        stop: &Stop,
    ) -> Result<(Forest, OutOfBag)> {
        let config = *config.validate()?;
        check_length("columns of codes against bins", bins.columns().len(), codes.columns())?;
        check_length("labels against rows", codes.rows(), labels.len())?;
        Rows::new(labels, classes, weights)?;
        let counts = |row: &u32| weights.is_none_or(|weights| weights[*row as usize] > 0.0);
        let rows = (0..labels.len() as u32).filter(counts).collect();
        let planter = Planter { bins, by_column: codes.by_column(), labels, classes, weights, rows, config, stop };

        let mut forest = Forest { trees: Trees::new(bins.columns().clone()), classes, shares: Vec::new() };
        let mut out_of_bag =
            OutOfBag { probabilities: vec![0.0; labels.len() * classes], counts: vec![0; labels.len()] };
        for first in (0..config.trees).step_by(BATCH) {
            let batch = (first..config.trees.min(first + BATCH)).into_par_iter();
            let planted: Vec<Planted> = batch.map(|tree| planter.plant(tree)).collect::<Result<_>>()?;
            out_of_bag.add(&planted, codes, classes);
            planted.into_iter().try_for_each(|tree| forest.push(tree, bins))?;
        }
        out_of_bag.finish(&class_shares(labels, classes, weights));
        Ok((forest, out_of_bag))
    }

    fn push(&mut self, mut planted: Planted, bins: &Bins) -> Result<()> {
        // Leaves of several classes move behind those of the trees before.
        let before = self.shares.len() / self.classes;
        let nodes = self.trees.nodes.len() + planted.grown.nodes.len();
        if nodes.max(before + self.classes + planted.shares.len() / self.classes) > u32::MAX as usize {
            let reason = "the forest has more than 2^32 nodes; ask for fewer trees or larger leaves".into();
            return Err(Error::Method(cmrm::Error::Invalid { what: "forest", reason }));
        }
        for node in planted.grown.nodes.iter_mut().filter(|node| node.children == 0) {
            if node.payload as usize >= self.classes {
                node.payload += before as u32;
            }
        }
        self.shares.extend(planted.shares);
        self.trees.push(&planted.grown, bins);
        Ok(())
    }
}

impl OutOfBag {
    fn add(&mut self, planted: &[Planted], codes: &Codes, classes: usize) {
        let chunks =
            self.probabilities.par_chunks_mut(CHUNK_ROWS * classes).zip(self.counts.par_chunks_mut(CHUNK_ROWS));
        chunks.enumerate().for_each(|(chunk, (sums, counts))| {
            for tree in planted {
                for (at, (sums, count)) in sums.chunks_exact_mut(classes).zip(counts.iter_mut()).enumerate() {
                    let row = chunk * CHUNK_ROWS + at;
                    if !tree.drawn[row] {
                        vote(tree.grown.walk(codes, row), &tree.shares, sums);
                        *count += 1;
                    }
                }
            }
        });
    }

    fn finish(&mut self, shares: &[f64]) {
        for (row, &count) in self.probabilities.chunks_exact_mut(shares.len()).zip(&self.counts) {
            if count == 0 {
                row.iter_mut().zip(shares).for_each(|(place, &share)| *place = share as f32);
            } else {
                row.iter_mut().for_each(|sum| *sum /= count as f32);
            }
        }
    }
}

impl Planter<'_> {
    fn plant(&self, tree: usize) -> Result<Planted> {
        let mut rng = Rng::new(self.config.seed, TREE_STREAM + tree as u64);
        let mut times = vec![0u32; self.labels.len()];
        for _ in 0..self.rows.len() {
            times[self.rows[rng.below(self.rows.len())] as usize] += 1;
        }
        let drawn = (0..).zip(&times).filter(|&(_, &times)| times > 0);
        let mut samples: Vec<Sample> = drawn
            .map(|(row, &times)| {
                let weight = self.weights.map_or(1.0, |weights| weights[row as usize]);
                Sample { row, label: self.labels[row as usize], weight: weight * times as f32 }
            })
            .collect();
        let mut planted =
            Planted { grown: Grown::new(), shares: Vec::new(), drawn: times.iter().map(|&times| times > 0).collect() };
        let mut search = GiniSearch::new(self.classes, self.config.min_leaf);
        let mut columns: Vec<usize> = (0..self.by_column.len()).collect();
        let mut right = Vec::new();
        let mut open: Vec<(u32, Range<usize>)> = vec![(0, 0..samples.len())];
        while let Some((node, range)) = open.pop() {
            self.stop.check()?;
            let samples = &mut samples[range.clone()];
            let score = search.enter(samples);
            let best = score.and_then(|_| self.best(&mut search, samples, &mut columns, &mut rng));
            let Some(split) = best else {
                let payload = planted.leaf(&search, samples, score.is_none());
                planted.grown.nodes[node as usize].payload = payload;
                continue;
            };
            let gain = (split.score - score.unwrap_or(0.0)).max(0.0);
            let goes_left = split.question.answers(split.missing);
            let codes = &self.by_column[split.column];
            let count = partition(samples, &mut right, |sample| goes_left[usize::from(codes[sample.row as usize])]);
            let children = planted.grown.ask(node, split.column, split.question, split.missing, gain);
            let middle = range.start + count;
            open.push((children + 1, middle..range.end));
            open.push((children, range.start..middle));
        }
        Ok(planted)
    }

    /// The best split of a node: of as many columns as settings say, and of more while there is none.
    fn best(
        &self,
        search: &mut GiniSearch,
        samples: &[Sample],
        columns: &mut [usize],
        rng: &mut Rng,
    ) -> Option<GiniSplit> {
        if samples.len() < 2 * self.config.min_leaf {
            return None;
        }
        let wanted = self.config.columns.of(columns.len());
        let mut best: Option<GiniSplit> = None;
        for at in 0..columns.len() {
            if at >= wanted && best.is_some() {
                break;
            }
            let other = at + rng.below(columns.len() - at);
            columns.swap(at, other);
            let column = columns[at];
            let found = search.search(samples, &self.by_column[column], self.bins.column(column), column);
            best = match (best, found) {
                (Some(a), Some(b)) => Some(if b.score > a.score { b } else { a }),
                (a, b) => a.or(b),
            };
        }
        best
    }
}

impl Planted {
    /// The payload of a leaf.
    fn leaf(&mut self, search: &GiniSearch, samples: &[Sample], is_pure: bool) -> u32 {
        match samples.first() {
            Some(sample) if is_pure => sample.label,
            _ => {
                let before = self.shares.len();
                self.shares.extend(search.shares());
                let classes = self.shares.len() - before;
                (classes + before / classes.max(1)) as u32
            }
        }
    }
}

/// Moves the samples that go left to the front; both sides keep their order. Returns how many they are.
fn partition(samples: &mut [Sample], right: &mut Vec<Sample>, goes_left: impl Fn(&Sample) -> bool) -> usize {
    right.clear();
    let mut count = 0;
    for at in 0..samples.len() {
        let sample = samples[at];
        if goes_left(&sample) {
            samples[count] = sample;
            count += 1;
        } else {
            right.push(sample);
        }
    }
    samples[count..].copy_from_slice(right);
    count
}
