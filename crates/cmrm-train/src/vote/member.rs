//! One copy of a learner.

use cmrm::Rows;

use crate::error::Result;
use crate::kernel::KernelMachine;
use crate::neighbours::Neighbours;
use crate::predict::Model;
use crate::stop::Stop;
use crate::trees::{Boosting, Forest};

/// A trained learner of any kind.
#[derive(Debug, Clone)]
pub enum Member {
    /// A linear model or a network.
    Network(Model<f32>),
    /// A kernel machine.
    Kernel(KernelMachine),
    /// Nearest neighbours.
    Neighbours(Neighbours),
    /// A random forest.
    Forest(Forest),
    /// Gradient boosting.
    Boosting(Boosting),
}

impl Member {
    /// Number of features.
    pub fn inputs(&self) -> usize {
        match self {
            Member::Network(model) => model.network().layout().inputs(),
            Member::Kernel(machine) => machine.inputs(),
            Member::Neighbours(neighbours) => neighbours.inputs(),
            Member::Forest(forest) => forest.columns().width(),
            Member::Boosting(boosting) => boosting.columns().width(),
        }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        match self {
            Member::Network(model) => model.classes(),
            Member::Kernel(machine) => machine.classes(),
            Member::Neighbours(neighbours) => neighbours.classes(),
            Member::Forest(forest) => forest.classes(),
            Member::Boosting(boosting) => boosting.classes(),
        }
    }

    /// Probabilities, `[rows, classes]`.
    pub fn probabilities<'x>(&self, x: impl Into<Rows<'x, f32>>, stop: &Stop) -> Result<Vec<f32>> {
        let x = x.into();
        match self {
            Member::Network(model) => model.probabilities_unless(x, stop),
            Member::Kernel(machine) => machine.probabilities(x, stop),
            Member::Neighbours(neighbours) => neighbours.probabilities(x, stop),
            Member::Forest(forest) => forest.probabilities(x),
            Member::Boosting(boosting) => boosting.probabilities(x),
        }
    }
}
