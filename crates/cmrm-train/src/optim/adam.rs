//! Adam and AdamW.

use cmrm::error::check_parameter;
use serde::{Deserialize, Serialize};

use super::decay::DecayMask;
use super::sgd::{check_decay, check_step};
use super::snapshot::Snapshot;
use super::vector::vectorised;
use crate::aligned::Aligned;
use crate::checked::Checked;
use crate::error::Result;
use cmrm::Scalar;

/// Settings of [`Adam`] with the decay coupled to the gradient. The defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Memory of the mean gradient, in [0, 1).
    pub beta1: f64,
    /// Memory of the mean squared gradient, in [0, 1).
    pub beta2: f64,
    /// Added to the root of the mean square, above 0.
    pub eps: f64,
    /// Factor of the parameter that is added to its gradient (an L2 penalty), at least 0.
    pub weight_decay: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        AdamConfig { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 }
    }
}

/// Settings of [`Adam`] with the decay applied to the parameters themselves. The defaults are PyTorch's AdamW.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamWConfig {
    /// Memory of the mean gradient, in [0, 1).
    pub beta1: f64,
    /// Memory of the mean squared gradient, in [0, 1).
    pub beta2: f64,
    /// Added to the root of the mean square, above 0.
    pub eps: f64,
    /// Every step first shrinks the parameter by lr times this factor; at least 0.
    pub weight_decay: f64,
}

impl Default for AdamWConfig {
    fn default() -> Self {
        AdamWConfig { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 }
    }
}

impl AdamConfig {
    /// The checked form, from which [`Adam`] is made; refuses settings out of range.
    pub fn validate(&self) -> Result<Checked<Self>> {
        check_parameter("beta1", self.beta1, (0.0..1.0).contains(&self.beta1), "0 to below 1")?;
        check_parameter("beta2", self.beta2, (0.0..1.0).contains(&self.beta2), "0 to below 1")?;
        check_parameter("eps", self.eps, self.eps > 0.0 && self.eps.is_finite(), "a finite number above 0")?;
        check_decay(self.weight_decay)?;
        Ok(Checked::new(*self))
    }
}

impl AdamWConfig {
    /// The checked form, from which [`Adam`] is made; refuses settings out of range.
    pub fn validate(&self) -> Result<Checked<Self>> {
        self.shared().validate()?;
        Ok(Checked::new(*self))
    }

    fn shared(&self) -> AdamConfig {
        let AdamWConfig { beta1, beta2, eps, weight_decay } = *self;
        AdamConfig { beta1, beta2, eps, weight_decay }
    }
}

/// Adam, in the order of operations of `torch.optim.Adam` and `torch.optim.AdamW`:
///
/// m ← m + (1−β₁)(g − m); v ← β₂v + (1−β₂)g²; p ← p − lr/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + eps),
///
/// with g ← g + weight_decay·p before (Adam) or p ← p·(1 − lr·weight_decay) before (AdamW). The factors are computed in 64
/// bits and rounded to the parameters' type once. Deviation: √v is multiplied by 1/√(1−β₂ᵗ) instead of divided by the
/// root, which saves one of two divisions per parameter and moves the last bit at most.
#[derive(Debug, Clone)]
pub struct Adam<T> {
    config: Checked<AdamConfig>,
    decoupled: bool,
    mask: DecayMask,
    mean: Aligned<T>,
    square: Aligned<T>,
    steps: u64,
}

/// The factors of one step, rounded to the parameters' type.
#[derive(Clone, Copy)]
struct Factors<T> {
    gradient_decay: T,
    shrink: T,
    mean_gain: T,
    square_memory: T,
    square_gain: T,
    square_correction: T,
    eps: T,
    rate: T,
}

impl<T: Scalar> Adam<T> {
    /// Adam for the parameters that `mask` describes.
    pub fn new(config: Checked<AdamConfig>, mask: DecayMask) -> Self {
        Self::build(config, false, mask)
    }

