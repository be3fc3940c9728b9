//! Base losses, row by row.

use cmrm::loss::{LossConfig, Sce};
use tch::{Device, Kind, Tensor};

use super::Memory;
use crate::error::{Error, Result};

/// Probabilities are kept this far from 0 and 1 before they enter a target of ELR.
const TARGET_FLOOR: f64 = 1e-4;

/// A base loss, ready for a device.
#[derive(Debug)]
pub struct TensorLoss {
    config: LossConfig,
    /// LDAM: `scale · Δ` of every class.
    offsets: Option<Tensor>,
}

impl TensorLoss {
    /// Checks the parameters; `class_counts` are the observed counts (only LDAM reads them).
    pub fn new(config: LossConfig, class_counts: &[f64], device: Device) -> Result<Self> {
        let offsets = match config {
            LossConfig::Ldam { max_margin, scale } => {
                let roots: Vec<f64> = class_counts.iter().map(|&count| count.max(1.0).powf(-0.25)).collect();
                let largest = roots.iter().copied().fold(0.0, f64::max);
                let offsets: Vec<f32> = roots.iter().map(|root| (scale * max_margin * root / largest) as f32).collect();
                Some(Tensor::from_slice(&offsets).to_device(device))
            }
            LossConfig::CrossEntropy
            | LossConfig::Focal { .. }
            | LossConfig::Gce { .. }
            | LossConfig::Sce { .. }
            | LossConfig::LabelSmoothing { .. }
            | LossConfig::Elr { .. } => None,
            LossConfig::Hinge | LossConfig::Logistic => {
                return Err(Error::settings(format!(
                    "the loss '{}' supports tables of two classes only; use cross-entropy, focal, gce, sce, label-smoothing, elr or ldam",
                    config.name()
                )));
            }
            LossConfig::Apl { .. }
            | LossConfig::Cores { .. }
            | LossConfig::BootstrapSoft { .. }
            | LossConfig::BootstrapHard { .. }
            | LossConfig::Forward
            | LossConfig::Backward => {
                return Err(Error::settings(format!(
                    "the loss '{}' is not there for images yet; use cross-entropy, focal, gce, sce, label-smoothing, elr or ldam",
                    config.name()
                )));
            }
        };
        config.validate(class_counts)?;
        Ok(TensorLoss { config, offsets })
    }

    /// What logits are multiplied by before anything else.
    pub fn scale(&self) -> f64 {
        match self.config {
            LossConfig::Ldam { scale, .. } => scale,
            _ => 1.0,
        }
    }

    /// The loss of each row, from scaled logits and the logarithms of their probabilities.
    pub(super) fn rows(
        &self,
        scaled: &Tensor,
        labels: &Tensor,
        log_probabilities: &Tensor,
        memory: &dyn Memory,
    ) -> Tensor {
        let log_p_label = &log_probabilities.gather(1, &labels.unsqueeze(1), false).squeeze_dim(1);
        match self.config {
            LossConfig::Focal { gamma } => {
                let others = -log_p_label.expm1();
                // A power below one has an infinite slope at zero.
                let focus = if gamma == 1.0 { others } else { others.clamp_min(1e-12).pow_tensor_scalar(gamma) };
                -(focus * log_p_label)
            }
            LossConfig::Gce { q } => (log_p_label * q).expm1() * (-1.0 / q),
            LossConfig::Sce { alpha, beta } => log_p_label.expm1() * (beta * Sce::LOG_ZERO) - log_p_label * alpha,
            LossConfig::LabelSmoothing { epsilon } => {
                let all = log_probabilities.mean_dim([1i64].as_slice(), false, Kind::Float);
                log_p_label * (epsilon - 1.0) - all * epsilon
            }
            LossConfig::Elr { lambda, .. } => {
                // In double precision, and as what is lacking to one: targets near one would be rounded to it.
                let said = scaled.detach().softmax(1, Kind::Double).clamp(TARGET_FLOOR, 1.0 - TARGET_FLOOR);
                let lacks: Tensor = 1.0 - &said / said.sum_dim_intlist([1i64].as_slice(), true, Kind::Double);
                let lacks = memory.targets(&lacks.to_kind(Kind::Float));
                let apart = (log_probabilities.exp() * lacks).sum_dim_intlist([1i64].as_slice(), false, Kind::Float);
                apart.log() * lambda - log_p_label
            }
            LossConfig::Ldam { .. } => {
                let column = labels.unsqueeze(1);
                let Some(offsets) = &self.offsets else { return -log_p_label };
                let moved = scaled.scatter_add(1, &column, &-offsets.index_select(0, labels).unsqueeze(1));
                -moved.log_softmax(1, Kind::Float).gather(1, &column, false).squeeze_dim(1)
            }
            _ => -log_p_label,
        }
    }
}
