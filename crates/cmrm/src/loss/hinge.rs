//! The hinge loss, and the penalty on the weights that makes it a support vector machine.

use super::{Loss, Row, RowLoss};
use crate::scalar::Scalar;

/// Hinge loss, `ℓ = max(0, 1 − (u[y] − max_{k≠y} u[k]))`.
///
/// For two classes the gap is `(2y−1)·(u[1] − u[0])`, so this is the binary hinge `max(0, 1 − (2y−1)·score)`; for more
/// classes it is the multi-class hinge of Crammer and Singer, which the paper does not use. At the kink the
/// subgradient 0 is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Hinge;

impl<T: Scalar> Loss<T> for Hinge {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let violation = T::ONE - row.logit_gap;
        if violation > T::ZERO {
            RowLoss { value: violation, on_probs: T::ZERO, at_label: -T::ONE, on_rival: T::ONE }
        } else {
            RowLoss { value: T::ZERO, on_probs: T::ZERO, at_label: T::ZERO, on_rival: T::ZERO }
        }
    }
}

/// The SVM's `½ λ₂ ‖w‖²`: returns its value and adds `λ₂ w` to `grad` (as far as both slices reach).
pub fn l2_penalty<T: Scalar>(weights: &[T], lambda: f64, grad: &mut [T]) -> f64 {
    let factor = T::from_f64(lambda);
    let mut squares = 0.0;
    for (g, &w) in grad.iter_mut().zip(weights) {
        squares += w.to_f64() * w.to_f64();
        *g += factor * w;
    }
    0.5 * lambda * squares
}
