//! Base losses and the envelope as tensor operations, where the logits already lie on a card.
//!
//! The kernel of truth is `cmrm::envelope::Objective`; a test holds the two within 1e-5. Gradients are libtorch's, so
//! only values are written here. Nothing waits for the card: the whole is captured into a graph.

use cmrm::envelope::{
    CLASS_ROWS, Envelope, EnvelopeConfig, Filter, MarginKind, Normaliser, QuantileKind, Scale, Scope,
};
use cmrm::loss::LossConfig;
use tch::{Device, Kind, Tensor};

use crate::error::{Error, Result};

/// A base loss, ready for a device.
#[derive(Debug)]
pub struct TensorLoss {
    config: LossConfig,
    /// LDAM: `scale · Δ` of every class.
    offsets: Option<Tensor>,
}

/// What one evaluation yields. All but `total` are without gradient.
#[derive(Debug)]
pub struct Evaluated {
    /// `base + λ·risk`.
    pub total: Tensor,
    /// Mean base loss.
    pub base: Tensor,
    /// The risk; zero without an envelope.
    pub risk: Tensor,
    /// Margin of each row as the envelope measures it; of probabilities without one.
    pub margins: Tensor,
    /// Margin of each row in probabilities, for the record.
    pub recorded: Tensor,
    /// Weight of each row; one without an envelope.
    pub weights: Tensor,
    /// The strongest other class of each row.
    pub rivals: Tensor,
}

impl TensorLoss {
    /// Checks the parameters; `class_counts` are the observed counts (only LDAM reads them).
    pub fn new(config: LossConfig, class_counts: &[f64], device: Device) -> Result<Self> {
        config.validate(class_counts)?;
        let offsets = match config {
            LossConfig::Ldam { max_margin, scale } => {
                let roots: Vec<f64> = class_counts.iter().map(|&count| count.max(1.0).powf(-0.25)).collect();
                let largest = roots.iter().copied().fold(0.0, f64::max);
                let offsets: Vec<f32> = roots.iter().map(|root| (scale * max_margin * root / largest) as f32).collect();
                Some(Tensor::from_slice(&offsets).to_device(device))
            }
            LossConfig::CrossEntropy | LossConfig::Focal { .. } | LossConfig::Gce { .. } => None,
            LossConfig::Hinge | LossConfig::Logistic => {
                return Err(Error::settings(format!(
                    "the loss '{}' supports tables of two classes only; use cross-entropy, focal, gce or ldam",
                    config.name()
                )));
            }
        };
        Ok(TensorLoss { config, offsets })
    }

    /// What logits are multiplied by before anything else.
    pub fn scale(&self) -> f64 {
        match self.config {
            LossConfig::Ldam { scale, .. } => scale,
            _ => 1.0,
        }
    }

    /// The loss of each row, from scaled logits and the logarithm of the label's probability.
    fn rows(&self, scaled: &Tensor, labels: &Tensor, log_p_label: &Tensor) -> Tensor {
        match self.config {
            LossConfig::Focal { gamma } => {
                let others = -log_p_label.expm1();
                // A power below one has an infinite slope at zero.
                let focus = if gamma == 1.0 { others } else { others.clamp_min(1e-12).pow_tensor_scalar(gamma) };
                -(focus * log_p_label)
            }
            LossConfig::Gce { q } => (log_p_label * q).expm1() * (-1.0 / q),
            LossConfig::Ldam { .. } => {
                let column = labels.unsqueeze(1);
                let Some(offsets) = &self.offsets else { return -log_p_label };
                let moved = scaled.scatter_add(1, &column, &-offsets.index_select(0, labels).unsqueeze(1));
                -moved.log_softmax(1, Kind::Float).gather(1, &column, false).squeeze_dim(1)
            }
            _ => -log_p_label,
        }
    }

