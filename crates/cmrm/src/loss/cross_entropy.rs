//! Cross-entropy, the usual loss of classifiers.

use super::{Loss, Row, RowLoss};
use crate::scalar::Scalar;

/// Cross-entropy, `ℓ = −log s[y]`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CrossEntropy;

impl<T: Scalar> Loss<T> for CrossEntropy {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        RowLoss::of_log_probability(&row, -row.log_p_label, -T::ONE)
    }
}
