//! The rounds of a boosting.

use cmrm::error::check_length;
use cmrm::rng::Rng;
use rayon::prelude::*;

use super::bins::Bins;
use super::boosting::{Boosting, BoostingConfig, expand, to_probabilities};
use super::codes::Codes;
use super::grow::{Grower, TreeInput, Workspace};
use super::grown::Grown;
use super::histogram::{Cell, Format, fits_small_word};
use super::objective::{BoostingObjective, outputs};
use super::split::SplitRules;
use super::tree::Trees;
use super::wide::with_wide_vectors;
use crate::error::Result;
use crate::stop::Stop;

/// Streams of the seed; those of the rounds follow.
const ROWS_STREAM: u64 = 0x7265_6573_0000_0000;
const COLUMNS_STREAM: u64 = 0x636f_6c73_0000_0000;
/// Most bytes of the trees that grow at the same time.
const SIDE_BY_SIDE_BYTES: usize = 1 << 29;
/// Rows that are one thread's work where rows are independent.
const CHUNK_ROWS: usize = 4096;
/// The probability below which a log loss counts no further.
const LEAST_PROBABILITY: f32 = 1e-15;

/// What is called after each round, counted from 1, with the logits of the held-out rows, `[rows, classes]`.
pub type Staged<'a> = dyn FnMut(usize, &[f32]) + Send + 'a;

/// Rows that no tree is grown on, to judge each round by.
pub struct HeldOut<'a> {
    /// Their codes, by the bins that training has.
    pub codes: &'a Codes,
    /// Their observed labels.
    pub labels: &'a [u32],
    /// Sees their logits after each round.
    pub staged: Option<&'a mut Staged<'a>>,
}

/// A boosting and what held-out rows said of its rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostingFit {
    /// The model, up to the best round if patience was asked for.
    pub model: Boosting,
    /// The log loss of the held-out rows after each round that was trained.
    pub held_out_losses: Vec<f64>,
}

impl Boosting {
    /// Trains on rows given as codes.
    pub fn fit(
        bins: &Bins,
        codes: &Codes,
        objective: &mut dyn BoostingObjective,
        config: &BoostingConfig,
        held_out: Option<HeldOut<'_>>,
        stop: &Stop,
    ) -> Result<BoostingFit> {
        let config = *config.validate()?;
        check_length("rows of the objective against rows of codes", codes.rows(), objective.rows())?;
        for codes in std::iter::once(codes).chain(held_out.as_ref().map(|held_out| held_out.codes)) {
            check_length("columns of codes against bins", bins.columns().len(), codes.columns())?;
        }
        if let Some(held_out) = &held_out {
            check_length("held-out labels against held-out rows", held_out.codes.rows(), held_out.labels.len())?;
            cmrm::error::check_labels(held_out.labels, objective.classes())?;
        }
        if fits_small_word(codes.rows()) {
            Rounds::<u64>::new(bins, codes, objective, config).run(objective, held_out, stop)
        } else {
            Rounds::<u128>::new(bins, codes, objective, config).run(objective, held_out, stop)
        }
    }
}

/// A training under way.
struct Rounds<'a, C> {
    grower: Grower<'a>,
    config: BoostingConfig,
    classes: usize,
    start: Vec<f32>,
    /// The rows that count.
    rows: Vec<u32>,
    logits: Vec<f32>,
    gradients: Vec<f32>,
    hessians: Vec<f32>,
    /// One for each of the trees that grow side by side.
    states: Vec<TreeState<C>>,
}

/// What one of the trees that grow side by side needs for itself.
struct TreeState<C> {
    work: Workspace<C>,
    cells: Vec<C>,
    /// What the tree adds to the logit of each row.
    update: Vec<f32>,
}

impl<'a, C: Cell> Rounds<'a, C> {
    fn new(bins: &'a Bins, codes: &'a Codes, objective: &dyn BoostingObjective, config: BoostingConfig) -> Self {
        let start = objective.start();
        let count = codes.rows();
        let counts = |row: &u32| objective.row_weights().is_none_or(|weights| weights[*row as usize] > 0.0);
        let histograms = config.leaves.min(count) * codes.columns() * size_of::<super::histogram::Column<C>>();
        let bytes = histograms + count * (size_of::<C>() * 2 + 12);
        let side_by_side = (SIDE_BY_SIDE_BYTES / bytes.max(1)).clamp(1, start.len());
        let state = || TreeState { work: Workspace::default(), cells: Vec::new(), update: vec![0.0; count] };
        Rounds {
            grower: Grower {
                bins,
                codes,
                by_column: codes.by_column(),
                rules: SplitRules {
                    min_leaf: config.min_leaf as f64,
                    min_hessian: config.min_hessian.max(f64::MIN_POSITIVE),
                    l2: config.l2,
                },
                leaves: config.leaves,
            },
            config,
            classes: objective.classes(),
            rows: (0..count as u32).filter(counts).collect(),
            logits: start.iter().copied().cycle().take(count * start.len()).collect(),
            gradients: vec![0.0; count * start.len()],
            hessians: vec![0.0; count * start.len()],
            states: (0..side_by_side).map(|_| state()).collect(),
            start,
        }
    }

