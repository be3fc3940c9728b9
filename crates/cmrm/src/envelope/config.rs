use serde::{Deserialize, Serialize};

use crate::error::{Result, check_parameter};

/// Smallest temperature: one over it is still a number in single precision. Far below, the filter is a step anyway.
const MIN_TEMPERATURE: f64 = 1e-30;

/// What a margin is measured on. Either way it is large when the label is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarginKind {
    /// `M = s[y] − max_{k≠y} s[k]`, in `[−1, 1]` (the paper).
    Probability,
    /// `M = z[y] − max_{k≠y} z[k]` (the authors' code), unbounded.
    Logit,
    /// `M = −ℓ`, the negative row loss: the authors' form for LDAM. The α-quantile of `−ℓ` is minus the
    /// (1−α)-quantile of `ℓ`, so the rest of the formulas stays as it is.
    Loss,
}

/// How the batch quantile is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuantileKind {
    /// The k-th smallest margin, `k = ⌈α(m+1)⌉` clamped to `1..m` (the paper).
    Conformal,
    /// Linear interpolation at position `α(m−1)` (the authors' code).
    Interpolated,
}

/// What the weighted margins are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normaliser {
    /// `R = −(1/m) Σ w M` (the paper).
    Mean,
    /// `R = −Σ w M / Σ w` (the authors' code).
    Weights,
}

/// When training switches the envelope on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// From this epoch on, counted from zero.
    Epoch(usize),
    /// After this fraction of all epochs, rounded down; 0 is from the first step (Algorithm 1).
    Fraction(f64),
}

impl Start {
    /// The first epoch of `epochs` that has the envelope on.
    pub fn first_epoch(&self, epochs: usize) -> usize {
        match *self {
            Start::Epoch(epoch) => epoch,
            Start::Fraction(fraction) => (fraction * epochs as f64).floor() as usize,
        }
    }
}

/// The envelope as written in a configuration file; [`EnvelopeConfig::validate`] gives the form that computes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeConfig {
    /// Weight of the risk in the total.
    pub lambda: f64,
    /// Share of the margins below the threshold.
    pub alpha: f64,
    /// Width of the soft filter.
    pub temperature: f64,
    /// What the margin is measured on.
    pub margin: MarginKind,
    /// How the quantile is taken.
    pub quantile: QuantileKind,
    /// What the risk is divided by.
    pub normaliser: Normaliser,
    /// When training switches it on.
    pub start: Start,
    /// Whether the optimiser's memory is cleared at that moment.
    pub fresh_optimiser: bool,
}

impl EnvelopeConfig {
    /// Checks every parameter once, so that nothing downstream has to.
    pub fn validate(self) -> Result<Envelope> {
        check_parameter(
            "lambda",
            self.lambda,
            self.lambda >= 0.0 && self.lambda.is_finite(),
            "a finite number, at least 0",
        )?;
        check_parameter("alpha", self.alpha, self.alpha > 0.0 && self.alpha < 1.0, "a number strictly inside (0, 1)")?;
        check_parameter(
            "temperature",
            self.temperature,
            self.temperature >= MIN_TEMPERATURE && self.temperature.is_finite(),
            "a finite number, at least 1e-30",
        )?;
        if let Start::Fraction(fraction) = self.start {
            check_parameter("start fraction", fraction, (0.0..=1.0).contains(&fraction), "a number in [0, 1]")?;
        }
        Ok(Envelope { config: self })
    }
}

/// A checked envelope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Envelope {
    config: EnvelopeConfig,
}

impl Envelope {
    /// The settings it was made from.
    pub fn config(&self) -> &EnvelopeConfig {
        &self.config
    }
}
