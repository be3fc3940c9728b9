//! The figures of one epoch: what a training reports, and the sums that an engine leaves for it.

use serde::{Deserialize, Serialize};

use super::evaluate::ArmOutcome;

/// One arm's figures of one epoch. Losses are means over the rows as training met them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochStats {
    /// Name of the arm.
    pub arm: String,
    /// Epoch, from zero.
    pub epoch: usize,
    /// Whether the envelope was on.
    pub envelope_on: bool,
    /// Mean base loss.
    pub base: f64,
    /// Mean risk of the envelope.
    pub risk: f64,
    /// Mean total.
    pub total: f64,
    /// Threshold of the last batch.
    pub tau: Option<f64>,
    /// `τ⁺` of the last batch, for the binary envelope.
    pub tau_plus: Option<f64>,
    /// `τ⁻` of the last batch, for the binary envelope.
    pub tau_minus: Option<f64>,
    /// Share of the rows with a weight below one half.
    pub filtered: f64,
    /// Share of those rows whose label is known to be wrong; `None` where that is not known or no row is filtered.
    #[serde(default)]
    pub wrong_among_filtered: Option<f64>,
    /// Learning rate of the last batch; 0 for the full-batch method.
    pub learning_rate: f64,
    /// Accuracy on the observed labels of the training rows, as training met them; a batch is met before its step.
    #[serde(default)]
    pub training_accuracy: Option<f64>,
    /// Accuracy on the observed labels of the validation rows.
    pub validation_accuracy: Option<f64>,
    /// Mean base loss on them.
    pub validation_loss: Option<f64>,
}

/// Sums of one epoch of one arm.
#[derive(Debug, Clone, Default)]
pub(crate) struct EpochSums {
    pub rows: f64,
    pub base: f64,
    pub risk: f64,
    pub total: f64,
    pub filtered: f64,
    pub learning_rate: f64,
    pub last: ArmOutcome,
}

/// What an engine leaves of one epoch: the sums of every arm, and where in the epoch's order each row stood (`None`: in
/// the order of the rows).
pub(crate) struct EpochRun {
    pub sums: Vec<EpochSums>,
    pub places: Option<Vec<u32>>,
}