    fn run(
        mut self,
        objective: &mut dyn BoostingObjective,
        held_out: Option<HeldOut<'_>>,
        stop: &Stop,
    ) -> Result<BoostingFit> {
        let mut trees = Trees::new(self.grower.bins.columns().clone());
        let mut watch = held_out.map(|held_out| Watch::new(held_out, &self.start, self.classes));
        let mut losses = Vec::new();
        let mut best = (f64::INFINITY, 0);
        for round in 0..self.config.rounds {
            stop.check()?;
            objective.gradients(&self.logits, &mut self.gradients, &mut self.hessians)?;
            let grown = self.round(round, stop)?;
            let sampled = self.config.rows < 1.0 || self.config.columns < 1.0;
            if !sampled && grown.iter().all(|tree| tree.nodes.len() == 1) {
                // The next round would find as little.
                break;
            }
            grown.iter().for_each(|tree| trees.push(tree, self.grower.bins));
            let Some(watch) = &mut watch else { continue };
            let loss = watch.add(round + 1, &grown);
            losses.push(loss);
            if loss < best.0 {
                best = (loss, round + 1);
            }
            if self.config.patience.is_some_and(|patience| round + 1 - best.1 >= patience) {
                break;
            }
        }
        let mut model = Boosting { trees, classes: self.classes, start: self.start };
        if self.config.patience.is_some() && watch.is_some() {
            model.truncate(best.1);
        }
        Ok(BoostingFit { model, held_out_losses: losses })
    }

    /// The trees of one round, one for each logit, and what they add to the logits.
    fn round(&mut self, round: usize, stop: &Stop) -> Result<Vec<Grown>> {
        let width = self.start.len();
        let seed = self.config.seed;
        let share = |count: usize, share: f64| ((count as f64 * share).round() as usize).max(1);
        let mut drawn: Option<Vec<u32>> = None;
        if self.config.rows < 1.0 {
            let wanted = share(self.rows.len(), self.config.rows);
            let chosen = Rng::new(seed, ROWS_STREAM + round as u64).choose(self.rows.len(), wanted);
            drawn = Some(chosen.into_iter().map(|at| self.rows[at]).collect());
        }
        let columns = self.grower.codes.columns();
        let mut asked = vec![self.config.columns >= 1.0; columns];
        if self.config.columns < 1.0 {
            let wanted = share(columns, self.config.columns);
            for column in Rng::new(seed, COLUMNS_STREAM + round as u64).choose(columns, wanted) {
                asked[column] = true;
            }
        }
        let (grower, config) = (&self.grower, &self.config);
        let (gradients, hessians) = (&self.gradients, &self.hessians);
        let rows = drawn.as_ref().unwrap_or(&self.rows);
        let is_sample = rows.len() < grower.codes.rows();
        let mut grown = Vec::with_capacity(width);
        for first in (0..width).step_by(self.states.len()) {
            stop.check()?;
            let states = self.states.par_iter_mut().zip(first..width);
            let some = states.map(|(state, output)| {
                let slope = Slopes { gradients, hessians, width, output };
                let mut tree = state.grow(grower, config, rows, &slope, &asked);
                if is_sample {
                    // Rows that the tree was not grown on follow its questions.
                    let TreeState { update, .. } = state;
                    follow(&tree, grower.codes, update, 1, 0, |place, leaf| *place = leaf);
                }
                tree.sets.shrink_to_fit();
                tree
            });
            let some: Vec<Grown> = some.collect();
            let states = &self.states[..some.len()];
            self.logits.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, logits)| {
                for (output, state) in (first..).zip(states) {
                    let update = &state.update[chunk * CHUNK_ROWS..];
                    logits[output..].iter_mut().step_by(width).zip(update).for_each(|(logit, change)| *logit += change);
                }
            });
            grown.extend(some);
        }
        Ok(grown)
    }
}

/// Gradients and curvatures by one of the logits.
struct Slopes<'a> {
    gradients: &'a [f32],
    hessians: &'a [f32],
    width: usize,
    output: usize,
}

impl Slopes<'_> {
    #[inline(always)]
    fn of(&self, row: u32) -> (f32, f32) {
        let at = row as usize * self.width + self.output;
        (self.gradients[at], self.hessians[at])
    }
}

