//! Double precision is for reference and for small problems: plain loops, whose exponentials are those of the standard
//! library.

use super::{Along, Peak, ROWS_TOGETHER, Row, WideRow};
use crate::envelope::group::{Logits, Peaks};
use crate::scalar::Scalar;

impl WideRow for f64 {
    type Vector<S: pulp::Simd> = f64;

    #[inline(always)]
    fn peaks<S: pulp::Simd>(_simd: S, rows: [Row<'_, f64>; ROWS_TOGETHER]) -> [Peak<f64, f64>; ROWS_TOGETHER] {
        rows.map(peak)
    }

    #[inline(always)]
    fn soften<S: pulp::Simd>(
        simd: S,
        logits: Logits<'_, f64>,
        labels: &[u32],
        out: &mut [f64],
        _along: &mut Along<f64>,
        found: &mut Peaks<f64>,
    ) {
        let Logits { values, classes, stride, scale } = logits;
        for (r, &label) in labels.iter().enumerate() {
            let (logits, out) = (&values[r * stride..][..classes], &mut out[r * stride..][..classes]);
            let peak = peak(Row { logits, label });
            (found.strongest[r], found.rival[r]) = (peak.strongest, peak.rival);
            found.at_label[r] = logits[label as usize];
            let top = found.top(r);
            for (out, &logit) in out.iter_mut().zip(logits) {
                *out = (logit - top).exp_of_scaled(scale);
            }
            // The others are added up without it: one minus a probability near one would be lost in the rounding.
            out[label as usize] = 0.0;
            // A poisoned sum makes everything about the row NaN.
            found.others[r] = f64::add_up(simd, out, peak.poison);
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
    fn multiply<S: pulp::Simd>(_simd: S, values: &mut [f64], factor: f64) {
        for value in values {
            *value *= factor;
        }
    }
}

#[inline(always)]
fn peak(row: Row<'_, f64>) -> Peak<f64, f64> {
    let mut found = Peak { strongest: f64::NEG_INFINITY, rival: 0, poison: 0.0 };
    for (class, &logit) in (0..).zip(row.logits) {
        if logit > found.strongest && class != row.label {
            (found.strongest, found.rival) = (logit, class);
        }
        found.poison += logit * 0.0;
    }
    found
}
