//! What a user may choose about an audit, checked once.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_parameter};
use crate::noise::Rate;

/// How well a row's label fits its probabilities `p`, in `[0, 1]`; low is suspicious. Names and formulas are cleanlab's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreMethod {
    /// `p[y]`: also finds rows that fit no class well.
    #[default]
    SelfConfidence,
    /// `(p[y] − max_{k≠y} p[k] + 1)/2`: finds rows that another class fits better.
    NormalizedMargin,
    /// `ln(1 + x)/x` with `x = H(p)/(ln K · p[y])`, where `H` is the entropy and `p[y]` is at least 1e-6.
    ///
    /// For `x < 1e-6` cleanlab divides by 1e-6, so that a certain model gives a score near 0 even to the labels it
    /// agrees with. Here such a row gets the limit, 1, if the model agrees, and cleanlab's number if it does not.
    ConfidenceWeightedEntropy,
}

/// Which rows are called label issues. The first seven are cleanlab's and keep its names.
///
/// Unless stated otherwise, a row is no issue if the model predicts its label, or misses it by at most 1e-6.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// For every pair of classes, as many rows of the given class as the estimated joint counts for the pair: those
    /// where the other class leads the given one by most. cleanlab's default, and ours.
    #[default]
    PruneByNoiseRate,
    /// For every given class, as many rows as the estimated joint counts wrong in it: those with the lowest `p[y]`.
    PruneByClass,
    /// Rows that both of the above call issues.
    Both,
    /// Rows that were counted off the diagonal of the confident joint.
    ConfidentLearning,
    /// Rows whose most likely class is not their label.
    PredictedNeqGiven,
    /// As many rows as [`Filter::ConfidentLearning`] finds, those with the lowest margins (even if positive).
    LowNormalizedMargin,
    /// As many rows as [`Filter::ConfidentLearning`] finds, those with the lowest `p[y]` (even if predicted).
    LowSelfConfidence,
    /// Rows whose margin lies below this number, in `[-1, 1]`; 0 asks whether another class is strictly more likely.
    BelowMargin(f64),
    /// This share of the rows, rounded down: those with the lowest scores, whether or not the model disagrees.
    Fraction(f64),
}

/// Choices for [`super::rank`]; [`AuditConfig::validate`] turns them into [`AuditOptions`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// The score that ranks the rows.
    pub score: ScoreMethod,
    /// The rule that calls a row an issue.
    pub filter: Filter,
    /// The pruning filters leave at least this many rows of every class alone.
    pub min_examples_per_class: u32,
    /// The pruning filters take this share of the rows they would take, in `[0, 1]`.
    pub frac_noise: f64,
}

impl Default for AuditConfig {
    fn default() -> Self {
        AuditConfig {
            score: ScoreMethod::default(),
            filter: Filter::default(),
            min_examples_per_class: 1,
            frac_noise: 1.0,
        }
    }
}

impl AuditConfig {
    /// Checks the ranges.
    pub fn validate(self) -> Result<AuditOptions> {
        let share = self.frac_noise;
        check_parameter("frac_noise", share, (0.0..=1.0).contains(&share), "a share between 0 and 1")?;
        match self.filter {
            Filter::BelowMargin(limit) => check_limit(limit)?,
            Filter::Fraction(share) => check_share(share)?,
            _ => {}
        }
        Ok(AuditOptions(self))
    }
}

/// A checked [`AuditConfig`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AuditOptions(AuditConfig);

impl AuditOptions {
    /// The choices.
    pub fn config(&self) -> &AuditConfig {
        &self.0
    }
}

/// Which rows of a training record are called label issues.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarginFilter {
    /// Rows whose margin lies below this number, in `[-1, 1]`.
    BelowMargin(f64),
    /// This share of the rows, rounded down: those with the lowest margins.
    Fraction(f64),
}

impl Default for MarginFilter {
    /// Margins below zero: the model gives another class more probability than the label.
    fn default() -> Self {
        MarginFilter::BelowMargin(0.0)
    }
}

/// Choices for [`super::rank_margins`]; [`MarginConfig::validate`] turns them into [`MarginOptions`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MarginConfig {
    /// The rule that calls a row an issue.
    pub filter: MarginFilter,
}

impl MarginConfig {
    /// Checks the ranges.
    pub fn validate(self) -> Result<MarginOptions> {
        match self.filter {
            MarginFilter::BelowMargin(limit) => check_limit(limit)?,
            MarginFilter::Fraction(share) => check_share(share)?,
        }
        Ok(MarginOptions(self))
    }
}

/// A checked [`MarginConfig`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MarginOptions(MarginConfig);

impl MarginOptions {
    /// The choices.
    pub fn config(&self) -> &MarginConfig {
        &self.0
    }
}

fn check_limit(limit: f64) -> Result<()> {
    check_parameter("below_margin", limit, (-1.0..=1.0).contains(&limit), "a margin between -1 and 1, such as 0")
}

fn check_share(share: f64) -> Result<()> {
    check_parameter("fraction", share, (0.0..=1.0).contains(&share), "a share between 0 and 1, such as 0.1")
}

/// `⌊share·rows⌋` for a checked share.
pub(super) fn rows_of_share(share: f64, rows: usize) -> Result<usize> {
    Ok(Rate::new(share)?.count(rows))
}
