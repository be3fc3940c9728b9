//! Symmetric cross-entropy: cross-entropy, and cross-entropy with label and prediction exchanged.

use super::{Loss, Row, RowLoss};
use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// Symmetric cross-entropy (Wang et al., 2019), `ℓ = −α·log s[y] − β·A·(1 − s[y])`.
///
/// The second term is the reverse cross-entropy `−Σ_k s[k]·log e_y[k]`, with `A` in place of `log 0`. It is bounded, so
/// a wrong label cannot pull without limit; the first term keeps the slope of rows that are far from learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sce {
    alpha: f64,
    beta: f64,
}

impl Sce {
    /// α of the original paper for images of ten classes.
    pub const DEFAULT_ALPHA: f64 = 0.1;
    /// β of the original paper.
    pub const DEFAULT_BETA: f64 = 1.0;
    /// `A`, which stands for `log 0`. Fixed: only the product `β·A` has an effect.
    pub const LOG_ZERO: f64 = -4.0;

    /// Symmetric cross-entropy with `alpha` and `beta` at least zero, not both zero.
    pub fn new(alpha: f64, beta: f64) -> Result<Self> {
        let in_range = |value: f64| value >= 0.0 && value.is_finite();
        check_parameter("alpha of sce", alpha, in_range(alpha), "a finite number, at least 0")?;
        check_parameter("beta of sce", beta, in_range(beta), "a finite number, at least 0")?;
        check_parameter(
            "alpha + beta of sce",
            alpha + beta,
            alpha + beta > 0.0,
            "more than 0; one of them must count",
        )?;
        Ok(Sce { alpha, beta })
    }
}

impl<T: Scalar> Loss<T> for Sce {
    // By log s: the derivative of −log s is −1, that of 1 − s is −s.
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let forward = T::from_f64(self.alpha);
        let reverse = T::from_f64(-self.beta * Self::LOG_ZERO);
        let value = reverse * row.p_others - forward * row.log_p_label;
        RowLoss::of_log_probability(&row, value, -forward - reverse * row.p_label)
    }
}
