//! Bootstrapping: the label is mixed with what the model itself says.

use super::{CrossEntropy, Loss, Row, RowLoss, WholeRow};
use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// Soft bootstrapping (Reed et al., 2015), `ℓ = −Σ_k (β·e_y[k] + (1−β)·s[k])·log s[k]`; the target has no gradient.
///
/// With a fixed target the model's own share of it cancels: the gradient is β times that of cross-entropy. So this form trains
/// like cross-entropy at a lower rate, and only the envelope's limit and a penalty on the weights notice the difference. Reed's own
/// form lets the gradient through the target too, which adds a pull towards sure predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapSoft {
    beta: f64,
}

/// Hard bootstrapping (Reed et al., 2015), `ℓ = −β·log s[y] − (1−β)·log s[c]` with `c` the most likely class, the lowest on ties.
///
/// Between the label and its strongest rival this is all there is to see, so the loss has no dense part. Where the label leads it
/// is cross-entropy. It has a kink where the leader changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapHard {
    beta: f64,
}

impl BootstrapSoft {
    /// β of the original paper.
    pub const DEFAULT_BETA: f64 = 0.95;

    /// The label's share `beta` of the target lies in `(0, 1]`; one is cross-entropy.
    pub fn new(beta: f64) -> Result<Self> {
        check_parameter("beta of bootstrap-soft", beta, beta > 0.0 && beta <= 1.0, "a number in (0, 1]")?;
        Ok(BootstrapSoft { beta })
    }
}

impl BootstrapHard {
    /// β of the original paper.
    pub const DEFAULT_BETA: f64 = 0.8;

    /// The label's share `beta` of the target lies in `(0, 1]`; one is cross-entropy.
    pub fn new(beta: f64) -> Result<Self> {
        check_parameter("beta of bootstrap-hard", beta, beta > 0.0 && beta <= 1.0, "a number in (0, 1]")?;
        Ok(BootstrapHard { beta })
    }
}

impl<T: Scalar> Loss<T> for BootstrapSoft {
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        RowLoss::of_log_probability(&row, -row.log_p_label, T::from_f64(-self.beta))
    }

    fn is_dense(&self) -> bool {
        self.beta < 1.0
    }

    // −Σ s[k] log s[k] is −log s[y] + Σ s[k] (u[y] − u[k]), and −log s[y] is counted whole in `row`.
    fn dense_value(&self, row: &Row<T>, WholeRow { scaled, probs, .. }: WholeRow<'_, T>) -> T {
        let label = scaled[row.label].to_f64();
        let mean: f64 = scaled.iter().zip(probs).map(|(u, s)| s.to_f64() * (label - u.to_f64())).sum();
        T::from_f64((1.0 - self.beta) * mean)
    }
}

impl<T: Scalar> Loss<T> for BootstrapHard {
    // Where the rival leads: ℓ = −log s[y] + (1−β)(u[y] − u[c]), and the gradient is s − β e_y − (1−β) e_c.
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let label_leads = row.logit_gap > T::ZERO || (row.logit_gap == T::ZERO && row.label < row.rival);
        if label_leads {
            return CrossEntropy.row(row);
        }
        let own_share = T::from_f64(1.0 - self.beta);
        RowLoss {
            value: own_share * row.logit_gap - row.log_p_label,
            on_probs: T::ONE,
            at_label: own_share - row.p_others,
            on_rival: -own_share,
        }
    }
}
