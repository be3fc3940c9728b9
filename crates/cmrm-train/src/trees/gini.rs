//! The best question about one column of a forest's node, by the Gini impurity of the sides.

use super::bins::ColumnBins;
use super::grown::{CodeSet, Question, Side};

/// Rows for every class up to which sorting a node's rows is faster than counting the classes of every bin.
const SORTED_ROWS: usize = 32;

/// A row of a tree's bootstrap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub row: u32,
    pub label: u32,
    /// The row's weight times how often it was drawn.
    pub weight: f32,
}

/// A question and the score of its sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GiniSplit {
    /// `Σ L_c² / ΣL + Σ R_c² / ΣR`: the larger, the purer both sides.
    pub score: f64,
    pub column: usize,
    pub question: Question,
    pub missing: Side,
}

/// Weights by class on one side.
#[derive(Debug, Clone, Default)]
struct Part {
    weights: Vec<f64>,
    sum: f64,
    squares: f64,
    rows: usize,
}

impl Part {
    fn reset(&mut self, classes: usize) {
        self.weights.clear();
        self.weights.resize(classes, 0.0);
        (self.sum, self.squares, self.rows) = (0.0, 0.0, 0);
    }

    fn copy(&mut self, other: &Part) {
        self.weights.clone_from(&other.weights);
        (self.sum, self.squares, self.rows) = (other.sum, other.squares, other.rows);
    }

    fn add(&mut self, label: usize, weight: f64) {
        let held = &mut self.weights[label];
        self.squares += weight * (2.0 * *held + weight);
        *held += weight;
        self.sum += weight;
    }

    fn score(&self) -> f64 {
        if self.sum > 0.0 { self.squares / self.sum } else { 0.0 }
    }
}

/// What the search in one node after the other reuses.
#[derive(Debug, Default)]
pub(crate) struct GiniSearch {
    classes: usize,
    min_leaf: usize,
    all: Part,
    left: Part,
    right: Part,
    keys: Vec<u64>,
    /// Weights by code and class.
    counts: Vec<f64>,
    /// Rows by code.
    rows: Vec<usize>,
    order: Vec<u8>,
}

impl GiniSearch {
    pub fn new(classes: usize, min_leaf: usize) -> Self {
        GiniSearch { classes, min_leaf, ..GiniSearch::default() }
    }

    /// Begins a node. Returns its score, or nothing if all its rows have one label.
    pub fn enter(&mut self, samples: &[Sample]) -> Option<f64> {
        self.all.reset(self.classes);
        self.all.rows = samples.len();
        for sample in samples {
            self.all.add(sample.label as usize, sample.weight.into());
        }
        let first = samples.first()?.label;
        samples.iter().any(|sample| sample.label != first).then(|| self.all.score())
    }

