//! What a user may choose about prediction sets, checked once.

use serde::{Deserialize, Serialize};

use super::calibrate::Conformal;
use crate::error::{Result, check_parameter};

/// Which score ranks the classes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreKind {
    /// One minus the probability of the class ([`super::lac`]); the paper's choice.
    #[default]
    Lac,
    /// Cumulated probability ([`super::aps`]).
    Aps,
    /// Cumulated probability, randomised at the boundary ([`super::aps_randomised`]).
    ApsRandomised,
    /// Cumulated probability with a penalty on late ranks ([`super::raps`]).
    Raps,
}

/// Whether all classes share one threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdKind {
    /// One threshold: the coverage holds on average over all rows.
    #[default]
    Marginal,
    /// One threshold a class (Mondrian): the coverage holds within each class. A class with too few calibration rows
    /// gets an infinite threshold, so it is in every set.
    PerClass,
}

/// What becomes of a set that no class entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptySets {
    /// It stays empty and counts as size 0, as in the paper.
    #[default]
    Allowed,
    /// The most likely class (the lowest index on ties) fills it; coverage can only rise.
    TopClass,
}

/// Choices for prediction sets; [`ConformalConfig::validate`] turns them into a [`Conformal`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConformalConfig {
    /// Share of rows whose set is to hold the true class, in (0, 1).
    pub coverage: f64,
    /// The score.
    pub score: ScoreKind,
    /// One threshold, or one a class.
    pub thresholds: ThresholdKind,
    /// Whether sets may be empty.
    pub empty_sets: EmptySets,
    /// RAPS: what each rank past `raps_free_ranks` adds to the score; at least 0.
    pub raps_penalty: f64,
    /// RAPS: how many ranks are free of the penalty (k_reg).
    pub raps_free_ranks: usize,
}

impl Default for ConformalConfig {
    fn default() -> Self {
        ConformalConfig {
            coverage: 0.9,
            score: ScoreKind::Lac,
            thresholds: ThresholdKind::Marginal,
            empty_sets: EmptySets::Allowed,
            raps_penalty: 0.01,
            raps_free_ranks: 5,
        }
    }
}

impl ConformalConfig {
    /// Checks the ranges.
    pub fn validate(self) -> Result<Conformal> {
        let (coverage, penalty) = (self.coverage, self.raps_penalty);
        check_parameter("coverage", coverage, coverage > 0.0 && coverage < 1.0, "above 0 and below 1")?;
        check_parameter("raps_penalty", penalty, penalty >= 0.0 && penalty.is_finite(), "0 or more, finite")?;
        Ok(Conformal::checked(self))
    }
}
