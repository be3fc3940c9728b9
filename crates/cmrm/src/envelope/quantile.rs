use super::config::QuantileKind;
use crate::scalar::Scalar;

/// The α-quantile `τ` of `margins`, by selection in O(m). `scratch` is overwritten; its capacity is reused.
///
/// Conformal: the k-th smallest, `k = ⌈α(m+1)⌉` clamped to `1..m`. The paper also says "k-th largest" once; its proof,
/// its other wordings and its code agree on the smallest. Interpolated: linear between the order statistics around
/// position `α(m−1)`. `None` for an empty batch. Margins must not be NaN.
pub fn threshold<T: Scalar>(margins: &[T], alpha: f64, kind: QuantileKind, scratch: &mut Vec<T>) -> Option<T> {
    let m = margins.len();
    if m == 0 {
        return None;
    }
    scratch.clear();
    scratch.extend_from_slice(margins);
    match kind {
        QuantileKind::Conformal => {
            let k = conformal_rank(alpha, m);
            Some(*scratch.select_nth_unstable_by(k - 1, T::total_cmp).1)
        }
        QuantileKind::Interpolated => {
            let position = (alpha * (m - 1) as f64).clamp(0.0, (m - 1) as f64);
            let below = position.floor();
            let (_, &mut low, upper) = scratch.select_nth_unstable_by(below as usize, T::total_cmp);
            let share = T::from_f64(position - below);
            let high = upper.iter().copied().min_by(T::total_cmp).unwrap_or(low);
            let step = high - low;
            // Two margins may be further apart than the largest number.
            let tau = if step.is_finite() { low + share * step } else { (T::ONE - share) * low + share * high };
            // Rounding must not carry τ past a margin, or the largest weight could fall below ½.
            Some(if tau > high { high } else { tau })
        }
    }
}

/// `⌈α(m+1)⌉` clamped to `1..m`, in double precision without any tolerance: α is taken as the binary number it is.
pub(super) fn conformal_rank(alpha: f64, m: usize) -> usize {
    ((alpha * (m as f64 + 1.0)).ceil() as usize).clamp(1, m)
}
