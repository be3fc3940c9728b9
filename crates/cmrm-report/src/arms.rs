//! What a report says of each arm.

use serde::{Deserialize, Serialize};

use crate::data::Estimate;

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Whether it is the base arm.
    pub is_base: bool,
    /// The epoch whose model is kept, from zero; nothing where there were no epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<usize>,
    /// Metrics by name.
    pub metrics: Vec<(String, Estimate)>,
    /// What they are for the true classes by estimate, where the labels judged by may be wrong and their noise was estimated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrected_metrics: Vec<(String, Estimate)>,
    /// Prediction sets calibrated on observed labels, where there were rows to calibrate and to judge.
    pub sets: Option<Sets>,
    /// Prediction sets corrected for the noise in the labels, where that was estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_sets: Option<Sets>,
    /// How wrong it is about the rows that it is surest of, where there were rows to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_coverage: Option<RiskCoverage>,
}

/// Error rates among the rows that an arm is surest of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskCoverage {
    /// Shares of the judged rows, ascending to 1, each with the error rate among the surest rows that make it up.
    pub points: Vec<(f64, f64)>,
    /// The area under the whole curve.
    pub area: Estimate,
    /// Whether the errors are those of the true classes by estimate, as in [`Arm::corrected_metrics`].
    pub corrected: bool,
}

/// What one learner of a vote is worth, by the observed labels of rows that it had not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// How much it counts in the vote, from 0 to 1.
    pub share: f64,
    /// Its accuracy.
    pub accuracy: f64,
    /// Its Brier score.
    pub brier: f64,
}

/// How good prediction sets are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sets {
    /// The coverage asked for.
    pub wanted: f64,
    /// Share of the judged rows whose label is in their set.
    pub coverage: Estimate,
    /// Mean number of classes in a set.
    pub size: Estimate,
}
