//! Where the two suspicious tails begin: the class-conditional thresholds on the probability of class 1.

use super::config::{BinaryEnvelope, ThresholdKind};
use crate::scalar::Scalar;

/// The two thresholds on `p`. Infinite where a side has none, and then that side contributes nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds<T> {
    /// `τ⁺`: rows labelled 1 below it are suspicious. `−∞` if there is none.
    pub plus: T,
    /// `τ⁻`: rows labelled 0 above it are suspicious. `+∞` if there is none.
    pub minus: T,
}

/// Picks the thresholds by selection in O(n). `scratch` is overwritten.
///
/// Conformal: `τ⁻` is the smallest observed `t` of the rows labelled 0 with `#{p ≥ t} ≤ ⌈α⁻(n0+1)⌉`; `τ⁺` the largest
/// observed `t` of the rows labelled 1 with `#{p ≤ t} ≤ ⌈α⁺(n1+1)⌉`. With `q = −p` the first is the second mirrored,
/// and so it is computed.
pub fn thresholds<T: Scalar>(
    envelope: &BinaryEnvelope,
    probabilities: &[T],
    labels: &[u32],
    scratch: &mut Vec<T>,
) -> Thresholds<T> {
    let config = envelope.config();
    gather(probabilities, labels, 1, T::ONE, scratch);
    let plus = match config.thresholds {
        ThresholdKind::Conformal => largest_with_count_at_most(scratch, config.alpha_plus),
        ThresholdKind::Indexed => nth_smallest(scratch, config.alpha_plus),
    };
    let minus = match config.thresholds {
        ThresholdKind::Conformal => {
            gather(probabilities, labels, 0, -T::ONE, scratch);
            largest_with_count_at_most(scratch, config.alpha_minus).map(|t| -t)
        }
        ThresholdKind::Indexed => {
            gather(probabilities, labels, 0, T::ONE, scratch);
            nth_smallest(scratch, 1.0 - config.alpha_minus)
        }
    };
    Thresholds { plus: plus.unwrap_or(T::NEG_INFINITY), minus: minus.unwrap_or(-T::NEG_INFINITY) }
}

/// Collects `sign · p` of the rows with one label.
fn gather<T: Scalar>(probabilities: &[T], labels: &[u32], label: u32, sign: T, out: &mut Vec<T>) {
    out.clear();
    out.extend(probabilities.iter().zip(labels).filter(|&(_, &y)| y == label).map(|(&p, _)| sign * p));
}

/// The value at index `⌊n·share⌋` of the sorted values.
fn nth_smallest<T: Scalar>(values: &mut [T], share: f64) -> Option<T> {
    let last = values.len().checked_sub(1)?;
    let index = (values.len() as f64 * share).floor() as usize;
    Some(*values.select_nth_unstable_by(index.min(last), T::total_cmp).1)
}

/// The largest value `t` in `values` with `#{v ≤ t} ≤ ⌈α(n+1)⌉`, or `None`.
///
/// The k-th smallest is the answer unless ties carry the count past k; then it is the largest value strictly below.
fn largest_with_count_at_most<T: Scalar>(values: &mut [T], alpha: f64) -> Option<T> {
    let n = values.len();
    let k = (alpha * (n as f64 + 1.0)).ceil() as usize;
    if n == 0 {
        return None;
    }
    if k >= n {
        return values.iter().copied().max_by(T::total_cmp);
    }
    let (below, &mut kth, above) = values.select_nth_unstable_by(k - 1, T::total_cmp);
    if above.contains(&kth) { below.iter().copied().filter(|&v| v < kth).max_by(T::total_cmp) } else { Some(kth) }
}
