use super::config::{Envelope, EnvelopeConfig, Filter, Normaliser, Scale, Scope};
use super::quantile::{class_thresholds, threshold};
use crate::scalar::{Scalar, sum_in_lanes};

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
    let tau = thresholds(config, margins, labels, scratch, slopes);
    weigh(config, margins, slopes, weights);
    let v = |i: usize| row_weights.map_or(1.0, |v| v[i].to_f64());
    let divisor = match config.normaliser {
        Normaliser::Mean if row_weights.is_none() => margins.len() as f64,
        Normaliser::Mean => sum_in_lanes(margins.len(), v),
        Normaliser::Weights => sum_in_lanes(margins.len(), |i| v(i) * weights[i].to_f64()),
    };
    // Only rows without weight have a weight in the filter: nothing is left to average.
    let divisor = if divisor > 0.0 { divisor } else { 1.0 };
    let share = |i: usize, w: T| v(i) * w.to_f64() / divisor;
    let average = sum_in_lanes(margins.len(), |i| share(i, weights[i]) * margins[i].to_f64());
    let scale = match config.scale {
        Scale::Fixed => 1.0,
        Scale::Doubt => doubt(margins, v),
    };
    let sharpness = 1.0 / config.temperature;
    // In the mean form the divisor does not move with the weights, so nothing is subtracted from the margin.
    let centre = if config.normaliser == Normaliser::Mean { 0.0 } else { average };
    for i in 0..margins.len() {
        let w = weights[i].to_f64();
        let bend = (1.0 - w) * (margins[i].to_f64() - centre) * sharpness;
        let share = scale * share(i, weights[i]);
        // A row without a share has no slope, even where its margin is too large to multiply.
        slopes[i] = if share > 0.0 { T::from_f64(-share * (1.0 + bend)) } else { T::ZERO };
    }
    (tau, -average * scale)
}

/// Writes the threshold of every row and returns the one to report.
fn thresholds<T: Scalar>(
    config: &EnvelopeConfig,
    margins: &[T],
    labels: &[u32],
    scratch: &mut Vec<T>,
    thresholds: &mut [T],
) -> T {
    let ceiling = config.ceiling.map(T::from_f64);
    let cap = |tau: T| ceiling.map_or(tau, |ceiling| if tau > ceiling { ceiling } else { tau });
    let whole = threshold(margins, config.alpha, config.quantile, scratch).unwrap_or(T::ZERO);
    if config.scope == Scope::Batch {
        thresholds.fill(cap(whole));
        return cap(whole);
    }
    class_thresholds(margins, labels, config.alpha, config.quantile, whole, scratch, thresholds);
    thresholds.iter_mut().for_each(|tau| *tau = cap(*tau));
    let rows = thresholds.len() as f64;
    T::from_f64(sum_in_lanes(thresholds.len(), |i| thresholds[i].to_f64() / rows))
}

fn weigh<T: Scalar>(config: &EnvelopeConfig, margins: &[T], thresholds: &[T], weights: &mut [T]) {
    match config.filter {
        Filter::Soft => {
            let steepness = T::from_f64(1.0 / config.temperature);
            // Exponentials are fast where the processor's widest vectors are enabled around them.
            pulp::Arch::new().dispatch(|| {
                for ((w, &margin), &tau) in weights.iter_mut().zip(margins).zip(thresholds) {
                    *w = ((margin - tau) * steepness).sigmoid();
                }
            });
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
fn doubt<T: Scalar>(margins: &[T], v: impl Fn(usize) -> f64) -> f64 {
    let all = sum_in_lanes(margins.len(), &v);
    let doubted = sum_in_lanes(margins.len(), |i| if margins[i] < T::ZERO { v(i) } else { 0.0 });
    if all > 0.0 { doubted / all } else { 0.0 }
}
