//! Label smoothing: cross-entropy against a label that gives every class a small share.

use super::{CrossEntropy, Loss, Row, RowLoss, WholeRow};
use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// Cross-entropy against `(1 − ε)·e_y + ε/K`: `ℓ = −(1 − ε)·log s[y] − ε·mean_k log s[k]`.
///
/// Every class pulls on the logits, so there is a dense part: with `log s[k] = log s[y] + u[k] − u[y]` the loss is
/// `−log s[y] + ε·mean_k(u[y] − u[k])`, which needs no other logarithm and stays finite where `s[k]` underflows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelSmoothing {
    epsilon: f64,
}

impl LabelSmoothing {
    /// The usual ε.
    pub const DEFAULT_EPSILON: f64 = 0.1;

    /// Label smoothing with `epsilon` in `[0, 1)`; zero is cross-entropy.
    pub fn new(epsilon: f64) -> Result<Self> {
        check_parameter("epsilon", epsilon, (0.0..1.0).contains(&epsilon), "a number in [0, 1)")?;
        Ok(LabelSmoothing { epsilon })
    }
}

impl<T: Scalar> Loss<T> for LabelSmoothing {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        CrossEntropy.row(row)
    }

    fn is_dense(&self) -> bool {
        self.epsilon > 0.0
    }

    // A mean of differences in double precision, each divided before it is added: differences of single precision and
    // sums of logits could overflow where the loss does not.
    fn dense_value(&self, row: &Row<T>, WholeRow { scaled, .. }: WholeRow<'_, T>) -> T {
        let label = scaled[row.label].to_f64();
        let share = self.epsilon / scaled.len() as f64;
        T::from_f64(scaled.iter().map(|&u| (label - u.to_f64()) * share).sum())
    }

    fn add_dense(&self, row: &Row<T>, whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        let pull = factor * T::from_f64(self.epsilon);
        let share = pull / T::from_f64(whole.scaled.len() as f64);
        for g in grad.iter_mut() {
            *g -= share;
        }
        grad[row.label] += pull;
    }
}
