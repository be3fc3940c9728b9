//! One step of training, on tensors that stay where they are, so that it can be captured once and replayed.

use std::sync::Mutex;

use cmrm::envelope::Envelope;
use tch::{Device, Kind, Tensor, no_grad};

use crate::cuda::{Cuda, Graph};
use crate::error::Result;
use crate::network::{Network, Parameters};
use crate::objective::TensorLoss;
use crate::train::RunningMargins;

/// Steps before a capture: libraries choose their kernels and allocate what they need.
const WARM_UP_STEPS: usize = 3;

/// One capture at a time: kernels are timed against each other when they are chosen.
static CAPTURE: Mutex<()> = Mutex::new(());

/// What the optimiser is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optimiser {
    /// Momentum of SGD, without Nesterov.
    pub momentum: f64,
    /// Weight decay, on all parameters.
    pub weight_decay: f64,
}

/// Everything a step reads and writes.
#[derive(Debug)]
pub struct Step {
    /// The network.
    pub network: Network,
    /// Its parameters.
    pub parameters: Parameters,
    /// Momentum's memory.
    pub velocity: Tensor,
    loss: TensorLoss,
    optimiser: Optimiser,
    batch: i64,
    /// Images of the segment, `[rows, height, width, channels]`.
    pub images: Tensor,
    /// Their labels.
    pub labels: Tensor,
    /// Which training rows they are; at first the first ones.
    pub identities: Tensor,
    /// Running margins of the training rows, for every β that this training or a fork of it asks for. Rows have no identity
    /// for a β that is not among them.
    pub running: Vec<RunningMargins>,
    /// What the step saw of each row of the segment.
    pub margins: Tensor,
    /// Weights, likewise.
    pub weights: Tensor,
    /// Rivals, likewise.
    pub rivals: Tensor,
    /// Sums of base loss, risk and total over steps.
    pub sums: Tensor,
    position: Tensor,
    within_batch: Tensor,
    minus_rate: Tensor,
    decay: Tensor,
}

impl Step {
    /// Tensors for segments of `segment` rows, a multiple of `batch`, of images of `[height, width, channels]`.
    pub fn new(
        network: Network,
        parameters: Parameters,
        loss: TensorLoss,
        optimiser: Optimiser,
        batch: usize,
        segment: usize,
        shape: [i64; 3],
    ) -> Self {
        let device = parameters.flat.device();
        let rows = segment as i64;
        let image_kind = if parameters.is_mixed() { Kind::BFloat16 } else { Kind::Float };
        let zeros = |kind| Tensor::zeros([rows], (kind, device));
        let number = |value: f64| Tensor::full([1], value, (Kind::Float, device));
        Step {
            velocity: parameters.flat.zeros_like(),
            network,
            parameters,
            loss,
            optimiser,
            batch: batch as i64,
            images: Tensor::zeros([rows, shape[0], shape[1], shape[2]], (image_kind, device)),
            labels: zeros(Kind::Int64),
            identities: Tensor::arange(rows, (Kind::Int64, device)),
            running: Vec::new(),
            margins: zeros(Kind::Float),
            weights: zeros(Kind::Float),
            rivals: zeros(Kind::Int64),
            sums: Tensor::zeros([3], (Kind::Float, device)),
            position: Tensor::zeros([1], (Kind::Int64, device)),
            within_batch: Tensor::arange(batch as i64, (Kind::Int64, device)),
            minus_rate: number(0.0),
            decay: number(optimiser.weight_decay),
        }
    }

    /// Device of the tensors.
    pub fn device(&self) -> Device {
        self.parameters.flat.device()
    }

    /// The base loss.
    pub fn loss(&self) -> &TensorLoss {
        &self.loss
    }

    /// Sets the learning rate of the steps to come.
    pub fn set_rate(&self, rate: f64) {
        drop(self.minus_rate.shallow_clone().fill_(-rate));
    }

    /// The next step takes the first batch of the segment.
    pub fn rewind(&self) {
        drop(self.position.shallow_clone().zero_());
    }

    /// Trains on the next batch of the segment.
    pub fn run(&self, envelope: Option<&Envelope>) -> Result<()> {
        let rows = &self.position * self.batch + &self.within_batch;
        let images = self.images.index_select(0, &rows).permute([0, 3, 1, 2]);
        let labels = self.labels.index_select(0, &rows);
        self.parameters.refresh();
        let logits = self.network.logits(&self.parameters, &images, true);
        let remember = |margins: &Tensor| self.remember(&rows, margins, envelope);
        let evaluated = self.loss.evaluate(&logits, &labels, envelope, &remember)?;
        // Its gradient by the logits is the one just found; its value means nothing.
        let passed_on = (&logits * &evaluated.gradient).sum(Kind::Float);
        let gradient = self.parameters.gradient(&passed_on)?;
        no_grad(|| {
            drop(self.margins.shallow_clone().index_copy_(0, &rows, &evaluated.recorded));
            drop(self.weights.shallow_clone().index_copy_(0, &rows, &evaluated.weights));
            drop(self.rivals.shallow_clone().index_copy_(0, &rows, &evaluated.rivals));
            let sums = Tensor::stack(&[&evaluated.base, &evaluated.risk, &evaluated.total], 0);
            let _ = self.sums.shallow_clone().g_add_(&sums);
            self.update(gradient);
            drop(self.position.shallow_clone().g_add_scalar_(1));
        });
        Ok(())
    }

    /// Takes the margins of a batch into the running margins, and returns those that the envelope reads.
    fn remember(&self, rows: &Tensor, margins: &Tensor, envelope: Option<&Envelope>) -> Tensor {
        let read = envelope.and_then(|envelope| envelope.config().running);
        let mut answer = margins.shallow_clone();
        if !self.running.is_empty() {
            let identities = self.identities.index_select(0, rows);
            for running in &self.running {
                let updated = running.update(&identities, margins);
                if read == Some(running.beta) {
                    answer = updated;
                }
            }
        }
        answer
    }

    /// SGD: `v ← μ v + (g + decay·p)`, `p ← p − rate·v`.
    fn update(&self, mut gradient: Tensor) {
        let (mut flat, mut velocity) = (self.parameters.flat.shallow_clone(), self.velocity.shallow_clone());
        let _ = gradient.addcmul_(&flat, &self.decay);
        let _ = velocity.g_mul_scalar_(self.optimiser.momentum);
        let _ = velocity.g_add_(&gradient);
        let _ = flat.addcmul_(&velocity, &self.minus_rate);
    }

    /// Captures a step into a graph. The state is left as it was: the steps that warm up are undone.
    pub fn capture(&self, cuda: &'static Cuda, envelope: Option<&Envelope>) -> Result<Graph> {
        // A thread that panicked while capturing left nothing that another one reads.
        let _alone = CAPTURE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut state =
            vec![&self.parameters.flat, &self.velocity, &self.parameters.running, &self.sums, &self.position];
        state.extend(self.running.iter().map(|running| &running.values));
        let kept: Vec<Tensor> = state.iter().map(|tensor| tensor.copy()).collect();
        let outcome = (0..WARM_UP_STEPS)
            .try_for_each(|_| {
                self.rewind();
                self.run(envelope)
            })
            .and_then(|()| {
                cuda.synchronise()?;
                cuda.capture(|| self.run(envelope))
            });
        no_grad(|| state.iter().zip(&kept).for_each(|(tensor, kept)| tensor.shallow_clone().copy_(kept)));
        outcome
    }
}
