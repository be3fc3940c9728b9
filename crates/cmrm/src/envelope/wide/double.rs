//! Double precision is for reference and for small problems: plain loops, whose exponentials are those of the standard
//! library.

use super::{Row, WideRow};
use crate::scalar::Scalar;

impl WideRow for f64 {
    type Vector<S: pulp::Simd> = f64;

    #[inline(always)]
    fn zeros<S: pulp::Simd>(_simd: S) -> f64 {
        0.0
    }

    #[inline(always)]
    fn peak<S: pulp::Simd>(_simd: S, row: Row<'_, f64>) -> (f64, u32, f64) {
        let (mut peak, mut rival, mut poison) = (f64::NEG_INFINITY, 0, 0.0);
        for (class, &logit) in (0..).zip(row.logits) {
            let scaled = logit * row.scale;
            if scaled > peak && class != row.label {
                (peak, rival) = (scaled, class);
            }
            poison += scaled * 0.0;
        }
        (peak, rival, poison)
    }

    #[inline(always)]
    fn exponentials<S: pulp::Simd>(_simd: S, row: Row<'_, f64>, top: f64, more: f64, out: &mut [f64]) -> f64 {
        let mut sum = more;
        for ((class, &logit), out) in (0..).zip(row.logits).zip(out) {
            *out = (logit * row.scale - top).exp_of_nonpositive();
            sum += if class == row.label { 0.0 } else { *out };
        }
        sum
    }
}
