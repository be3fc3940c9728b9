//! The two ways parameters move, behind one face.

use cmrm::error::check_length;
use cmrm::{Rows, Scalar};

use super::full_batch::FullBatch;
use super::stochastic::Stochastic;
use crate::error::Result;
use crate::optim::{Optimiser, Snapshot};

/// L-BFGS on fewer rows is not stopped within an iteration: that is quick, and to keep the memory of L-BFGS, some twenty
/// times the parameters, would take a good part of the same time. Sparse rows count as the dense ones that would hold as
/// many numbers.
const LEAST_ROWS_TO_STOP: usize = 2048;

/// How the parameters move.
#[derive(Debug)]
pub(crate) enum Engine<T> {
    Stochastic(Box<Stochastic<T>>),
    FullBatch(Box<FullBatch<T>>),
}

/// Parameters and optimisers of one arm, and how often the full-batch method has switched its term on.
type ArmBefore<T> = (Vec<T>, Vec<Snapshot<T>>, usize);

impl<T: Scalar> Engine<T> {
    /// Current parameters of one arm, in the layout of a network of its own.
    pub fn parameters_of(&self, copy: usize) -> Vec<T> {
        match self {
            Engine::Stochastic(engine) => engine.network.parameters_of(copy),
            Engine::FullBatch(engine) => engine.arms[copy].network.parameters().to_vec(),
        }
    }

    /// The optimisers of one arm, for a checkpoint.
    pub fn snapshots(&self, copy: usize) -> Vec<Snapshot<T>> {
        match self {
            Engine::Stochastic(engine) => engine.optimisers[copy].iter().map(Optimiser::snapshot).collect(),
            Engine::FullBatch(engine) => vec![engine.arms[copy].lbfgs.snapshot()],
        }
    }

    /// How often one arm's term was switched on by the full-batch method, which decides that as it goes.
    pub fn rounds_of(&self, copy: usize) -> usize {
        match self {
            Engine::Stochastic(_) => 0,
            Engine::FullBatch(engine) => engine.arms[copy].rounds,
        }
    }

    /// Continues one arm from a checkpoint.
    pub fn restore(&mut self, copy: usize, parameters: &[T], snapshots: &[Snapshot<T>], rounds: usize) -> Result<()> {
        match self {
            Engine::Stochastic(engine) => {
                engine.network.set_parameters_of(copy, parameters)?;
                let optimisers = &mut engine.optimisers[copy];
                check_length("optimisers of an arm", optimisers.len(), snapshots.len())?;
                optimisers.iter_mut().zip(snapshots).try_for_each(|(optimiser, saved)| optimiser.restore(saved))
            }
            Engine::FullBatch(engine) => {
                check_length("optimisers of an arm", 1, snapshots.len())?;
                let arm = &mut engine.arms[copy];
                arm.network.set_parameters_of(0, parameters)?;
                arm.rounds = rounds;
                arm.lbfgs.restore(&snapshots[0])
            }
        }
    }
    /// The state of all arms, to come back to if the next epoch on these rows is stopped; nothing where it is not to be
    /// stopped.
    pub fn before_epoch(&self, x: Rows<'_, T>) -> Option<Vec<ArmBefore<T>>> {
        let rows = x.values().len() / x.columns();
        let arms = match self {
            Engine::Stochastic(engine) => engine.optimisers.len(),
            Engine::FullBatch(engine) if rows >= LEAST_ROWS_TO_STOP => engine.arms.len(),
            Engine::FullBatch(_) => return None,
        };
        Some((0..arms).map(|copy| (self.parameters_of(copy), self.snapshots(copy), self.rounds_of(copy))).collect())
    }

    /// Back to where [`Engine::before_epoch`] was asked.
    pub fn come_back(&mut self, before: &[ArmBefore<T>]) -> Result<()> {
        let mut arms = before.iter().enumerate();
        arms.try_for_each(|(copy, (parameters, snapshots, rounds))| self.restore(copy, parameters, snapshots, *rounds))
    }
}
