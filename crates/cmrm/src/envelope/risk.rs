//! What couples the rows of a batch: from margins to threshold, weights, risk and slopes.

use super::config::{Envelope, EnvelopeConfig, Filter, Normaliser, Scale, Scope};
use super::quantile::{class_thresholds, threshold};
use crate::scalar::{Scalar, sum_in_lanes, sum_pairs_in_lanes};

/// From the margins of a batch to `τ`, the weights, the risk and its slopes `∂R/∂M_i`. Returns `(τ, R)`.
///
/// - mean: `R = −Σ v w M / Σ v`, `∂R/∂M_i = −(v_i/Σv) w_i [1 + M_i (1−w_i)/temp]`;
/// - weights: with `A = Σ v w M / Σ v w`, `R = −A`, `∂R/∂M_j = −v_j [w_j + w_j (1−w_j)(M_j − A)/temp] / Σ v w`.
///
/// `v` are optional row weights (all one without them; they do not move `τ`). There is no gradient through `τ`. Σw is
/// at least ½ in a batch without row weights, since the largest margin is at or above `τ`; the authors' added 1e-8 is
/// not needed. With [`Scale::Doubt`], `R` and its slopes are multiplied by `Σ v 1[M < 0] / Σ v`, without a gradient.
/// With [`Scope::Class`], where thresholds differ from row to row, the `τ` returned is their mean.
///
/// Labels are read for [`Scope::Class`] only. The slices must have equal, non-zero length.
pub fn couple<T: Scalar>(
    envelope: &Envelope,
    margins: &[T],
    labels: &[u32],
    row_weights: Option<&[T]>,
    weights: &mut [T],
    slopes: &mut [T],
    scratch: &mut Vec<T>,
) -> (T, f64) {
    let config = envelope.config();
    // The threshold of a row stands where its slope will be.
    quantiles(config, margins, labels, slopes, scratch);
    pulp::Arch::new().dispatch(Weigh { config, margins, row_weights, weights, slopes })
}

/// The weights of rows by their margins alone, without a risk; `thresholds` is overwritten.
pub(super) fn weigh_by<T: Scalar>(
    envelope: &Envelope,
    margins: &[T],
    labels: &[u32],
    weights: &mut [T],
    thresholds: &mut [T],
    scratch: &mut Vec<T>,
) {
    let config = envelope.config();
    quantiles(config, margins, labels, thresholds, scratch);
    pulp::Arch::new().dispatch(|| {
        cap(config, thresholds);
        filter(config, margins, thresholds, weights);
    });
}

/// The quantile that every row is held against, before the ceiling.
fn quantiles<T: Scalar>(
    config: &EnvelopeConfig,
    margins: &[T],
    labels: &[u32],
    thresholds: &mut [T],
    scratch: &mut Vec<T>,
) {
    match config.scope {
        Scope::Batch => thresholds.fill(threshold(margins, config.alpha, config.quantile, scratch).unwrap_or(T::ZERO)),
        Scope::Class => class_thresholds(margins, labels, config.alpha, config.quantile, scratch, thresholds),
    }
}

/// From thresholds, where the slopes will be, to weights, risk and slopes; with the processor's widest vectors.
struct Weigh<'a, T> {
    config: &'a EnvelopeConfig,
    margins: &'a [T],
    row_weights: Option<&'a [T]>,
    weights: &'a mut [T],
    slopes: &'a mut [T],
}

impl<T: Scalar> pulp::WithSimd for Weigh<'_, T> {
    type Output = (T, f64);

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> (T, f64) {
        match self.row_weights {
            None => self.weigh(|_| 1.0, |_, divisor| 1.0 / divisor),
            // Divided directly: one over a tiny sum would overflow.
            Some(v) => self.weigh(|i| v[i].to_f64(), |i, divisor| v[i].to_f64() / divisor),
        }
    }
}

impl<T: Scalar> Weigh<'_, T> {
    /// `v` are the row weights, `part` what one of them is of a sum.
    #[inline(always)]
    fn weigh(self, v: impl Fn(usize) -> f64, part: impl Fn(usize, f64) -> f64) -> (T, f64) {
        let Weigh { config, margins, row_weights, weights, slopes } = self;
        // Equal lengths, known to be equal: no index is checked in the loops.
        let rows = margins.len();
        let (weights, slopes) = (&mut weights[..rows], &mut slopes[..rows]);
        let tau = cap(config, slopes);
        filter(config, margins, slopes, weights);
        let divisor = match config.normaliser {
            Normaliser::Mean if row_weights.is_none() => rows as f64,
            Normaliser::Mean => sum_in_lanes(rows, &v),
            Normaliser::Weights => sum_pairs_in_lanes(margins, weights, |i, _, w| v(i) * w),
        };
        // Only rows without weight have a weight in the filter: nothing is left to average.
        let divisor = if divisor > 0.0 { divisor } else { 1.0 };
        let average = sum_pairs_in_lanes(margins, weights, |i, margin, w| part(i, divisor) * w * margin);
        let scale = match config.scale {
            Scale::Fixed => 1.0,
            Scale::Doubt => doubt(margins, &v),
        };
        let sharpness = 1.0 / config.temperature;
        // In the mean form the divisor does not move with the weights, so nothing is subtracted from the margin.
        let centre = if config.normaliser == Normaliser::Mean { 0.0 } else { average };
        for i in 0..rows {
            let w = weights[i].to_f64();
            let bend = (1.0 - w) * (margins[i].to_f64() - centre) * sharpness;
            let share = scale * (part(i, divisor) * w);
            // A row without a share has no slope, even where its margin is too large to multiply.
            slopes[i] = if share > 0.0 { T::from_f64(-share * (1.0 + bend)) } else { T::ZERO };
        }
        (tau, -average * scale)
    }
}

/// Lowers every threshold to the ceiling, if there is one, and returns the one to report.
#[inline(always)]
fn cap<T: Scalar>(config: &EnvelopeConfig, thresholds: &mut [T]) -> T {
    if let Some(ceiling) = config.ceiling.map(T::from_f64) {
        for tau in thresholds.iter_mut() {
            *tau = tau.smaller(ceiling);
        }
    }
    match config.scope {
        Scope::Batch => thresholds.first().copied().unwrap_or(T::ZERO),
        Scope::Class => {
            let part = 1.0 / thresholds.len() as f64;
            T::from_f64(sum_pairs_in_lanes(thresholds, thresholds, |_, tau, _| tau * part))
        }
    }
}

#[inline(always)]
fn filter<T: Scalar>(config: &EnvelopeConfig, margins: &[T], thresholds: &[T], weights: &mut [T]) {
    match config.filter {
        Filter::Soft => {
            let steepness = T::from_f64(1.0 / config.temperature);
            for ((w, &margin), &tau) in weights.iter_mut().zip(margins).zip(thresholds) {
                *w = ((margin - tau) * steepness).sigmoid();
            }
        }
        Filter::Hard => {
            for ((w, &margin), &tau) in weights.iter_mut().zip(margins).zip(thresholds) {
                *w = if margin >= tau { T::ONE } else { T::ZERO };
            }
        }
        Filter::Off => weights.fill(T::ONE),
    }
}

/// Share of the rows, by weight, whose margin is negative.
#[inline(always)]
fn doubt<T: Scalar>(margins: &[T], v: impl Fn(usize) -> f64) -> f64 {
    let all = sum_in_lanes(margins.len(), &v);
    let doubted = sum_pairs_in_lanes(margins, margins, |i, margin, _| if margin < 0.0 { v(i) } else { 0.0 });
    if all > 0.0 { doubted / all } else { 0.0 }
}
