//! ELR: cross-entropy that is kept near what the model said of a row before.

use super::{CrossEntropy, Loss, Row, RowLoss, WholeRow};
use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// Early-learning regularisation (Liu et al., 2020), `ℓ = −log s[y] + λ·log(1 − ⟨s, t⟩)`.
///
/// The target `t` of a row is the softmax averaged over the times the row was met, `t ← β·t + (1 − β)·ŝ`, at first zero.
/// It is updated before the loss is taken and has no gradient. `ŝ` is the softmax with its entries kept in
/// `[1e-4, 1 − 1e-4]` and divided by their sum, so the logarithm is never below `log 1e-4`. Targets are remembered in a
/// [`RowMemory`](crate::envelope::RowMemory); a row that nothing is remembered of has the target `ŝ`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elr {
    lambda: f64,
    beta: f64,
}

impl Elr {
    /// λ of the original paper for images of ten classes.
    pub const DEFAULT_LAMBDA: f64 = 3.0;
    /// β of the original paper for images of ten classes.
    pub const DEFAULT_BETA: f64 = 0.7;

    /// ELR with `lambda ≥ 0` (zero is cross-entropy) and `beta` in `[0, 1)`.
    pub fn new(lambda: f64, beta: f64) -> Result<Self> {
        check_parameter("lambda of elr", lambda, lambda >= 0.0 && lambda.is_finite(), "a finite number, at least 0")?;
        check_parameter("beta of elr", beta, (0.0..1.0).contains(&beta), "a number in [0, 1)")?;
        Ok(Elr { lambda, beta })
    }

    /// `1 − ⟨s, t⟩` as `Σ s[k] (1 − t[k])`, which has no difference of numbers that are nearly equal.
    fn apart<T: Scalar>(whole: WholeRow<'_, T>) -> f64 {
        whole.probs.iter().zip(whole.target).map(|(s, t)| s.to_f64() * (1.0 - t.to_f64())).sum()
    }
}

impl<T: Scalar> Loss<T> for Elr {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        CrossEntropy.row(row)
    }

    fn is_dense(&self) -> bool {
        self.lambda > 0.0
    }

    fn target_momentum(&self) -> Option<f64> {
        (self.lambda > 0.0).then_some(self.beta)
    }

    fn dense_value(&self, _row: &Row<T>, whole: WholeRow<'_, T>) -> T {
        T::from_f64(self.lambda * Self::apart(whole).ln())
    }

    // ∂/∂u[j] of log(1 − ⟨s, t⟩) is −s[j] (t[j] − ⟨s, t⟩) / (1 − ⟨s, t⟩).
    fn add_dense(&self, _row: &Row<T>, whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        let apart = Self::apart(whole);
        for ((g, &s), t) in grad.iter_mut().zip(whole.probs).zip(whole.target) {
            *g += factor * s * T::from_f64(self.lambda * ((1.0 - t.to_f64()) / apart - 1.0));
        }
    }
}
