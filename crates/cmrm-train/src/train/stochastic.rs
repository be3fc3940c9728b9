//! Training in batches: one network with a copy for every arm.

use std::ops::Range;

use cmrm::loss::l2_penalty;
use cmrm::rng::Rng;
use cmrm::{Matrix, Rows, Scalar, SparseRows};

use super::arm::{Arm, ArmState};
use super::config::TrainConfig;
use super::data::Examples;
use super::diverged::{Place, explain};
use super::epoch::{EpochRun, EpochSums};
use super::evaluate::{ArmOutcome, RowView, Targets, evaluate_arms};
use crate::aligned::Aligned;
use crate::checked::Checked;
use crate::error::Result;
use crate::model::{Dropout, Network, Workspace};
use crate::optim::{Clip, DecayMask, Optimiser, OptimiserConfig};
use crate::schedule::Schedule;
use crate::stop::Stop;

/// Stream of the generator that the order of an epoch is drawn from; the epoch is added to it.
const ORDER_STREAM: u64 = 1 << 32;

/// The state of training in batches.
#[derive(Debug)]
pub(crate) struct Stochastic<T> {
    pub network: Network<T>,
    /// One optimiser for every part of the parameters of every arm.
    pub optimisers: Vec<Vec<Optimiser<T>>>,
    /// Where the parts of every arm stand, and whether each holds weights.
    parts: Vec<Vec<(Range<usize>, bool)>>,
    schedule: Schedule,
    batch_rows: Option<usize>,
    work: Workspace<T>,
    gradient: Aligned<T>,
    batch: Gathered<T>,
}

/// The rows of a batch, side by side.
#[derive(Debug)]
struct Gathered<T> {
    x: Aligned<T>,
    /// The features of sparse rows, instead of `x`.
    sparse: Option<SparseRows<T>>,
    labels: Vec<u32>,
    weights: Vec<T>,
    identities: Vec<u32>,
}

/// What an epoch needs besides the optimiser's own state.
pub(crate) struct Epoch<'e, T> {
    pub config: &'e TrainConfig,
    pub arms: &'e [Arm],
    pub states: &'e mut [ArmState<T>],
    pub train: Examples<'e, T>,
    pub weights: Option<&'e [T]>,
    pub epoch: usize,
    pub on_batch: &'e mut dyn FnMut(usize, usize),
    pub stop: &'e Stop,
}

impl<T: Scalar> Stochastic<T> {
    pub fn new(
        network: Network<T>,
        optimiser: Checked<OptimiserConfig>,
        schedule: Schedule,
        batch_rows: Option<usize>,
    ) -> Self {
        let layout = network.layout();
        let parts: Vec<_> = (0..layout.copies).map(|copy| layout.parts_of(copy)).collect();
        let mut optimisers = Vec::with_capacity(layout.copies);
        for parts in &parts {
            let of_arm = parts.iter().map(|(part, is_weights)| {
                let config = if *is_weights { optimiser } else { optimiser.without_decay() };
                Optimiser::new(config, DecayMask::all(part.len()))
            });
            optimisers.push(of_arm.collect());
        }
        let gradient = Aligned::from(&vec![T::ZERO; layout.parameters()][..]);
        let batch = Gathered::default();
        Stochastic { network, optimisers, parts, schedule, batch_rows, work: Workspace::default(), gradient, batch }
    }

    pub fn run_epoch(&mut self, mut run: Epoch<'_, T>) -> Result<EpochRun> {
        self.work.stop_on(run.stop.clone());
        for (state, optimisers) in run.states.iter().zip(&mut self.optimisers) {
            if state.clears_optimiser(run.epoch) {
                optimisers.iter_mut().for_each(Optimiser::reset);
            }
        }
        run.states.iter_mut().for_each(|state| state.scratch.seen.clear());
        let mut sums = vec![EpochSums::default(); run.arms.len()];
        let rows = run.train.rows();
        let batch_rows = self.batch_rows.unwrap_or(rows).min(rows);
        let batches = rows.div_ceil(batch_rows);
        // The order depends on seed and epoch alone, so a resumed run needs no more than those.
        let order = match self.batch_rows {
            None => Vec::new(),
            Some(_) => Rng::new(run.config.seed, ORDER_STREAM + run.epoch as u64).permutation(rows),
        };
        for batch in 0..batches {
            let from = batch * batch_rows;
            let to = (from + batch_rows).min(rows);
            let step = (run.epoch * batches + batch) as u64;
            let lr = self.schedule.lr_at(step, batches as u64, (run.config.epochs * batches) as u64);
            for sum in &mut sums {
                sum.learning_rate = lr;
            }
            if order.is_empty() {
                let (x, labels) = (run.train.x, run.train.labels);
                let identities: Vec<u32> = (0..rows as u32).collect();
                let targets = Targets { labels, row_weights: run.weights, identities: Some(&identities) };
                self.step(&mut run, batch, step, lr, x, targets, &mut sums)?;
            } else {
                let mut gathered = std::mem::take(&mut self.batch);
                gathered.fill(&run.train, run.weights, &order[from..to]);
                let row_weights = run.weights.map(|_| &gathered.weights[..]);
                let identities = Some(&gathered.identities[..]);
                let targets = Targets { labels: &gathered.labels, row_weights, identities };
                let x = gathered.rows(run.train.x.columns())?;
                let done = self.step(&mut run, batch, step, lr, x, targets, &mut sums);
                self.batch = gathered;
                done?;
            }
            (run.on_batch)(batch + 1, batches);
        }
        // Where in the order each row stood.
        let mut places = vec![0; order.len()];
        for (place, &row) in order.iter().enumerate() {
            places[row] = place as u32;
        }
        Ok(EpochRun { sums, places: (!order.is_empty()).then_some(places) })
    }

