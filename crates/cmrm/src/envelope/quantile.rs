//! Thresholds as quantiles of the margins: of the whole batch, or class by class.

use super::config::QuantileKind;
use crate::scalar::Scalar;

/// Rows a class needs in a batch to have a quantile of its own, with [`Scope::Class`](super::Scope::Class).
pub const CLASS_ROWS: usize = 8;

/// The α-quantile `τ` of `margins`, by selection in O(m). `scratch` is overwritten; its capacity is reused.
///
/// Conformal: the k-th smallest, `k = ⌈α(m+1)⌉` clamped to `1..m`. The paper also says "k-th largest" once; its proof,
/// its other wordings and its code agree on the smallest. Interpolated: linear between the order statistics around
/// position `α(m−1)`. `None` for an empty batch. Margins must not be NaN.
pub fn threshold<T: Scalar>(margins: &[T], alpha: f64, kind: QuantileKind, scratch: &mut Vec<T>) -> Option<T> {
    scratch.clear();
    scratch.extend_from_slice(margins);
    select(scratch, alpha, kind)
}

/// The threshold of every row: the quantile among the rows with its own label, or of all where they are too few.
pub(super) fn class_thresholds<T: Scalar>(
    margins: &[T],
    labels: &[u32],
    alpha: f64,
    kind: QuantileKind,
    scratch: &mut Vec<T>,
    thresholds: &mut [T],
) {
    let classes = pulp::Arch::new().dispatch(|| labels.iter().max().map_or(0, |&label| label as usize + 1));
    // A counting sort: where the margins of each class start, then a cursor that ends where the next class starts.
    let mut ends = vec![0; classes + 1];
    labels.iter().for_each(|&label| ends[label as usize + 1] += 1);
    let few = |count: usize| (1..CLASS_ROWS).contains(&count);
    // Most batches have enough of every class, and no use for the quantile of all.
    let whole = if ends.iter().any(|&count| few(count)) { threshold(margins, alpha, kind, scratch) } else { None };
    let mut of_class = vec![whole.unwrap_or(T::ZERO); classes];
    (0..classes).for_each(|class| ends[class + 1] += ends[class]);
    scratch.clear();
    scratch.resize(margins.len(), T::ZERO);
    for (&margin, &label) in margins.iter().zip(labels) {
        scratch[ends[label as usize]] = margin;
        ends[label as usize] += 1;
    }
    let mut start = 0;
    for (class, tau) in of_class.iter_mut().enumerate() {
        let rows = &mut scratch[start..ends[class]];
        if rows.len() >= CLASS_ROWS {
            *tau = select(rows, alpha, kind).unwrap_or(*tau);
        }
        start = ends[class];
    }
    for (tau, &label) in thresholds.iter_mut().zip(labels) {
        *tau = of_class[label as usize];
    }
}

/// [`threshold`] of numbers that may be put in another order.
fn select<T: Scalar>(margins: &mut [T], alpha: f64, kind: QuantileKind) -> Option<T> {
    let m = margins.len();
    if m == 0 {
        return None;
    }
    match kind {
        QuantileKind::Conformal => {
            let k = conformal_rank(alpha, m);
            Some(*margins.select_nth_unstable_by(k - 1, T::total_cmp).1)
        }
        QuantileKind::Interpolated => {
            let position = (alpha * (m - 1) as f64).clamp(0.0, (m - 1) as f64);
            let below = position.floor();
            let (_, &mut low, upper) = margins.select_nth_unstable_by(below as usize, T::total_cmp);
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
pub(crate) fn conformal_rank(alpha: f64, m: usize) -> usize {
    ((alpha * (m as f64 + 1.0)).ceil() as usize).clamp(1, m)
}