    /// The share of every class in the node that was entered last.
    pub fn shares(&self) -> impl Iterator<Item = f32> + '_ {
        self.all.weights.iter().map(|&weight| (weight / self.all.sum) as f32)
    }

    /// The best question about a column, whose codes are `codes`.
    pub fn search(&mut self, samples: &[Sample], codes: &[u8], bins: &ColumnBins, column: usize) -> Option<GiniSplit> {
        let numbers = matches!(bins, ColumnBins::Numbers { .. });
        if numbers && samples.len() <= SORTED_ROWS * self.classes {
            self.keys.clear();
            let code = |sample: &Sample| u64::from(codes[sample.row as usize]);
            self.keys.extend(samples.iter().enumerate().map(|(at, sample)| code(sample) << 32 | at as u64));
            self.keys.sort_unstable();
            let last = self.keys.last().map_or(0, |key| (key >> 32) as usize);
            if last < bins.bins() {
                return self.sweep_sorted(samples, bins.bins(), column);
            }
        }
        self.count(samples, codes, bins.bins());
        if numbers { self.sweep_numbers(bins.bins(), column) } else { self.sweep_names(bins.bins(), column) }
    }

    /// Questions about numbers, none of which is missing, with the rows sorted by bin.
    fn sweep_sorted(&mut self, samples: &[Sample], bins: usize, column: usize) -> Option<GiniSplit> {
        self.left.reset(self.classes);
        self.right.copy(&self.all);
        let mut best: Option<(f64, u8, usize)> = None;
        for (at, pair) in self.keys.windows(2).enumerate() {
            let sample = samples[(pair[0] & u64::from(u32::MAX)) as usize];
            self.left.add(sample.label as usize, sample.weight.into());
            self.right.add(sample.label as usize, -f64::from(sample.weight));
            let (left, right) = (at + 1, samples.len() - at - 1);
            if pair[0] >> 32 != pair[1] >> 32 && left >= self.min_leaf && right >= self.min_leaf {
                let score = self.left.score() + self.right.score();
                if best.is_none_or(|best| score > best.0) {
                    best = Some((score, (pair[0] >> 32) as u8, left));
                }
            }
        }
        let (score, last_left, left) = best?;
        let missing = if left * 2 > samples.len() { Side::Left } else { Side::Right };
        Some(GiniSplit { score, column, question: Question::Number { last_left, missing_code: bins as u8 }, missing })
    }

    /// Weights by class, and rows, of every code.
    fn count(&mut self, samples: &[Sample], codes: &[u8], bins: usize) {
        self.counts.clear();
        self.counts.resize((bins + 1) * self.classes, 0.0);
        self.rows.clear();
        self.rows.resize(bins + 1, 0);
        for sample in samples {
            let code = usize::from(codes[sample.row as usize]);
            self.counts[code * self.classes + sample.label as usize] += f64::from(sample.weight);
            self.rows[code] += 1;
        }
    }

    /// Offers every cut in a sequence of codes: how many of them go left, the score, and the rows that go left.
    fn sweep(&mut self, order: &[u8], mut offer: impl FnMut(usize, f64, usize)) {
        self.left.reset(self.classes);
        for (at, &code) in order.iter().enumerate() {
            let rows = self.rows[usize::from(code)];
            if rows == 0 {
                continue;
            }
            self.left.rows += rows;
            let counts = &self.counts[usize::from(code) * self.classes..][..self.classes];
            let (mut left_sum, mut left_squares, mut right_squares) = (0.0, 0.0, 0.0);
            for ((left, &count), &all) in self.left.weights.iter_mut().zip(counts).zip(&self.all.weights) {
                *left += count;
                left_sum += *left;
                left_squares += *left * *left;
                right_squares += (all - *left) * (all - *left);
            }
            let right_rows = self.all.rows - self.left.rows;
            if self.left.rows >= self.min_leaf && right_rows >= self.min_leaf && right_rows > 0 {
                let right_sum = (self.all.sum - left_sum).max(f64::MIN_POSITIVE);
                offer(
                    at + 1,
                    left_squares / left_sum.max(f64::MIN_POSITIVE) + right_squares / right_sum,
                    self.left.rows,
                );
            }
        }
    }

    fn sweep_numbers(&mut self, bins: usize, column: usize) -> Option<GiniSplit> {
        let mut best: Option<GiniSplit> = None;
        let missing_code = bins as u8;
        let any_missing = self.rows[bins] > 0;
        let all_rows = self.all.rows;
        // Missing values come last, and once more first.
        for side in [Side::Right, Side::Left] {
            if side == Side::Left && !any_missing {
                break;
            }
            let mut order = std::mem::take(&mut self.order);
            order.clear();
            if side == Side::Left {
                order.push(missing_code);
            }
            order.extend(0..missing_code);
            self.sweep(&order, |taken, score, left_rows| {
                // Only the missing values on the left: the same as all others there.
                if best.is_none_or(|best| score > best.score) && !(side == Side::Left && taken == 1) {
                    let missing = match (any_missing, left_rows * 2 > all_rows) {
                        (true, _) => side,
                        (false, true) => Side::Left,
                        (false, false) => Side::Right,
                    };
                    let question = Question::Number { last_left: order[taken - 1], missing_code };
                    best = Some(GiniSplit { score, column, question, missing });
                }
            });
            self.order = order;
        }
        best
    }

    /// Sets of names: each alone, and those that come first by the share of the node's commonest class.
    fn sweep_names(&mut self, bins: usize, column: usize) -> Option<GiniSplit> {
        let (classes, all_rows) = (self.classes, self.all.rows);
        let commonest = cmrm::scores::most_likely(&self.all.weights) as usize;
        let mut order: Vec<u8> = (0..=bins).filter(|&code| self.rows[code] > 0).map(|code| code as u8).collect();
        let missing_seen = self.rows[bins] > 0;
        let mut best: Option<(f64, CodeSet, usize)> = None;
        let mut offer = |score: f64, codes: &[u8], left_rows: usize| {
            if best.is_none_or(|best| score > best.0) {
                let mut left = CodeSet::default();
                codes.iter().for_each(|&code| left.insert(code));
                best = Some((score, left, left_rows));
            }
        };
        for &code in &order.clone() {
            let mut first = true;
            self.sweep(&[code], |_, score, left_rows| {
                if std::mem::take(&mut first) {
                    offer(score, &[code], left_rows);
                }
            });
        }
        let share = |code: &u8| {
            let counts = &self.counts[usize::from(*code) * classes..][..classes];
            counts[commonest] / counts.iter().sum::<f64>().max(f64::MIN_POSITIVE)
        };
        order.sort_by(|a, b| share(a).total_cmp(&share(b)));
        let sorted = order.clone();
        self.sweep(&sorted, |taken, score, left_rows| offer(score, &sorted[..taken], left_rows));
        let (score, left, left_rows) = best?;
        let missing_left = if missing_seen { left.holds(bins as u8) } else { left_rows * 2 > all_rows };
        let missing = if missing_left { Side::Left } else { Side::Right };
        Some(GiniSplit { score, column, question: Question::Names { left }, missing })
    }
}
