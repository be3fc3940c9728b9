//! The backward correction: an unbiased estimate of cross-entropy on true classes. Of two classes: LNL.

use super::differences::Differences;
use super::{CrossEntropy, Loss, Row, RowLoss, WholeRow};
use crate::error::{Result, check_length};
use crate::noise_model::Transition;
use crate::scalar::Scalar;

/// Backward correction (Patrini et al., 2017; for two classes Natarajan et al., 2013, "LNL"), `ℓ = −Σ_j T⁻¹[y][j]·log s[j]`.
///
/// `T[i][j]` is the probability that a row of class i is observed as j. The mean over the noise is cross-entropy with the true
/// class: `Σ_y T[i][y] ℓ(y) = −log s[i]`. For two classes with flip rates ρ₀ and ρ₁ this is
/// `[(1−ρ_{1−y}) ℓ(y) − ρ_y ℓ(1−y)] / (1−ρ₀−ρ₁)`.
///
/// Rows of `T⁻¹` sum to one, so `ℓ = −log s[y] + Σ_j T⁻¹[y][j]·(u[y] − u[j])`: convex in the logits, with the gradient `s − T⁻¹[y]`.
/// Entries of the inverse are negative, so the loss of a row may be too, and has no lower bound: a model that can learn every row by
/// heart needs a penalty or an end. Nothing is clipped here, since a clipped estimate is not unbiased.
#[derive(Debug, Clone, PartialEq)]
pub struct Backward {
    transition: Transition,
}

impl Backward {
    /// The correction of this noise.
    pub fn new(transition: Transition) -> Self {
        Backward { transition }
    }

    fn differences(&self, label: usize) -> Differences<'_> {
        Differences { factor: 1.0, weights: self.transition.unbiased(label) }
    }
}

impl<T: Scalar> Loss<T> for Backward {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        CrossEntropy.row(row)
    }

    fn check_classes(&self, classes: usize) -> Result<()> {
        check_length("classes of the transition matrix against classes", classes, self.transition.classes())
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn dense_value(&self, row: &Row<T>, whole: WholeRow<'_, T>) -> T {
        self.differences(row.label).value(row.label, whole.scaled)
    }

    fn add_dense(&self, row: &Row<T>, _whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        self.differences(row.label).add_gradient(row.label, factor, grad);
    }
}
