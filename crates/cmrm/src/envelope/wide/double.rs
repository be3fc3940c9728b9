//! Double precision is for reference and for small problems: plain loops, whose exponentials are those of the standard
//! library.

use super::{Ahead, Peak, ROWS_TOGETHER, Row, WideRow};
use crate::scalar::Scalar;

impl WideRow for f64 {
    type Vector<S: pulp::Simd> = f64;

    #[inline(always)]
    fn peaks<S: pulp::Simd>(_simd: S, rows: [Row<'_, f64>; ROWS_TOGETHER]) -> [Peak<f64, f64>; ROWS_TOGETHER] {
        rows.map(|row| {
            let mut found = Peak { strongest: f64::NEG_INFINITY, rival: 0, poison: 0.0 };
            for (class, &logit) in (0..).zip(row.logits) {
                if logit > found.strongest && class != row.label {
                    (found.strongest, found.rival) = (logit, class);
                }
                found.poison += logit * 0.0;
            }
            found
        })
    }

    #[inline(always)]
    fn exponentials<S: pulp::Simd>(_simd: S, logits: &[f64], top: f64, scale: f64, _ahead: Ahead, out: &mut [f64]) {
        for (out, &logit) in out.iter_mut().zip(logits) {
            *out = (logit - top).exp_of_scaled(scale);
        }
    }

    #[inline(always)]
    fn add_up<S: pulp::Simd>(_simd: S, values: &[f64], start: f64) -> f64 {
        values.iter().fold(start, |sum, value| sum + value)
    }

    #[inline(always)]
    fn lowest<S: pulp::Simd>(_simd: S, values: &[f64]) -> f64 {
        values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    #[inline(always)]
    fn multiply<S: pulp::Simd>(_simd: S, values: &mut [f64], factor: f64, _ahead: Ahead) {
        for value in values {
            *value *= factor;
        }
    }
}
