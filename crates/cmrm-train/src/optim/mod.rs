//! Optimisers on flat parameter vectors.
//!
//! [`Sgd`] and [`Adam`] (also as AdamW) take a gradient and a learning rate per step; [`Optimiser`] is the choice between
//! them that a configuration makes. [`lbfgs`] minimises a full-batch objective. A step allocates nothing and makes one
//! pass over the parameters. All of them can be saved between steps as a [`Snapshot`] and continue to the same bits.

pub mod adam;
pub mod clip;
pub mod decay;
pub mod lbfgs;
pub mod line_search;
pub mod sgd;
pub mod snapshot;
pub mod vector;

use cmrm::Scalar;
use serde::{Deserialize, Serialize};

pub use adam::{Adam, AdamConfig, AdamWConfig};
pub use clip::{Clip, clip_norm, clip_value};
pub use decay::DecayMask;
pub use lbfgs::{LbfgsConfig, LbfgsReport, LbfgsState, LbfgsStatus, Preconditioner, minimise};
pub use sgd::{Sgd, SgdConfig};
pub use snapshot::Snapshot;

use crate::checked::Checked;
use crate::error::Result;

/// Which stochastic optimiser, and its settings. The learning rate belongs to the [schedule](crate::schedule).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum OptimiserConfig {
    /// Gradient descent with momentum.
    Sgd(SgdConfig),
    /// Adam, decay coupled to the gradient.
    Adam(AdamConfig),
    /// Adam, decay applied to the parameters.
    AdamW(AdamWConfig),
}

impl OptimiserConfig {
    /// The checked form, from which an [`Optimiser`] is made; refuses settings out of range.
    pub fn validate(&self) -> Result<Checked<Self>> {
        match self {
            OptimiserConfig::Sgd(config) => drop(config.validate()?),
            OptimiserConfig::Adam(config) => drop(config.validate()?),
            OptimiserConfig::AdamW(config) => drop(config.validate()?),
        }
        Ok(Checked::new(*self))
    }
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        OptimiserConfig::Adam(AdamConfig::default())
    }
}

impl Checked<OptimiserConfig> {
    /// The same settings without weight decay, for biases.
    pub fn without_decay(self) -> Self {
        Checked::new(match *self {
            OptimiserConfig::Sgd(config) => OptimiserConfig::Sgd(SgdConfig { weight_decay: 0.0, ..config }),
            OptimiserConfig::Adam(config) => OptimiserConfig::Adam(AdamConfig { weight_decay: 0.0, ..config }),
            OptimiserConfig::AdamW(config) => OptimiserConfig::AdamW(AdamWConfig { weight_decay: 0.0, ..config }),
        })
    }
}

/// A stochastic optimiser with its state.
#[derive(Debug, Clone)]
pub enum Optimiser<T> {
    /// Gradient descent with momentum.
    Sgd(Sgd<T>),
    /// Adam or AdamW.
    Adam(Adam<T>),
}

impl<T: Scalar> Optimiser<T> {
    /// The optimiser that `config` asks for, for the parameters that `mask` describes.
    pub fn new(config: Checked<OptimiserConfig>, mask: DecayMask) -> Self {
        match *config {
            OptimiserConfig::Sgd(config) => Optimiser::Sgd(Sgd::new(Checked::new(config), mask)),
            OptimiserConfig::Adam(config) => Optimiser::Adam(Adam::new(Checked::new(config), mask)),
            OptimiserConfig::AdamW(config) => Optimiser::Adam(Adam::decoupled(Checked::new(config), mask)),
        }
    }

    /// One step with learning rate `lr`. Refused without a change if the lengths are wrong or `lr` is not a finite
    /// number, 0 or above. The gradient is not checked: one that is not finite makes the parameters so.
    pub fn step(&mut self, parameters: &mut [T], gradient: &[T], lr: f64) -> Result<()> {
        match self {
            Optimiser::Sgd(sgd) => sgd.step(parameters, gradient, lr),
            Optimiser::Adam(adam) => adam.step(parameters, gradient, lr),
        }
    }

    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        match self {
            Optimiser::Sgd(sgd) => sgd.steps(),
            Optimiser::Adam(adam) => adam.steps(),
        }
    }

    /// Forgets the past, as a fresh optimiser.
    pub fn reset(&mut self) {
        match self {
            Optimiser::Sgd(sgd) => sgd.reset(),
            Optimiser::Adam(adam) => adam.reset(),
        }
    }

    /// The state, for a checkpoint.
    pub fn snapshot(&self) -> Snapshot<T> {
        match self {
            Optimiser::Sgd(sgd) => sgd.snapshot(),
            Optimiser::Adam(adam) => adam.snapshot(),
        }
    }

    /// Continues from a snapshot. A refused snapshot changes nothing.
    pub fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()> {
        match self {
            Optimiser::Sgd(sgd) => sgd.restore(snapshot),
            Optimiser::Adam(adam) => adam.restore(snapshot),
        }
    }
}