    #[allow(clippy::too_many_arguments)] // the parts of one batch
    fn step(
        &mut self,
        run: &mut Epoch<'_, T>,
        batch: usize,
        step: u64,
        lr: f64,
        x: Rows<'_, T>,
        targets: Targets<'_, T>,
        sums: &mut [EpochSums],
    ) -> Result<()> {
        let rate = run.config.model.dropout;
        let dropout = (rate > 0.0).then_some(Dropout { rate, seed: run.config.seed, step });
        self.network.forward(x, dropout, true, &mut self.work)?;
        let (outputs, delta) = self.work.outputs_and_delta();
        let outcomes = evaluate_arms(run.states, run.epoch, self.network.layout(), outputs, targets, delta).map_err(
            |(copy, error)| {
                let place = Place { arm: &run.arms[copy].name, epoch: run.epoch, batch };
                explain(error, place, run.config, &run.states[copy])
            },
        )?;
        for ((sum, outcome), state) in sums.iter_mut().zip(&outcomes).zip(run.states.iter()) {
            let seen = &state.scratch.seen;
            sum.add(outcome, &seen[seen.len() - targets.labels.len()..]);
        }
        self.network.backward(x, dropout, &mut self.work, &mut self.gradient)?;
        self.move_parameters(run.config, lr)
    }

    fn move_parameters(&mut self, config: &TrainConfig, lr: f64) -> Result<()> {
        for (optimisers, parts) in self.optimisers.iter_mut().zip(&self.parts) {
            if config.l2 > 0.0 {
                for (part, _) in parts.iter().filter(|(_, is_weights)| *is_weights) {
                    l2_penalty(&self.network.parameters()[part.clone()], config.l2, &mut self.gradient[part.clone()]);
                }
            }
            if let Some(clip) = config.clip {
                clip_parts(clip, parts, &mut self.gradient);
            }
            for (optimiser, (part, _)) in optimisers.iter_mut().zip(parts) {
                let gradient = &self.gradient[part.clone()];
                optimiser.step(&mut self.network.parameters_mut()[part.clone()], gradient, lr)?;
            }
        }
        Ok(())
    }
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Gathered {
            x: Aligned::default(),
            sparse: None,
            labels: Vec::new(),
            weights: Vec::new(),
            identities: Vec::new(),
        }
    }
}

impl<T: Scalar> Gathered<T> {
    fn fill(&mut self, train: &Examples<'_, T>, weights: Option<&[T]>, rows: &[usize]) {
        self.labels.clear();
        self.weights.clear();
        self.identities.clear();
        self.identities.extend(rows.iter().map(|&row| row as u32));
        self.labels.extend(rows.iter().map(|&row| train.labels[row]));
        match train.x {
            Rows::Dense(x) => {
                self.x.resize(rows.len() * x.columns());
                for (to, &row) in self.x.chunks_exact_mut(x.columns()).zip(rows) {
                    to.copy_from_slice(x.row(row));
                }
            }
            Rows::Sparse(x) => self.sparse = Some(x.gather(rows)),
        }
        if let Some(weights) = weights {
            self.weights.extend(rows.iter().map(|&row| weights[row]));
        }
    }

    fn rows(&self, width: usize) -> Result<Rows<'_, T>> {
        match &self.sparse {
            None => Ok(Matrix::new(&self.x, width)?.into()),
            Some(rows) => Ok(rows.view().into()),
        }
    }
}

/// Clips the gradient of one arm, whose parts lie apart.
fn clip_parts<T: Scalar>(clip: Clip, parts: &[(Range<usize>, bool)], gradient: &mut [T]) {
    if let Clip::Value(_) = clip {
        for (part, _) in parts {
            clip.apply(&mut gradient[part.clone()]);
        }
        return;
    }
    let mut all: Vec<T> = parts.iter().flat_map(|(part, _)| gradient[part.clone()].iter().copied()).collect();
    clip.apply(&mut all);
    let mut from = 0;
    for (part, _) in parts {
        gradient[part.clone()].copy_from_slice(&all[from..from + part.len()]);
        from += part.len();
    }
}

/// Adds an outcome of a batch to the sums of its epoch.
impl EpochSums {
    pub(super) fn add(&mut self, outcome: &ArmOutcome, views: &[RowView]) {
        let rows = views.len() as f64;
        self.rows += rows;
        self.base += rows * outcome.base;
        self.risk += rows * outcome.risk;
        self.total += rows * outcome.total;
        self.filtered += views.iter().filter(|view| view.weight < 0.5).count() as f64;
        self.last = *outcome;
    }
}
