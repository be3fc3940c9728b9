//! The filter on the base loss: doubt, weights without gradient, and how much of the risk is left.

use super::config::{Envelope, Fade};
use super::risk::weigh_by;
use crate::scalar::{Scalar, sum_in_lanes, sum_pairs_in_lanes};

/// `f = max(0, 1 − d/share)`, with `d` the share of the rows (by weight) whose margin is below that of the fade. One where
/// no label is in doubt, zero without a fade.
pub(super) fn faded<T: Scalar>(fade: Option<Fade>, margins: &[T], row_weights: Option<&[T]>) -> f64 {
    let Some(Fade { margin, share }) = fade else { return 0.0 };
    let v = |i: usize| row_weights.map_or(1.0, |weights| weights[i].to_f64());
    let all = sum_in_lanes(margins.len(), v);
    let doubtful = sum_pairs_in_lanes(margins, margins, |i, m, _| if m < margin { v(i) } else { 0.0 });
    if all > 0.0 { (1.0 - doubtful / all / share).max(0.0) } else { 1.0 }
}

/// The weights `f + (1−f) σ((M̄ − τ)/temp)` of the rows with running margins `M̄`.
pub(super) fn weigh<T: Scalar>(
    envelope: &Envelope,
    margins: &[T],
    labels: &[u32],
    fade: f64,
    weights: &mut [T],
    thresholds: &mut [T],
    scratch: &mut Vec<T>,
) {
    if fade < 1.0 {
        weigh_by(envelope, margins, labels, weights, thresholds, scratch);
    }
    soften(fade, weights);
}

/// `f + (1−f) w`, exact at both ends.
pub(super) fn soften<T: Scalar>(fade: f64, weights: &mut [T]) {
    if fade >= 1.0 {
        weights.fill(T::ONE);
    } else if fade > 0.0 {
        let (kept, rest) = (T::from_f64(fade), T::from_f64(1.0 - fade));
        weights.iter_mut().for_each(|w| *w = (kept + rest * *w).smaller(T::ONE));
    }
}

/// Shares `ω ŵ / Σ ω ŵ` of the rows in the filtered base loss; the plain shares stay where no row is left any weight.
pub(super) fn shares<T: Scalar>(weights: &[T], row_weights: Option<&[T]>, factors: &mut [T]) {
    let v = |i: usize| row_weights.map_or(1.0, |weights| weights[i].to_f64()) * weights[i].to_f64();
    let sum = sum_in_lanes(weights.len(), v);
    if sum > 0.0 {
        factors.iter_mut().enumerate().for_each(|(i, factor)| *factor = T::from_f64(v(i) / sum));
    }
}