impl<C: Cell> TreeState<C> {
    /// Grows a tree, gives its leaves their values and notes them for the rows of the tree.
    fn grow(
        &mut self,
        grower: &Grower<'_>,
        config: &BoostingConfig,
        rows: &[u32],
        slopes: &Slopes<'_>,
        asked: &[bool],
    ) -> Grown {
        let (mut sums, mut largest) = ([0.0f64; 2], [0.0f32; 2]);
        for &row in rows {
            let (gradient, hessian) = slopes.of(row);
            sums = [sums[0] + f64::from(gradient.abs()), sums[1] + f64::from(hessian)];
            largest = [largest[0].max(gradient.abs()), largest[1].max(hessian)];
        }
        let format = Format::new::<C>(rows.len(), sums, largest.map(f64::from));
        self.cells.resize(grower.codes.rows(), C::default());
        let cells = &mut self.cells;
        // Rounding is one instruction where the processor's vectors are enabled around it.
        with_wide_vectors(
            #[inline(always)]
            || {
                for &row in rows {
                    let (gradient, hessian) = slopes.of(row);
                    cells[row as usize] = format.pack(gradient, hessian);
                }
            },
        );
        self.work.rows.clear();
        self.work.rows.extend_from_slice(rows);
        let input = TreeInput { cells: &self.cells, format, asked };
        let (mut grown, leaves) = grower.grow(&input, &mut self.work);
        for leaf in leaves {
            // The rows of a leaf are in order, so this sum is the same however the tree came about.
            let rows = &self.work.rows[leaf.rows];
            let (mut gradient, mut hessian) = (0.0f64, config.l2);
            for &row in rows {
                let (g, h) = slopes.of(row);
                gradient += f64::from(g);
                hessian += f64::from(h);
            }
            let value = if hessian > 0.0 { (-gradient / hessian * config.rate) as f32 } else { 0.0 };
            let value = if value.is_finite() { value } else { 0.0 };
            grown.nodes[leaf.node as usize].payload = value.to_bits();
            rows.iter().for_each(|&row| self.update[row as usize] = value);
        }
        grown
    }
}

/// Lets rows go through a tree; `meet` gets one of the `width` numbers of each row, and the value of its leaf.
fn follow(
    tree: &Grown,
    codes: &Codes,
    numbers: &mut [f32],
    width: usize,
    output: usize,
    meet: impl Fn(&mut f32, f32) + Sync,
) {
    numbers.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, numbers)| {
        for (at, numbers) in numbers.chunks_exact_mut(width).enumerate() {
            meet(&mut numbers[output], f32::from_bits(tree.walk(codes, chunk * CHUNK_ROWS + at)));
        }
    });
}

/// The held-out rows under way.
struct Watch<'a> {
    held_out: HeldOut<'a>,
    kept: Vec<f32>,
    classes: usize,
}

impl<'a> Watch<'a> {
    fn new(held_out: HeldOut<'a>, start: &[f32], classes: usize) -> Self {
        let kept = start.iter().copied().cycle().take(held_out.codes.rows() * start.len()).collect();
        Watch { held_out, kept, classes }
    }

    /// Takes in the trees of a round. Returns the log loss by observed labels.
    fn add(&mut self, round: usize, grown: &[Grown]) -> f64 {
        for (output, tree) in grown.iter().enumerate() {
            follow(tree, self.held_out.codes, &mut self.kept, outputs(self.classes), output, |logit, leaf| {
                *logit += leaf
            });
        }
        let mut logits = vec![0.0; self.held_out.labels.len() * self.classes];
        expand(&self.kept, self.classes, &mut logits);
        if let Some(staged) = &mut self.held_out.staged {
            staged(round, &logits);
        }
        to_probabilities(&mut logits, self.classes);
        let rows = logits.chunks_exact(self.classes).zip(self.held_out.labels);
        let loss = |(row, &label): (&[f32], &u32)| -f64::from(row[label as usize].max(LEAST_PROBABILITY)).ln();
        rows.map(loss).sum::<f64>() / self.held_out.labels.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use cmrm::Matrix;

    use super::super::columns::TreeColumns;
    use super::super::objective::CrossEntropy;
    use super::*;

    #[test]
    fn small_words_and_large_ones_give_the_same_trees() {
        let mut rng = Rng::new(1, 0);
        let x: Vec<f32> = (0..2000 * 3).map(|_| rng.normal() as f32).collect();
        let labels: Vec<u32> = x.chunks(3).map(|row| u32::from(row[0] * row[1] + 0.3 * row[2] > 0.0)).collect();
        let x = Matrix::new(&x, 3).unwrap();
        let bins = Bins::learn(x, &TreeColumns::numbers(3), None).unwrap();
        let codes = bins.codes(x).unwrap();
        let config = BoostingConfig { rounds: 10, ..BoostingConfig::default() };
        let mut objective = CrossEntropy::new(&labels, 2, None).unwrap();
        let small = Rounds::<u64>::new(&bins, &codes, &objective, config);
        let small = small.run(&mut objective, None, &Stop::default()).unwrap().model;
        let large = Rounds::<u128>::new(&bins, &codes, &objective, config);
        let large = large.run(&mut objective, None, &Stop::default()).unwrap().model;
        let pairs = small.logits(x).unwrap().into_iter().zip(large.logits(x).unwrap());
        // Both round to the 2^−24th part of the largest gradient; only what is equal but for that could differ.
        let apart = pairs.filter(|(a, b)| (a - b).abs() > 1e-4).count();
        assert!(apart < 40, "{apart} of 4000 logits are apart");
    }
}