    /// AdamW for the parameters that `mask` describes.
    pub fn decoupled(config: Checked<AdamWConfig>, mask: DecayMask) -> Self {
        Self::build(Checked::new(config.shared()), true, mask)
    }

    fn build(config: Checked<AdamConfig>, decoupled: bool, mask: DecayMask) -> Self {
        let length = mask.len();
        let mask = if config.weight_decay == 0.0 { mask.merged() } else { mask };
        let zeros = Aligned::from(&vec![T::ZERO; length][..]);
        Adam { config, decoupled, mask, mean: zeros.clone(), square: zeros, steps: 0 }
    }

    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// One step with learning rate `lr`. Refused without a change if the lengths are wrong.
    pub fn step(&mut self, parameters: &mut [T], gradient: &[T], lr: f64) -> Result<()> {
        check_step(self.mask.len(), parameters.len(), gradient.len(), lr)?;
        self.steps += 1;
        let factors = self.factors(lr);
        for run in self.mask.runs() {
            let (p, g) = (&mut parameters[run.range.clone()], &gradient[run.range.clone()]);
            let (m, v) = (&mut self.mean[run.range.clone()], &mut self.square[run.range.clone()]);
            if run.decayed && self.config.weight_decay != 0.0 {
                update::<T, true>(p, g, m, v, factors);
            } else {
                update::<T, false>(p, g, m, v, factors);
            }
        }
        Ok(())
    }

    fn factors(&self, lr: f64) -> Factors<T> {
        let AdamConfig { beta1, beta2, eps, weight_decay } = *self.config;
        let time = self.steps as f64;
        let (coupled, decoupled) = if self.decoupled { (0.0, weight_decay) } else { (weight_decay, 0.0) };
        Factors {
            gradient_decay: T::from_f64(coupled),
            shrink: T::from_f64(1.0 - lr * decoupled),
            mean_gain: T::from_f64(1.0 - beta1),
            square_memory: T::from_f64(beta2),
            square_gain: T::from_f64(1.0 - beta2),
            square_correction: T::from_f64(1.0 / (1.0 - beta2.powf(time)).sqrt()),
            eps: T::from_f64(eps),
            rate: T::from_f64(lr / (1.0 - beta1.powf(time))),
        }
    }

    /// Forgets the past, as a fresh optimiser.
    pub fn reset(&mut self) {
        self.mean.fill(T::default());
        self.square.fill(T::default());
        self.steps = 0;
    }

    fn kind(&self) -> &'static str {
        if self.decoupled { "adamw" } else { "adam" }
    }

    /// The state, for a checkpoint.
    pub fn snapshot(&self) -> Snapshot<T> {
        Snapshot::new(self.kind())
            .with_counter("steps", self.steps)
            .with_buffer("mean", &self.mean)
            .with_buffer("square", &self.square)
    }

    /// Continues from a snapshot. A refused snapshot changes nothing.
    pub fn restore(&mut self, snapshot: &Snapshot<T>) -> Result<()> {
        snapshot.check_kind(self.kind())?;
        let steps = snapshot.counter("steps")?;
        let mean = snapshot.buffer_of("mean", self.mean.len())?;
        let square = snapshot.buffer_of("square", self.square.len())?;
        self.mean.copy_from_slice(mean);
        self.square.copy_from_slice(square);
        self.steps = steps;
        Ok(())
    }
}

fn update<T: Scalar, const DECAY: bool>(p: &mut [T], g: &[T], m: &mut [T], v: &mut [T], by: Factors<T>) {
    vectorised(
        #[inline(always)]
        || {
            for (((p, &g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
                let (parameter, gradient) = if DECAY { (*p * by.shrink, g + by.gradient_decay * *p) } else { (*p, g) };
                *m = *m + by.mean_gain * (gradient - *m);
                *v = *v * by.square_memory + by.square_gain * gradient * gradient;
                *p = parameter - by.rate * *m / (v.sqrt() * by.square_correction + by.eps);
            }
        },
    );
}
