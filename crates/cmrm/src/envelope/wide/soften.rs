//! Sixteen long rows of single precision, in four steps: the strongest rivals lane by lane, then across
//! the lanes; the exponentials and their sums lane by lane, then across the lanes.
//!
//! What the lanes of a vector come to together takes a chain of dependent operations, longer than the processor looks
//! ahead in the loops along the rows. By itself it is short enough for the chains of many rows to overlap. The rows stay in
//! the processor's first cache throughout.

use pulp::Simd;

use super::Along;
use super::single::{Search, exp_of_scaled, first, first_strongest, lane_numbers};
use crate::envelope::group::{Lanes, Logits, Peaks};

/// [`super::WideRow::soften`].
#[inline(always)]
pub(super) fn soften<S: Simd>(
    simd: S,
    logits: Logits<'_, f32>,
    labels: &[u32],
    out: &mut [f32],
    along: &mut Along<f32>,
    found: &mut Peaks<f32>,
) {
    let Logits { values, classes, stride, scale } = logits;
    let count = labels.len();
    let mut poison = simd.splat_f32s(0.0);
    for (r, &label) in labels.iter().enumerate() {
        let logits = &values[r * stride..][..classes];
        let search = Search::along(simd, logits, label);
        (*lanes::<S>(&mut along.peak[r]), *lanes::<S>(&mut along.rival[r])) = (search.peak, search.rival);
        poison = simd.add_f32s(poison, search.poison);
        found.at_label[r] = logits[label as usize];
    }
    for r in 0..count {
        found.strongest[r] = simd.reduce_max_f32s(first::<S>(&along.peak[r]));
    }
    for r in 0..count {
        let (peak, rival) = (first::<S>(&along.peak[r]), first::<S>(&along.rival[r]));
        found.rival[r] = first_strongest(simd, peak, rival, found.strongest[r], classes);
    }
    let rate = scale * std::f32::consts::LOG2_E;
    for (r, &label) in labels.iter().enumerate() {
        let (logits, out) = (&values[r * stride..][..classes], &mut out[r * stride..][..classes]);
        *lanes::<S>(&mut along.sum[r]) = exponentials(simd, logits, label, found.top(r), rate, out);
    }
    for r in 0..count {
        found.others[r] = simd.reduce_sum_f32s(first::<S>(&along.sum[r]));
    }
    if simd.reduce_sum_f32s(poison).is_nan() {
        for r in 0..count {
            let finite = values[r * stride..][..classes].iter().all(|logit| logit.is_finite());
            found.others[r] = if finite { found.others[r] } else { f32::NAN };
        }
    }
}

/// The vector at the start of the lanes.
#[inline(always)]
fn lanes<S: Simd>(lanes: &mut Lanes<f32>) -> &mut S::f32s {
    &mut S::as_mut_simd_f32s(lanes).0[0]
}

/// `out ← exp((logits − top) · scale)`, where `rate` is the scale times log2 e; returns their sum, lane by lane, without
/// the label's: one minus a probability near one would be lost in the rounding.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, logits: &[f32], label: u32, top: f32, rate: f32, out: &mut [f32]) -> S::f32s {
    let (rate, top, mut sum) = (simd.splat_f32s(rate), simd.splat_f32s(top), simd.splat_f32s(0.0));
    let (label, mut classes) = (simd.splat_f32s(label as f32), lane_numbers::<S>());
    for (&logits, out) in S::as_simd_f32s(logits).0.iter().zip(S::as_mut_simd_f32s(out).0) {
        *out = exp_of_scaled(simd, simd.sub_f32s(logits, top), rate);
        sum = simd.select_f32s(simd.equal_f32s(classes, label), sum, simd.add_f32s(sum, *out));
        classes = simd.add_f32s(classes, simd.splat_f32s(S::F32_LANES as f32));
    }
    let rest = logits.len() % S::F32_LANES;
    if rest > 0 {
        let last = logits.len() - S::F32_LANES;
        let end = exp_of_scaled(simd, simd.sub_f32s(first::<S>(&logits[last..]), top), rate);
        S::as_mut_simd_f32s(&mut out[last..]).0[0] = end;
        let classes = simd.add_f32s(lane_numbers::<S>(), simd.splat_f32s(last as f32));
        let new = simd.greater_than_or_equal_f32s(classes, simd.splat_f32s((logits.len() - rest) as f32));
        let counts = simd.and_m32s(new, simd.not_m32s(simd.equal_f32s(classes, label)));
        sum = simd.add_f32s(sum, simd.select_f32s(counts, end, simd.splat_f32s(0.0)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::group::ROWS;

    const CLASSES: usize = 37;
    const STRIDE: usize = 41;

    struct Soften<'a>(&'a [f32], &'a [u32]);

    impl pulp::WithSimd for Soften<'_> {
        type Output = (Vec<f32>, Peaks<f32>);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let zero = [0.0; ROWS];
            let mut found = Peaks { at_label: zero, strongest: zero, rival: [0; ROWS], others: zero };
            let mut out = vec![0.0; self.0.len()];
            let logits = Logits { values: self.0, classes: CLASSES, stride: STRIDE, scale: 1.5 };
            soften(simd, logits, self.1, &mut out, &mut Along::new(), &mut found);
            (out, found)
        }
    }

    #[test]
    fn vectors_of_any_width_find_what_a_plain_loop_finds() {
        // Small whole numbers: many logits are equal, and the strongest is not always the first vector's.
        let logits: Vec<f32> = (0..13 * STRIDE).map(|i| ((i * i * 7 + i * 3) % 11) as f32).collect();
        let labels: Vec<u32> = (0..13).map(|r| (r * 17 + 30) % CLASSES as u32).collect();
        let mut answers = vec![Simd::vectorize(pulp::Scalar::new(), Soften(&logits, &labels))];
        answers.push(pulp::Arch::new().dispatch(Soften(&logits, &labels)));
        #[cfg(target_arch = "x86_64")]
        answers.extend(pulp::x86::V3::try_new().map(|simd| Simd::vectorize(simd, Soften(&logits, &labels))));
        for (out, found) in answers {
            for (r, &label) in labels.iter().enumerate() {
                let row = &logits[r * STRIDE..][..CLASSES];
                let others = || (0..CLASSES).filter(|&j| j != label as usize);
                let strongest = others().map(|j| row[j]).fold(f32::NEG_INFINITY, f32::max);
                assert_eq!((found.at_label[r], found.strongest[r]), (row[label as usize], strongest));
                assert_eq!(Some(found.rival[r] as usize), others().find(|&j| row[j] == strongest));
                let exp = |j: usize| (f64::from(row[j] - found.top(r)) * 1.5).exp();
                let sum: f64 = others().map(exp).sum();
                assert!((f64::from(found.others[r]) - sum).abs() < 1e-6 * sum, "row {r}");
                assert!(others().all(|j| (f64::from(out[r * STRIDE + j]) - exp(j)).abs() < 1e-6), "row {r}");
            }
        }
    }
}
