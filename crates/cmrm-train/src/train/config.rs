//! The parameters of a training that all its arms share.

use cmrm::error::check_parameter;
use serde::{Deserialize, Serialize};

use crate::checked::Checked;
use crate::error::Result;
use crate::model::ModelConfig;
use crate::optim::{Clip, LbfgsConfig, OptimiserConfig};
use crate::schedule::{Schedule, ScheduleConfig};

/// How the parameters move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Batches in a new random order each epoch.
    Stochastic {
        /// The optimiser.
        optimiser: OptimiserConfig,
        /// Base learning rate.
        learning_rate: f64,
        /// How the rate changes.
        schedule: ScheduleConfig,
        /// Rows in a batch; `None` takes all rows at once, in their own order.
        batch_rows: Option<usize>,
    },
    /// All rows at once by L-BFGS; an epoch is one iteration, the threshold is that of the whole set.
    FullBatch(LbfgsConfig),
}

impl Default for Method {
    fn default() -> Self {
        Method::FullBatch(LbfgsConfig::default())
    }
}

/// Weights of the classes in the base loss and in the risk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeights {
    /// All one.
    #[default]
    Equal,
    /// Rows over (classes · rows of the class), of the observed training labels.
    Balanced,
    /// One number a class.
    Given(Vec<f64>),
}

/// Which epoch's parameters are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// The last.
    #[default]
    Last,
    /// The one with the best accuracy on the observed (noisy) labels of the validation rows; ties go to the later epoch,
    /// which the envelope has acted on for longer.
    /// Only epochs in which the term of every arm is on can be chosen, for the base arm as for the others: before that the
    /// arms are one model, and a choice made there would compare it with itself. Training ends when the best of these
    /// epochs has not improved for `patience` more (0: never ends early). A term whose start lies behind the last epoch
    /// is not waited for, nor is an onset ([`Start::Onset`](cmrm::envelope::Start)): until it comes every epoch can be chosen, and
    /// when it comes its arm chooses anew.
    Best {
        /// Epochs without improvement.
        patience: usize,
    },
}

/// Everything the arms of a training share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// The model.
    pub model: ModelConfig,
    /// How the parameters move.
    pub method: Method,
    /// Passes over the rows (iterations, for the full-batch method).
    pub epochs: usize,
    /// Factor λ₂ of `½ λ₂ ‖W‖²` in the total; biases are free. `1/C` of a linear probe.
    pub l2: f64,
    /// Keeps gradients in bounds.
    pub clip: Option<Clip>,
    /// Weights of the classes.
    pub class_weights: ClassWeights,
    /// Which epoch is kept.
    pub selection: Selection,
    /// Seed of weights, order and dropout.
    pub seed: u64,
    /// Whether every epoch's margin of every row is kept (rows × epochs numbers).
    pub keep_history: bool,
}

impl Default for TrainConfig {
    /// A linear model, brought to the optimum by L-BFGS. The penalty keeps wrong labels from being learned by heart.
    fn default() -> Self {
        TrainConfig {
            model: ModelConfig::default(),
            method: Method::default(),
            epochs: 1000,
            l2: 0.01,
            clip: None,
            class_weights: ClassWeights::default(),
            selection: Selection::default(),
            seed: 0,
            keep_history: false,
        }
    }
}

/// A checked [`TrainConfig`], its parts in the form from which a [`Trainer`](super::Trainer) is built.
#[derive(Debug, Clone)]
pub struct CheckedTraining {
    pub(super) config: TrainConfig,
    pub(super) model: Checked<ModelConfig>,
    pub(super) method: CheckedMethod,
}

/// The checked form of a [`Method`].
#[derive(Debug, Clone)]
pub(super) enum CheckedMethod {
    Stochastic { optimiser: Checked<OptimiserConfig>, schedule: Schedule, batch_rows: Option<usize> },
    FullBatch(Checked<LbfgsConfig>),
}

impl TrainConfig {
    /// The checked form; refuses settings that cannot work.
    pub fn validate(&self) -> Result<CheckedTraining> {
        let model = self.model.validate()?;
        check_parameter("epochs", self.epochs as f64, self.epochs >= 1, "at least one epoch")?;
        check_parameter("l2", self.l2, self.l2 >= 0.0 && self.l2.is_finite(), "a finite number, at least 0")?;
        if let Some(clip) = &self.clip {
            clip.check()?;
        }
        let method = match &self.method {
            Method::Stochastic { optimiser, learning_rate, schedule, batch_rows } => {
                let optimiser = optimiser.validate()?;
                let schedule = schedule.validate(*learning_rate)?;
                if let Some(rows) = batch_rows {
                    check_parameter("batch rows", *rows as f64, *rows >= 1, "at least one row")?;
                }
                CheckedMethod::Stochastic { optimiser, schedule, batch_rows: *batch_rows }
            }
            Method::FullBatch(config) => {
                let config = config.validate()?;
                let none = self.model.dropout == 0.0;
                check_parameter("dropout", self.model.dropout, none, "0 with L-BFGS, which needs a fixed objective")?;
                // Epochs are the limit of iterations here.
                let config = LbfgsConfig { max_iterations: self.epochs as u64, ..*config };
                CheckedMethod::FullBatch(config.validate()?)
            }
        };
        Ok(CheckedTraining { config: self.clone(), model, method })
    }
}
