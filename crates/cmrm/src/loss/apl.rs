//! APL: an active and a passive loss, here normalised and reverse cross-entropy.

use super::{Loss, Row, RowLoss, Sce, WholeRow};
use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// Active–passive loss (Ma et al., 2020) of normalised and reverse cross-entropy, with `ℓ[k] = −log s[k]`:
/// `a·ℓ[y]/Σ_k ℓ[k] − b·A·(1 − s[y])`.
///
/// Divided by what all labels together would cost, cross-entropy lies between 0 and 1 and tolerates symmetric noise; alone it learns
/// little, which the reverse cross-entropy of [`Sce`] makes up for. `A`, in place of `log 0`, is that of [`Sce::LOG_ZERO`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apl {
    active: f64,
    passive: f64,
}

impl Apl {
    /// Weight of the normalised cross-entropy in the original paper, for images of ten classes.
    pub const DEFAULT_A: f64 = 1.0;
    /// Weight of the reverse cross-entropy there.
    pub const DEFAULT_B: f64 = 1.0;

    /// Both weights at least zero, not both zero.
    pub fn new(a: f64, b: f64) -> Result<Self> {
        let in_range = |value: f64| value >= 0.0 && value.is_finite();
        check_parameter("a of apl", a, in_range(a), "a finite number, at least 0")?;
        check_parameter("b of apl", b, in_range(b), "a finite number, at least 0")?;
        check_parameter("a + b of apl", a + b, a + b > 0.0, "more than 0; one of them must count")?;
        Ok(Apl { active: a, passive: b })
    }

    /// `ℓ[y]` divided by the sum `S` of all `ℓ[k]`, and one over `S`, which is at least `K log K`.
    fn normalised<T: Scalar>(row: &Row<T>, whole: WholeRow<'_, T>) -> (f64, f64) {
        let (own, label) = (-row.log_p_label.to_f64(), whole.scaled[row.label].to_f64());
        // ℓ[k] = ℓ[y] + u[y] − u[k] needs no other logarithm.
        let sum: f64 = whole.scaled.iter().map(|u| own + (label - u.to_f64())).sum();
        (own / sum, 1.0 / sum)
    }
}

impl<T: Scalar> Loss<T> for Apl {
    // By log s: the derivative of 1 − s is −s.
    #[inline(always)]
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        let reverse = T::from_f64(-self.passive * Sce::LOG_ZERO);
        RowLoss::of_log_probability(&row, reverse * row.p_others, -reverse * row.p_label)
    }

    fn is_dense(&self) -> bool {
        self.active > 0.0
    }

    fn dense_value(&self, row: &Row<T>, whole: WholeRow<'_, T>) -> T {
        T::from_f64(self.active * Self::normalised(row, whole).0)
    }

    // With N = ℓ[y]/S, ∂ℓ[k]/∂u = s − e_k and ∂S/∂u = K·s − 1: ∂N/∂u = (s − e_y − N·(K·s − 1)) / S. At the label s[y] − 1 is −p_others.
    fn add_dense(&self, row: &Row<T>, whole: WholeRow<'_, T>, factor: T, grad: &mut [T]) {
        let (share, per_sum) = Self::normalised(row, whole);
        let (classes, pull) = (whole.probs.len() as f64, self.active * per_sum);
        let of_probability = 1.0 - share * classes;
        for (j, (g, s)) in grad.iter_mut().zip(whole.probs).enumerate() {
            let slope = match j == row.label {
                true => -row.p_others.to_f64() * of_probability - share * (classes - 1.0),
                false => s.to_f64() * of_probability + share,
            };
            *g += factor * T::from_f64(pull * slope);
        }
    }
}
