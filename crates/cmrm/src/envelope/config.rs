//! The parameters of the envelope, and their checked form.

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

/// How the threshold turns margins into weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// `w = σ((M − τ)/temp)`, with a gradient through `w` (the paper).
    #[default]
    Soft,
    /// `w = 1` where `M ≥ τ`, else 0; a step has no gradient. The temperature is not read.
    Hard,
    /// `w = 1`: the margin term without its quantile, to see what the quantile is worth. α is not read.
    Off,
}

/// Whose margins a threshold is the quantile of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All rows of the batch (the paper).
    #[default]
    Batch,
    /// The rows of the batch with the same observed label, so that no class is filtered out as a whole. A class with fewer
    /// than eight rows in the batch has no quantile worth the name and takes the batch's.
    Class,
}

/// What the risk is multiplied by, besides λ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Nothing (the paper).
    #[default]
    Fixed,
    /// The share of the batch's rows in doubt: those with a negative margin, whose label the model does not predict.
    /// Where labels are clean and learned there are none and the envelope fades; the more are wrong, the more it
    /// counts. No gradient flows through the share.
    Doubt,
}

/// How the envelope withdraws where few labels are in doubt, so that clean labels are learned as by the base loss alone.
///
/// With `f = max(0, 1 − d/share)`, where `d` is the share of the batch's rows (by weight) whose margin lies below `margin`,
/// the weights of the base loss become `f + (1−f) ŵ` and λ becomes `(1−f) λ`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fade {
    /// A row counts as doubtful below this margin.
    pub margin: f64,
    /// The share of doubtful rows from which on the envelope acts in full.
    pub share: f64,
}

/// When training switches the envelope on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// From this epoch on, counted from zero.
    Epoch(usize),
    /// After this fraction of all epochs, rounded down; 0 is from the first step (Algorithm 1).
    Fraction(f64),
    /// At the onset of learning by heart: as soon as the accuracy on the observed labels of the training rows has been this
    /// much above that of held-back rows for two epochs. Before, rows that are not learned *yet* look like wrong ones;
    /// later, wrong labels have been learned. Without held-back rows it is [`Start::Fraction`] of a tenth.
    Onset(f64),
}

impl Start {
    /// The first epoch of `epochs` that has the envelope on, where no rows are held back to tell.
    pub fn first_epoch(&self, epochs: usize) -> usize {
        match *self {
            Start::Epoch(epoch) => epoch,
            Start::Fraction(fraction) => (fraction * epochs as f64).floor() as usize,
            Start::Onset(_) => Start::Fraction(0.1).first_epoch(epochs),
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
    /// How the threshold turns margins into weights.
    #[serde(default)]
    pub filter: Filter,
    /// Whose margins the threshold is a quantile of.
    #[serde(default)]
    pub scope: Scope,
    /// The threshold is never above this. At 0 a row is in doubt only if its label is not the predicted one, whatever α:
    /// α becomes the largest share to doubt, and the margins say how much of it is used.
    #[serde(default)]
    pub ceiling: Option<f64>,
    /// What the risk is multiplied by, besides λ.
    #[serde(default)]
    pub scale: Scale,
    /// Whether the filter acts on the base loss too: `B = Σ ŵ ℓ / Σ ŵ` with `ŵ = σ((M̄ − τ)/temp)`, without gradient. An added
    /// term alone leaves the base loss free to learn wrong labels by heart.
    #[serde(default)]
    pub filter_base: bool,
    /// β of the running margin `M̄ ← β M̄ + (1−β) M` that the filter on the base loss reads, kept per row over the epochs.
    /// Without it, or where rows have no identity ([`Batch::with_identities`](super::Batch::with_identities)), `M̄ = M`.
    #[serde(default)]
    pub running: Option<f64>,
    /// ρ: λ is lowered until the risk's gradient by the logits is at most ρ times the base loss's, in the sum of absolute
    /// values over the batch. The added term can then never outvote the loss it wraps.
    #[serde(default)]
    pub limit: Option<f64>,
    /// How the envelope withdraws where few labels are in doubt.
    #[serde(default)]
    pub fade: Option<Fade>,
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
        match self.start {
            Start::Epoch(_) => {}
            Start::Fraction(share) => {
                check_parameter("start fraction", share, (0.0..=1.0).contains(&share), "a number in [0, 1]")?;
            }
            Start::Onset(gap) => check_parameter("start onset", gap, gap > 0.0 && gap < 1.0, "a number in (0, 1)")?,
        }
        if let Some(ceiling) = self.ceiling {
            check_parameter("ceiling", ceiling, ceiling.is_finite(), "a finite number")?;
        }
        // The negative loss is never positive: every row would be in doubt.
        let signed = self.scale == Scale::Fixed || self.margin != MarginKind::Loss;
        check_parameter("lambda", self.lambda, signed, "scale fixed where the margin is the loss, which has no sign")?;
        if let Some(beta) = self.running {
            check_parameter("running", beta, (0.0..1.0).contains(&beta), "a number in [0, 1)")?;
        }
        if let Some(rho) = self.limit {
            check_parameter("limit", rho, rho > 0.0 && rho.is_finite(), "a finite number above 0")?;
        }
        if let Some(Fade { margin, share }) = self.fade {
            check_parameter("fade margin", margin, (-1.0..=1.0).contains(&margin), "a number in [-1, 1]")?;
            check_parameter("fade share", share, share > 0.0 && share <= 1.0, "a number in (0, 1]")?;
        }
        // Doubt is measured in probabilities, and margins of several epochs must be of one kind, with the envelope on or off.
        let bounded = self.margin == MarginKind::Probability;
        let remembers = self.filter_base || self.running.is_some() || self.fade.is_some();
        check_parameter(
            "lambda",
            self.lambda,
            bounded || !remembers,
            "margin probability with filter_base, running or fade",
        )?;
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
