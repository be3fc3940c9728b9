//! The focal loss, which weighs down rows that are predicted well.

use super::{Loss, Row, RowLoss};
use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// Focal loss, `ℓ = (1 − s[y])^γ · (−log s[y])`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Focal {
    gamma: f64,
}

impl Focal {
    /// γ of the original paper on dense detection, and of tables here; the authors use 1 for images.
    pub const DEFAULT_GAMMA: f64 = 2.0;

    /// Focal loss with `gamma ≥ 0` (zero is cross-entropy).
    pub fn new(gamma: f64) -> Result<Self> {
        check_parameter("gamma", gamma, gamma >= 0.0 && gamma.is_finite(), "a finite number, at least 0")?;
        Ok(Focal { gamma })
    }
}

impl<T: Scalar> Loss<T> for Focal {
    // dℓ / d log s = −(1−s)^γ + γ s (1−s)^{γ−1} log s. The second term is computed as γ·s·(1−s)^γ·[log s / (1−s)],
    // whose bracket tends to −1 when s → 1, so that γ < 1 does not divide by zero.
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let gamma = T::from_f64(self.gamma);
        let focus = if self.gamma == 2.0 { row.p_others * row.p_others } else { row.p_others.powf(gamma) };
        let ratio = if row.p_others > T::ZERO { row.log_p_label / row.p_others } else { -T::ONE };
        // As the label's probability vanishes, s·log s does too; the product is formed in this order to keep it finite.
        let slope = gamma * focus * (row.p_label * ratio) - focus;
        RowLoss::of_log_probability(&row, -focus * row.log_p_label, slope)
    }
}