    /// Mean base loss plus, with an envelope, `λ` times its risk; `L` of METHOD 1.
    pub fn evaluate(&self, logits: &Tensor, labels: &Tensor, envelope: Option<&Envelope>) -> Evaluated {
        let scale = self.scale();
        let scaled = if scale == 1.0 { logits.shallow_clone() } else { logits * scale };
        let column = labels.unsqueeze(1);
        let log_probabilities = scaled.log_softmax(1, Kind::Float);
        let log_p_label = log_probabilities.gather(1, &column, false).squeeze_dim(1);
        let rows = self.rows(&scaled, labels, &log_p_label);
        let base = rows.mean(Kind::Float);
        let rivals = scaled.detach().scatter_value(1, &column, f64::NEG_INFINITY).argmax(1, false);
        let gap = |of: &Tensor| {
            let rival = of.gather(1, &rivals.unsqueeze(1), false).squeeze_dim(1);
            of.gather(1, &column, false).squeeze_dim(1) - rival
        };
        let Some(envelope) = envelope else {
            let margins = gap(&log_probabilities.detach().exp());
            let (weights, recorded) = (margins.ones_like(), margins.shallow_clone());
            let risk = base.detach().zeros_like();
            let total = base.shallow_clone();
            return Evaluated { total, base: base.detach(), risk, margins, recorded, weights, rivals };
        };
        let config = envelope.config();
        let margins = match config.margin {
            MarginKind::Probability => gap(&log_probabilities.exp()),
            MarginKind::Logit => gap(&scaled),
            MarginKind::Loss => -rows,
        };
        let weights = weigh(config, &margins, labels);
        let weighted = &weights * &margins;
        let mut risk = -match config.normaliser {
            Normaliser::Mean => weighted.mean(Kind::Float),
            Normaliser::Weights => weighted.sum(Kind::Float) / weights.sum(Kind::Float),
        };
        if config.scale == Scale::Doubt {
            risk *= margins.detach().lt(0.0).mean(Kind::Float);
        }
        let recorded = match config.margin {
            MarginKind::Probability => margins.detach(),
            _ => gap(&log_probabilities.detach().exp()),
        };
        Evaluated {
            total: &base + &risk * config.lambda,
            base: base.detach(),
            risk: risk.detach(),
            margins: margins.detach(),
            recorded,
            weights: weights.detach(),
            rivals,
        }
    }
}

/// The weight of each row; the gradient flows through it where the filter is soft.
fn weigh(config: &EnvelopeConfig, margins: &Tensor, labels: &Tensor) -> Tensor {
    if config.filter == Filter::Off {
        return margins.detach().ones_like();
    }
    let fixed = margins.detach();
    let whole = threshold(&fixed, config.alpha, config.quantile);
    let tau = match config.scope {
        Scope::Batch => whole,
        Scope::Class => class_thresholds(&fixed, labels, config.alpha, config.quantile, &whole),
    };
    let tau = config.ceiling.map_or_else(|| tau.shallow_clone(), |ceiling| tau.clamp_max(ceiling));
    match config.filter {
        Filter::Hard => fixed.ge_tensor(&tau).to_kind(Kind::Float),
        _ => ((margins - tau) * (1.0 / config.temperature)).sigmoid(),
    }
}

/// The batch quantile `τ`, as `cmrm::envelope` defines it; without gradient.
fn threshold(margins: &Tensor, alpha: f64, kind: QuantileKind) -> Tensor {
    let rows = margins.size()[0];
    let (sorted, _) = margins.sort(0, false);
    match kind {
        QuantileKind::Conformal => {
            let k = ((alpha * (rows as f64 + 1.0)).ceil() as i64).clamp(1, rows);
            sorted.narrow(0, k - 1, 1)
        }
        QuantileKind::Interpolated => {
            let position = (alpha * (rows - 1) as f64).clamp(0.0, (rows - 1) as f64);
            let below = position.floor() as i64;
            let low = sorted.narrow(0, below, 1);
            let high = sorted.narrow(0, (below + 1).min(rows - 1), 1);
            let share = position - below as f64;
            (low * (1.0 - share) + &high * share).minimum(&high)
        }
    }
}

/// The threshold of each row from the rows of the same label. Every row sorts its own class: the batch is small.
fn class_thresholds(margins: &Tensor, labels: &Tensor, alpha: f64, kind: QuantileKind, whole: &Tensor) -> Tensor {
    let same = labels.unsqueeze(1).eq_tensor(&labels.unsqueeze(0));
    let others = same.logical_not();
    let (sorted, _) = margins.unsqueeze(0).expand_as(&others).masked_fill(&others, f64::INFINITY).sort(1, false);
    let count = same.sum_dim_intlist([1i64].as_slice(), true, Kind::Double);
    let last = &count - 1.0;
    let at = |position: &Tensor| sorted.gather(1, &position.to_kind(Kind::Int64), false);
    let tau = match kind {
        QuantileKind::Conformal => {
            at(&((&count + 1.0) * alpha).ceil().clamp_min(1.0).minimum(&count).g_sub_scalar(1.0))
        }
        QuantileKind::Interpolated => {
            let position = &last * alpha;
            let below = position.floor();
            let share = (&position - &below).to_kind(Kind::Float);
            let (low, high) = (at(&below), at(&(&below + 1.0).minimum(&last)));
            (&low + share * (&high - &low)).minimum(&high)
        }
    };
    tau.where_self(&count.ge(CLASS_ROWS as f64), &whole.unsqueeze(1)).squeeze_dim(1)
}
