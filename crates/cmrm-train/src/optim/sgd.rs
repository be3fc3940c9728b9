//! Stochastic gradient descent with momentum.

use cmrm::error::{Error, check_length, check_parameter};
use serde::{Deserialize, Serialize};

use super::decay::DecayMask;
use super::snapshot::{Snapshot, mismatch};
use super::vector::vectorised;
use crate::checked::Checked;
use crate::error::Result;
use cmrm::Scalar;

/// Settings of [`Sgd`]. The defaults are plain gradient descent, as in PyTorch.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SgdConfig {
    /// Share of the previous direction that is kept, in [0, 1).
    pub momentum: f64,
    /// Look ahead along the new direction (needs momentum).
    pub nesterov: bool,
    /// Factor of the parameter that is added to its gradient (an L2 penalty), at least 0.
    pub weight_decay: f64,
}

impl SgdConfig {
    /// The checked form, from which [`Sgd`] is made; refuses settings out of range.
    pub fn validate(&self) -> Result<Checked<Self>> {
        check_parameter("momentum", self.momentum, (0.0..1.0).contains(&self.momentum), "0 to below 1")?;
        check_decay(self.weight_decay)?;
        if self.nesterov && self.momentum == 0.0 {
            return Err(Error::Parameter { name: "momentum", value: 0.0, expected: "above 0 with nesterov" }.into());
        }
        Ok(Checked::new(*self))
    }
}

/// The rule that every optimiser shares.
pub(crate) fn check_decay(decay: f64) -> Result<()> {
    Ok(check_parameter("weight_decay", decay, decay >= 0.0 && decay.is_finite(), "a finite number, 0 or above")?)
}

/// The checks at the start of every step.
pub(crate) fn check_step(expected: usize, parameters: usize, gradient: usize, lr: f64) -> Result<()> {
    check_length("parameters given to an optimiser", expected, parameters)?;
    check_length("gradient entries given to an optimiser", expected, gradient)?;
    Ok(check_parameter("learning rate", lr, lr >= 0.0 && lr.is_finite(), "a finite number, 0 or above")?)
}

/// Gradient descent, `torch.optim.SGD` with dampening 0:
///
/// g ← g + weight_decay·p; v ← momentum·v + g; p ← p − lr·v, or with Nesterov p ← p − lr·(g + momentum·v).
///
/// The first v is the first g. Without momentum there is no buffer.
#[derive(Debug, Clone)]
pub struct Sgd<T> {
    config: Checked<SgdConfig>,
    mask: DecayMask,
    velocity: Vec<T>,
    steps: u64,
}

impl<T: Scalar> Sgd<T> {
    /// Optimiser for the parameters that `mask` describes.
    pub fn new(config: Checked<SgdConfig>, mask: DecayMask) -> Self {
        let velocity = if config.momentum == 0.0 { Vec::new() } else { vec![T::default(); mask.len()] };
        let mask = if config.weight_decay == 0.0 { mask.merged() } else { mask };
        Sgd { config, mask, velocity, steps: 0 }
    }

    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// One step with learning rate `lr`. Refused without a change if the lengths are wrong.
    pub fn step(&mut self, parameters: &mut [T], gradient: &[T], lr: f64) -> Result<()> {
        check_step(self.mask.len(), parameters.len(), gradient.len(), lr)?;
        let (lr, momentum) = (T::from_f64(lr), T::from_f64(self.config.momentum));
        for run in self.mask.runs() {
            let decay = T::from_f64(if run.decayed { self.config.weight_decay } else { 0.0 });
            let (p, g) = (&mut parameters[run.range.clone()], &gradient[run.range.clone()]);
            if self.velocity.is_empty() {
                descend(p, g, lr, decay);
            } else if self.config.nesterov {
                nesterov(p, g, &mut self.velocity[run.range.clone()], lr, momentum, decay);
            } else {
                heavy_ball(p, g, &mut self.velocity[run.range.clone()], lr, momentum, decay);
            }
        }
        self.steps += 1;
        Ok(())
    }

    /// Forgets the past, as a fresh optimiser.
    pub fn reset(&mut self) {
        self.velocity.fill(T::default());
        self.steps = 0;
    }

    /// The state, for a checkpoint.
    pub fn snapshot(&self) -> Snapshot<T> {
        let snapshot = Snapshot::new("sgd").with_counter("steps", self.steps);
        if self.velocity.is_empty() { snapshot } else { snapshot.with_buffer("velocity", &self.velocity) }
    }

    /// Continues from a snapshot. A refused snapshot changes nothing.
    pub fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()> {
        snapshot.check_kind("sgd")?;
        let steps = snapshot.counter("steps")?;
        if self.velocity.is_empty() && snapshot.buffers.contains_key("velocity") {
            return Err(mismatch("momentum", "none", "a velocity"));
        }
        if !self.velocity.is_empty() {
            let velocity = snapshot.buffer_of("velocity", self.velocity.len())?;
            self.velocity.copy_from_slice(velocity);
        }
        self.steps = steps;
        Ok(())
    }
}

fn descend<T: Scalar>(p: &mut [T], g: &[T], lr: T, decay: T) {
    vectorised(
        #[inline(always)]
        || {
            for (p, &g) in p.iter_mut().zip(g) {
                *p -= lr * (g + decay * *p);
            }
        },
    );
}

fn heavy_ball<T: Scalar>(p: &mut [T], g: &[T], v: &mut [T], lr: T, momentum: T, decay: T) {
    vectorised(
        #[inline(always)]
        || {
            for ((p, &g), v) in p.iter_mut().zip(g).zip(v) {
                *v = momentum * *v + (g + decay * *p);
                *p -= lr * *v;
            }
        },
    );
}

fn nesterov<T: Scalar>(p: &mut [T], g: &[T], v: &mut [T], lr: T, momentum: T, decay: T) {
    vectorised(
        #[inline(always)]
        || {
            for ((p, &g), v) in p.iter_mut().zip(g).zip(v) {
                let g = g + decay * *p;
                *v = momentum * *v + g;
                *p -= lr * (g + momentum * *v);
            }
        },
    );
}
