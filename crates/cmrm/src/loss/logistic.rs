//! The logistic loss of two classes.

use super::{Loss, Row, RowLoss, check_two_classes};
use crate::error::Result;
use crate::scalar::Scalar;

/// Binary logistic loss, `ℓ = log(1 + exp(−(2y−1)·t))` of the score `t`.
///
/// With two logits the score is their difference and the loss is cross-entropy; with one logit use
/// [`crate::envelope::binary`], which takes scores. It refuses any other number of classes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Logistic;

impl<T: Scalar> Loss<T> for Logistic {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        super::CrossEntropy.row(row)
    }

    fn check_classes(&self, classes: usize) -> Result<()> {
        check_two_classes("classes of the logistic loss", classes)
    }
}
