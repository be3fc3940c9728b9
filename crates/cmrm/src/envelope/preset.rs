//! The named settings of the envelope: `paper`, `authors` and `robust`.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::config::{EnvelopeConfig, Fade, Filter, MarginKind, Normaliser, QuantileKind, Scale, Scope, Start};
use crate::loss::LossConfig;

/// Settings with a name. `paper` is the text of the article, `authors` what its published code does, `robust` ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Bounded margins, conformal quantile, from the first step.
    Paper,
    /// Logit margins, interpolated quantile, divided by the weights, for the last quarter of the epochs.
    Authors,
    /// A sharper filter, class by class, that acts on the base loss too, by margins averaged over the epochs; beside it the
    /// paper's bounded risk, limited by the base loss's own gradient. Both act as far as labels are in doubt. Measured in
    /// `research/study.md`.
    Robust,
}

impl Preset {
    /// All presets, in the order they are documented.
    pub const ALL: [Preset; 3] = [Preset::Paper, Preset::Authors, Preset::Robust];

    /// Name in configuration files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Paper => "paper",
            Preset::Authors => "authors",
            Preset::Robust => "robust",
        }
    }

    /// The preset's settings for a base loss.
    ///
    /// λ and α of `paper` and `authors` are the values the paper chose on CIFAR-100 for that loss (cross-entropy's
    /// where it names none). The authors measure LDAM by its row loss and start it at half of the epochs. `robust` adds no risk
    /// to losses that hold back from unlikely labels by themselves (GCE, SCE, ELR): there the filter is enough, and more
    /// of the same costs accuracy.
    pub fn config(self, loss: &LossConfig) -> EnvelopeConfig {
        let (lambda, alpha) = match loss {
            LossConfig::Focal { .. } => (0.15, 0.1),
            LossConfig::Gce { .. } => (0.005, 0.05),
            _ => (0.1, 0.15),
        };
        let holds_back = matches!(loss, LossConfig::Gce { .. } | LossConfig::Sce { .. } | LossConfig::Elr { .. });
        let is_ldam = matches!(loss, LossConfig::Ldam { .. });
        let paper = EnvelopeConfig {
            lambda,
            alpha,
            temperature: 1.0,
            margin: MarginKind::Probability,
            quantile: QuantileKind::Conformal,
            normaliser: Normaliser::Mean,
            start: Start::Fraction(0.0),
            fresh_optimiser: false,
            filter: Filter::Soft,
            scope: Scope::Batch,
            ceiling: None,
            scale: Scale::Fixed,
            filter_base: false,
            running: None,
            limit: None,
            fade: None,
        };
        match self {
            Preset::Paper => paper,
            Preset::Authors => EnvelopeConfig {
                margin: if is_ldam { MarginKind::Loss } else { MarginKind::Logit },
                quantile: QuantileKind::Interpolated,
                normaliser: Normaliser::Weights,
                start: Start::Fraction(if is_ldam { 0.5 } else { 0.75 }),
                fresh_optimiser: true,
                ..paper
            },
            Preset::Robust => EnvelopeConfig {
                lambda: if holds_back { 0.0 } else { 10.0 },
                alpha: 0.5,
                temperature: 0.2,
                start: Start::Fraction(0.1),
                scope: Scope::Class,
                ceiling: Some(0.0),
                scale: Scale::Doubt,
                filter_base: true,
                running: Some(0.7),
                limit: Some(1.0),
                fade: Some(Fade { margin: -0.3, share: 0.2 }),
                ..paper
            },
        }
    }
}

/// An envelope by a preset and what differs from it, as files and flags name it. Absent fields keep the preset's values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PresetOverrides {
    /// The preset.
    pub preset: Preset,
    /// λ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// α.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How the threshold turns margins into weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Whose margins the threshold is a quantile of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The threshold is never above this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<f64>,
    /// What the risk is multiplied by, besides λ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Whether the filter acts on the base loss too.
    #[serde(default, alias = "filter_base", skip_serializing_if = "Option::is_none")]
    pub filter_base: Option<bool>,
    /// β of the running margins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<f64>,
    /// ρ: the most that the risk's gradient may be of the base loss's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// How the envelope withdraws where few labels are in doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fade: Option<Fade>,
    /// When it is switched on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// Whether the optimiser forgets what it has gathered until then.
    #[serde(default, alias = "fresh_optimiser", skip_serializing_if = "Option::is_none")]
    pub fresh_optimiser: Option<bool>,
}

impl PresetOverrides {
    /// The preset as it is.
    pub fn none(preset: Preset) -> Self {
        PresetOverrides {
            preset,
            lambda: None,
            alpha: None,
            temperature: None,
            filter: None,
            scope: None,
            ceiling: None,
            scale: None,
            filter_base: None,
            running: None,
            limit: None,
            fade: None,
            start: None,
            fresh_optimiser: None,
        }
    }

    /// The settings for a base loss.
    pub fn config(&self, loss: &LossConfig) -> EnvelopeConfig {
        let own = self.preset.config(loss);
        EnvelopeConfig {
            lambda: self.lambda.unwrap_or(own.lambda),
            alpha: self.alpha.unwrap_or(own.alpha),
            temperature: self.temperature.unwrap_or(own.temperature),
            filter: self.filter.unwrap_or(own.filter),
            scope: self.scope.unwrap_or(own.scope),
            ceiling: self.ceiling.or(own.ceiling),
            scale: self.scale.unwrap_or(own.scale),
            filter_base: self.filter_base.unwrap_or(own.filter_base),
            running: self.running.or(own.running),
            limit: self.limit.or(own.limit),
            fade: self.fade.or(own.fade),
            start: self.start.unwrap_or(own.start),
            fresh_optimiser: self.fresh_optimiser.unwrap_or(own.fresh_optimiser),
            ..own
        }
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Preset::ALL
            .into_iter()
            .find(|preset| preset.name() == text)
            .ok_or_else(|| format!("unknown preset '{text}': expected paper, authors or robust"))
    }
}
