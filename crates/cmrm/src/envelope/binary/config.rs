//! The parameters of the binary envelope, and their checked form.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_parameter};

/// What happens to a suspicious row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// `R = −T/…`: it may drift away from its observed label (the paper).
    Relax,
    /// `R = +T/…`: it is pulled back to its observed label (the authors' code).
    Penalise,
}

/// What the tails are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TailNormaliser {
    /// Both sides by the number of rows (the paper).
    Mean,
    /// Each side by the number of rows in its own tail (the authors' code). A tail is the rows strictly beyond the
    /// threshold: a row on the threshold adds nothing to the sum and is not counted either.
    Tail,
    /// Each side by the number of rows at or beyond its threshold, as the authors' code counts to the letter. It differs
    /// from [`TailNormaliser::Tail`] where many rows share the threshold's score, as after units have died.
    TailWithTies,
}

/// How the thresholds are picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdKind {
    /// By counting, with ties (the paper).
    Conformal,
    /// By index into the sorted scores, `⌊n1·α⁺⌋` and `⌊n0·(1−α⁻)⌋` (the authors' code).
    Indexed,
}

/// The binary envelope as written in a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryConfig {
    /// Weight of the tail of rows labelled 1.
    pub lambda_plus: f64,
    /// Weight of the tail of rows labelled 0.
    pub lambda_minus: f64,
    /// Share of the rows labelled 1 in their tail.
    pub alpha_plus: f64,
    /// Share of the rows labelled 0 in their tail.
    pub alpha_minus: f64,
    /// Relax or penalise.
    pub direction: Direction,
    /// What the tails are divided by.
    pub normaliser: TailNormaliser,
    /// How the thresholds are picked.
    pub thresholds: ThresholdKind,
}

impl BinaryConfig {
    /// The paper's form.
    pub fn paper(lambda_plus: f64, lambda_minus: f64, alpha_plus: f64, alpha_minus: f64) -> Self {
        BinaryConfig {
            lambda_plus,
            lambda_minus,
            alpha_plus,
            alpha_minus,
            direction: Direction::Relax,
            normaliser: TailNormaliser::Mean,
            thresholds: ThresholdKind::Conformal,
        }
    }

    /// The form of the authors' code.
    pub fn authors(lambda_plus: f64, lambda_minus: f64, alpha_plus: f64, alpha_minus: f64) -> Self {
        BinaryConfig {
            direction: Direction::Penalise,
            normaliser: TailNormaliser::Tail,
            thresholds: ThresholdKind::Indexed,
            ..BinaryConfig::paper(lambda_plus, lambda_minus, alpha_plus, alpha_minus)
        }
    }

    /// Checks every parameter once.
    pub fn validate(self) -> Result<BinaryEnvelope> {
        for (name, value) in [("lambda_plus", self.lambda_plus), ("lambda_minus", self.lambda_minus)] {
            check_parameter(name, value, value >= 0.0 && value.is_finite(), "a finite number, at least 0")?;
        }
        for (name, value) in [("alpha_plus", self.alpha_plus), ("alpha_minus", self.alpha_minus)] {
            check_parameter(name, value, value > 0.0 && value < 1.0, "a number strictly inside (0, 1)")?;
        }
        Ok(BinaryEnvelope { config: self })
    }
}

/// A checked binary envelope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BinaryEnvelope {
    config: BinaryConfig,
}

impl BinaryEnvelope {
    /// The settings it was made from.
    pub fn config(&self) -> &BinaryConfig {
        &self.config
    }
}
