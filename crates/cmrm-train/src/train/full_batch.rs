//! Training on all rows at once by L-BFGS: one network for every arm.

use std::sync::Arc;

use cmrm::envelope::{FrozenFilter, RowMemory};
use cmrm::loss::l2_penalty;
use cmrm::{Rows, Scalar};

use super::arm::ArmState;
use super::diverged::{Place, explain};
use super::epoch::{EpochRun, EpochSums};
use super::evaluate::{ArmOutcome, Targets, evaluate_arm};
use super::stochastic::Epoch;
use crate::checked::Checked;
use crate::error::Result;
use crate::model::{Head, Layout, Network, Workspace};
use crate::optim::{LbfgsConfig, LbfgsState, Preconditioner};

/// One arm's network and minimiser.
#[derive(Debug)]
pub(crate) struct FullBatchArm<T> {
    pub network: Network<T>,
    pub lbfgs: LbfgsState<T>,
    /// How often the term has been switched on: 0 while it is off, one more each time the filter was found again.
    pub rounds: usize,
}

/// The filter of the base loss depends on the margins, and the optimum on the filter: found at the base's optimum, then
/// again at the optimum that it led to. With more rounds small tables drift away from their labels.
const ROUNDS: usize = 2;

/// The state of training on all rows.
#[derive(Debug)]
pub(crate) struct FullBatch<T> {
    pub arms: Vec<FullBatchArm<T>>,
    config: Checked<LbfgsConfig>,
    /// What the rows tell of the curvature, once the first epoch has shown them.
    preconditioner: Option<Option<Arc<Preconditioner<T>>>>,
    work: Workspace<T>,
}

impl<T: Scalar> FullBatch<T> {
    pub fn new(network: &Network<T>, config: Checked<LbfgsConfig>) -> Self {
        let arms = (0..network.layout().copies)
            .map(|copy| {
                let network = network.copy(copy);
                let lbfgs = LbfgsState::new(config, network.parameters().len());
                FullBatchArm { network, lbfgs, rounds: 0 }
            })
            .collect();
        FullBatch { arms, config, preconditioner: None, work: Workspace::default() }
    }

    /// Whether every arm has ended, and with its term on if that comes on at all.
    pub fn has_ended(&self, states: &[ArmState<T>]) -> bool {
        let last = |state: &ArmState<T>| match (state.comes_on, state.has_filter()) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => ROUNDS,
        };
        self.arms.iter().zip(states).all(|(arm, state)| arm.lbfgs.status().is_some() && arm.rounds >= last(state))
    }

    pub fn run_epoch(&mut self, run: Epoch<'_, T>) -> Result<EpochRun> {
        self.work.stop_on(run.stop.clone());
        let mut sums = vec![EpochSums::default(); run.arms.len()];
        let targets = Targets { labels: run.train.labels, row_weights: run.weights, identities: None };
        let preconditioner = self.preconditioner.get_or_insert_with(|| {
            self.work.keep_columns_of(run.train.x);
            let arm = self.arms.first().filter(|_| self.config.precondition)?;
            preconditioner_of(arm.network.layout(), run.train.x, run.weights, run.config.l2).map(Arc::new)
        });
        for (copy, arm) in self.arms.iter_mut().enumerate() {
            let state = &mut run.states[copy];
            // A base loss that has converged before the term's own epoch is at its optimum, which is what the base arm
            // keeps: waiting would change neither arm, so the term comes on at once.
            let converged = arm.lbfgs.status().is_some();
            let due = state.is_on(run.epoch) || (state.comes_on && converged);
            let again = arm.rounds > 0 && arm.rounds < ROUNDS && converged && state.has_filter();
            if (due && arm.rounds == 0) || again {
                arm.rounds += 1;
                if state.fresh_optimiser && !again {
                    arm.lbfgs = LbfgsState::new(self.config, arm.network.parameters().len());
                } else {
                    arm.lbfgs.refresh();
                }
                if state.has_filter() {
                    freeze_filter(arm, state, &mut self.work, run.train.x, targets)?;
                }
            }
            if let Some(preconditioner) = preconditioner {
                arm.lbfgs.use_preconditioner(Arc::clone(preconditioner))?;
            }
            let on = arm.rounds > 0;
            state.scratch.seen.clear();
            let x = run.train.x;
            let mut outcome = ArmOutcome::default();
            let mut parameters = arm.network.parameters().to_vec();
            let (network, work) = (&mut arm.network, &mut self.work);
            let l2 = run.config.l2;
            let mut objective = |point: &[T], gradient: &mut [T]| {
                network.parameters_mut().copy_from_slice(point);
                network.forward(x, None, true, work)?;
                let (outputs, delta) = work.outputs_and_delta();
                // The line search tries several points; what counts is the last.
                state.scratch.seen.clear();
                outcome = evaluate_arm(state, on, network.layout(), 0, outputs, targets, delta)?;
                network.backward(x, None, work, gradient)?;
                let mut total = outcome.total;
                for (part, _) in network.layout().parts_of(0).into_iter().filter(|(_, is_weights)| *is_weights) {
                    total += l2_penalty(&point[part.clone()], l2, &mut gradient[part]);
                }
                Ok(total)
            };
            let moved = arm.lbfgs.step(&mut parameters, &mut objective);
            arm.network.parameters_mut().copy_from_slice(&parameters);
            moved.map_err(|error| {
                let place = Place { arm: &run.arms[copy].name, epoch: run.epoch, batch: 0 };
                explain(error, place, run.config, &run.states[copy])
            })?;
            sums[copy].add(&outcome, &run.states[copy].scratch.seen);
        }
        (run.on_batch)(1, 1);
        Ok(EpochRun { sums, places: None })
    }
}

/// Finds the filter at the arm's parameters and holds it: the values that a line search compares must be of one function.
fn freeze_filter<T: Scalar>(
    arm: &FullBatchArm<T>,
    state: &mut ArmState<T>,
    work: &mut Workspace<T>,
    x: Rows<'_, T>,
    targets: Targets<'_, T>,
) -> Result<()> {
    state.memory = None;
    arm.network.forward(x, None, true, work)?;
    let (outputs, delta) = work.outputs_and_delta();
    let outcome = evaluate_arm(state, true, arm.network.layout(), 0, outputs, targets, delta)?;
    let frozen = FrozenFilter { weights: state.scratch.weights().to_vec(), lambda: T::from_f64(outcome.lambda) };
    state.memory = Some(RowMemory { frozen: Some(frozen), ..RowMemory::default() });
    Ok(())
}

/// What the rows tell of the curvature of a linear model's loss. A cosine classifier is not linear in its weights.
fn preconditioner_of<T: Scalar>(
    layout: &Layout,
    x: Rows<'_, T>,
    row_weights: Option<&[T]>,
    l2: f64,
) -> Option<Preconditioner<T>> {
    match &layout.layers[..] {
        [layer] if layout.head != Head::Cosine => {
            Preconditioner::of_rows(x, row_weights, layer.outputs, layer.bias, l2)
        }
        _ => None,
    }
}
