//! Base losses and the envelope as tensor operations, where the logits already lie on a card.
//!
//! The kernel of truth is `cmrm::envelope::Objective`; a test holds the two within 1e-5. Gradients are libtorch's, so
//! only values are written here. Nothing waits for the card: the whole is captured into a graph.

mod filter;
mod loss;

pub use loss::TensorLoss;

use cmrm::envelope::{Envelope, EnvelopeConfig, MarginKind, Normaliser, Scale};
use tch::{Kind, Tensor};

use crate::error::Result;
use filter::{weigh, withdrawn};

/// What one evaluation yields, without a graph behind it.
#[derive(Debug)]
pub struct Evaluated {
    /// Gradient of the total by the logits.
    pub gradient: Tensor,
    /// `base + λ·risk`, with the λ that the fade and the limit leave.
    pub total: Tensor,
    /// Mean base loss, by the filter's weights where the filter acts on it.
    pub base: Tensor,
    /// The risk; zero without an envelope.
    pub risk: Tensor,
    /// Margin of each row as the envelope measures it; of probabilities without one.
    pub margins: Tensor,
    /// Margin of each row in probabilities, for the record.
    pub recorded: Tensor,
    /// Weight of each row: in the base loss if the filter acts on it, else in the risk; one without an envelope.
    pub weights: Tensor,
    /// The strongest other class of each row.
    pub rivals: Tensor,
}

impl TensorLoss {
    /// Mean base loss plus, with an envelope, `λ` times its risk; `L` of METHOD 1, with the forms of METHOD 8.
    ///
    /// `remember` is told the margins of the rows and answers with their running margins. Where rows have no identity, these are
    /// the margins themselves: `Tensor::shallow_clone`.
    pub fn evaluate(
        &self,
        logits: &Tensor,
        labels: &Tensor,
        envelope: Option<&Envelope>,
        remember: &dyn Fn(&Tensor) -> Tensor,
    ) -> Result<Evaluated> {
        // The gradient ends here: what base loss and risk ask of the logits is weighed up before it goes on.
        let logits = logits.detach().set_requires_grad(true);
        let scale = self.scale();
        let scaled = if scale == 1.0 { logits.shallow_clone() } else { &logits * scale };
        let column = labels.unsqueeze(1);
        let log_probabilities = scaled.log_softmax(1, Kind::Float);
        let rows = self.rows(&scaled, labels, &log_probabilities);
        let rivals = scaled.detach().scatter_value(1, &column, f64::NEG_INFINITY).argmax(1, false);
        let gap = |of: &Tensor| {
            let rival = of.gather(1, &rivals.unsqueeze(1), false).squeeze_dim(1);
            of.gather(1, &column, false).squeeze_dim(1) - rival
        };
        let bounded = gap(&log_probabilities.exp());
        let recorded = bounded.detach();
        let running = remember(&recorded);
        let Some(envelope) = envelope else {
            let base = rows.mean(Kind::Float);
            let gradient = gradient(&base, &logits, false)?;
            let (base, weights, margins) = (base.detach(), recorded.ones_like(), recorded.shallow_clone());
            let (total, risk) = (base.shallow_clone(), base.zeros_like());
            return Ok(Evaluated { gradient, total, base, risk, margins, recorded, weights, rivals });
        };
        let config = envelope.config();
        let margins = match config.margin {
            MarginKind::Probability => bounded,
            MarginKind::Logit => gap(&scaled),
            MarginKind::Loss => -&rows,
        };
        let weights = weigh(config, &margins, labels);
        let withdrawn = config.fade.map(|fade| withdrawn(&fade, &running));
        let base_weights = config.filter_base.then(|| {
            // Without running margins these are the weights that the risk has already found.
            let weights = if config.running.is_some() { weigh(config, &running, labels) } else { weights.detach() };
            match &withdrawn {
                // Exactly one where nothing is in doubt.
                Some(f) => f + (1.0 - f) * weights,
                None => weights,
            }
        });
        let base = match &base_weights {
            // At least one half: the largest margin is at or above its threshold.
            Some(weights) => (weights / weights.sum(Kind::Float) * &rows).sum(Kind::Float),
            None => rows.mean(Kind::Float),
        };
        let risk = risk(config, &margins, &weights);
        let lambda = Lambda { most: config.lambda, withdrawn, limit: config.limit };
        let (total, gradient) = lambda.combine(&base, &risk, &logits)?;
        Ok(Evaluated {
            gradient,
            total,
            base: base.detach(),
            risk: risk.detach(),
            margins: margins.detach(),
            recorded,
            weights: base_weights.unwrap_or_else(|| weights.detach()),
            rivals,
        })
    }
}

/// `R`, with a gradient through margins and weights.
fn risk(config: &EnvelopeConfig, margins: &Tensor, weights: &Tensor) -> Tensor {
    let weighted = weights * margins;
    let risk = -match config.normaliser {
        Normaliser::Mean => weighted.mean(Kind::Float),
        Normaliser::Weights => weighted.sum(Kind::Float) / weights.sum(Kind::Float),
    };
    match config.scale {
        Scale::Fixed => risk,
        Scale::Doubt => risk * margins.detach().lt(0.0).mean(Kind::Float),
    }
}

/// The weight of the risk, before the batch has its say.
struct Lambda {
    most: f64,
    withdrawn: Option<Tensor>,
    limit: Option<f64>,
}

impl Lambda {
    /// `B + λ R` and its gradient by the logits. λ is a constant, whatever it was computed from.
    fn combine(&self, base: &Tensor, risk: &Tensor, logits: &Tensor) -> Result<(Tensor, Tensor)> {
        if self.most == 0.0 {
            return Ok((base.detach(), gradient(base, logits, false)?));
        }
        let faded = self.withdrawn.as_ref().map(|f| (1.0 - f) * self.most);
        let Some(limit) = self.limit else {
            let total = match &faded {
                Some(lambda) => base + risk * lambda,
                None => base + risk * self.most,
            };
            return Ok((total.detach(), gradient(&total, logits, false)?));
        };
        let (of_base, of_risk) = (gradient(base, logits, true)?, gradient(risk, logits, false)?);
        let size = |gradient: &Tensor| gradient.abs().sum(Kind::Float);
        let risk_size = size(&of_risk);
        // A risk without a gradient has nothing to limit.
        let most = (size(&of_base) * limit / &risk_size).masked_fill(&risk_size.eq(0.0), f64::INFINITY);
        let lambda = match &faded {
            Some(faded) => most.minimum(faded),
            None => most.clamp_max(self.most),
        };
        Ok((base.detach() + risk.detach() * &lambda, of_base + of_risk * lambda))
    }
}

/// The gradient of a number by the logits. `again`: whether another one is asked for, of the same graph.
fn gradient(of: &Tensor, logits: &Tensor, again: bool) -> Result<Tensor> {
    Ok(Tensor::f_run_backward(&[of], &[logits], again, false)?.remove(0))
}
