//! Vectors are spelled out here, because what a compiler makes of the plain loops changes with every detail around them.
//!
//! The last vector of a row overlaps the one before it, so that no row has a slow tail; what both hold counts once.

use pulp::Simd;

use super::{Along, Peak, ROWS_TOGETHER, Row, WideRow, soften};
use crate::envelope::group::{Logits, Peaks};
use crate::scalar::exponential::{LOWEST, ROUND, SERIES};

impl WideRow for f32 {
    type Vector<S: Simd> = S::f32s;

    #[inline(always)]
    fn peaks<S: Simd>(simd: S, rows: [Row<'_, f32>; ROWS_TOGETHER]) -> [Peak<f32, S::f32s>; ROWS_TOGETHER] {
        let [a, b, c, d] = [rows[0].logits, rows[1].logits, rows[2].logits, rows[3].logits];
        let mut search_a = Search::new(simd, rows[0].label);
        let mut search_b = Search::new(simd, rows[1].label);
        let mut search_c = Search::new(simd, rows[2].label);
        let mut search_d = Search::new(simd, rows[3].label);
        let mut classes = lane_numbers::<S>();
        let vectors = S::as_simd_f32s(a).0.iter().zip(S::as_simd_f32s(b).0);
        let vectors = vectors.zip(S::as_simd_f32s(c).0.iter().zip(S::as_simd_f32s(d).0));
        for ((&a, &b), (&c, &d)) in vectors {
            search_a.visit(a, classes);
            search_b.visit(b, classes);
            search_c.visit(c, classes);
            search_d.visit(d, classes);
            classes = simd.add_f32s(classes, simd.splat_f32s(S::F32_LANES as f32));
        }
        let length = a.len();
        if length % S::F32_LANES > 0 {
            let last = length - S::F32_LANES;
            let classes = simd.add_f32s(lane_numbers::<S>(), simd.splat_f32s(last as f32));
            search_a.visit(first::<S>(&a[last..]), classes);
            search_b.visit(first::<S>(&b[last..]), classes);
            search_c.visit(first::<S>(&c[last..]), classes);
            search_d.visit(first::<S>(&d[last..]), classes);
        }
        [search_a.result(length), search_b.result(length), search_c.result(length), search_d.result(length)]
    }

    #[inline(always)]
    fn soften<S: Simd>(
        simd: S,
        logits: Logits<'_, f32>,
        labels: &[u32],
        out: &mut [f32],
        along: &mut Along<f32>,
        found: &mut Peaks<f32>,
    ) {
        soften::soften(simd, logits, labels, out, along, found);
    }

    #[inline(always)]
    fn add_up<S: Simd>(simd: S, values: &[f32], start: S::f32s) -> f32 {
        let (vectors, rest) = S::as_simd_f32s(values);
        let mut sum = simd.add_f32s(start, simd.partial_load_f32s(rest));
        for &values in vectors {
            sum = simd.add_f32s(sum, values);
        }
        simd.reduce_sum_f32s(sum)
    }

    #[inline(always)]
    fn lowest<S: Simd>(simd: S, values: &[f32]) -> f32 {
        let mut low = first::<S>(&values[values.len() - S::F32_LANES..]);
        for &values in S::as_simd_f32s(values).0 {
            low = simd.min_f32s(low, values);
        }
        simd.reduce_min_f32s(low)
    }

    #[inline(always)]
    fn multiply<S: Simd>(simd: S, values: &mut [f32], factor: f32) {
        let factors = simd.splat_f32s(factor);
        let last = values.len() - S::F32_LANES;
        // Taken before the loop changes what it overlaps.
        let end = simd.mul_f32s(first::<S>(&values[last..]), factors);
        for values in S::as_mut_simd_f32s(values).0 {
            *values = simd.mul_f32s(*values, factors);
        }
        S::as_mut_simd_f32s(&mut values[last..]).0[0] = end;
    }
}

/// Lane by lane: the largest logit so far that is not the label's, and its class.
pub(super) struct Search<S: Simd> {
    simd: S,
    label: S::f32s,
    pub peak: S::f32s,
    pub rival: S::f32s,
    /// Zeros, or NaN where a logit is not finite.
    pub poison: S::f32s,
}

impl<S: Simd> Search<S> {
    #[inline(always)]
    fn new(simd: S, label: u32) -> Self {
        Search {
            simd,
            label: simd.splat_f32s(label as f32),
            peak: simd.splat_f32s(f32::NEG_INFINITY),
            rival: simd.splat_f32s(f32::INFINITY),
            poison: simd.splat_f32s(0.0),
        }
    }

    /// Of a whole row.
    #[inline(always)]
    pub fn along(simd: S, logits: &[f32], label: u32) -> Self {
        let mut search = Search::new(simd, label);
        let mut classes = lane_numbers::<S>();
        let (vectors, rest) = S::as_simd_f32s(logits);
        for &logits in vectors {
            search.visit(logits, classes);
            classes = simd.add_f32s(classes, simd.splat_f32s(S::F32_LANES as f32));
        }
        if !rest.is_empty() {
            let last = logits.len() - S::F32_LANES;
            let classes = simd.add_f32s(lane_numbers::<S>(), simd.splat_f32s(last as f32));
            search.visit(first::<S>(&logits[last..]), classes);
        }
        search
    }

    #[inline(always)]
    fn visit(&mut self, logits: S::f32s, classes: S::f32s) {
        let simd = self.simd;
        // Zero times a number that is not finite is NaN, and stays so.
        self.poison = simd.mul_add_f32s(logits, simd.splat_f32s(0.0), self.poison);
        let is_label = simd.equal_f32s(classes, self.label);
        let logits = simd.select_f32s(is_label, simd.splat_f32s(f32::NEG_INFINITY), logits);
        // Strictly larger, so the first of equals stays.
        self.rival = simd.select_f32s(simd.greater_than_f32s(logits, self.peak), classes, self.rival);
        self.peak = simd.max_f32s(logits, self.peak);
    }

    #[inline(always)]
    fn result(self, classes: usize) -> Peak<f32, S::f32s> {
        let strongest = self.simd.reduce_max_f32s(self.peak);
        let rival = first_strongest(self.simd, self.peak, self.rival, strongest, classes);
        Peak { strongest, rival, poison: self.poison }
    }
}

/// The lowest of the `rivals` whose logit is the `strongest`.
#[inline(always)]
pub(super) fn first_strongest<S: Simd>(
    simd: S,
    logits: S::f32s,
    rivals: S::f32s,
    strongest: f32,
    classes: usize,
) -> u32 {
    let has_it = simd.equal_f32s(logits, simd.splat_f32s(strongest));
    let rivals = simd.select_f32s(has_it, rivals, simd.splat_f32s(f32::INFINITY));
    // A row of NaNs has no rival; its poison refuses it, and what stands here must only be a class.
    (simd.reduce_min_f32s(rivals) as u32).min(classes as u32 - 1)
}

/// [`crate::scalar::Scalar::exp_of_scaled`] of every lane, to the same bits. `rate` is the scale times log2 e.
///
/// A function and not a closure: a closure that is not inlined loses the processor's instructions.
#[inline(always)]
pub(super) fn exp_of_scaled<S: Simd>(simd: S, x: S::f32s, rate: S::f32s) -> S::f32s {
    let shifted = simd.mul_add_f32s(x, rate, simd.splat_f32s(ROUND));
    let n = simd.sub_f32s(shifted, simd.splat_f32s(ROUND));
    let r = simd.mul_add_f32s(x, rate, simd.neg_f32s(n));
    let mut polynomial = simd.splat_f32s(SERIES[4]);
    for c in [SERIES[3], SERIES[2], SERIES[1], SERIES[0], 1.0] {
        polynomial = simd.mul_add_f32s(polynomial, r, simd.splat_f32s(c));
    }
    let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    let value = simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(polynomial), exponent));
    simd.select_f32s(simd.greater_than_or_equal_f32s(shifted, simd.splat_f32s(LOWEST)), value, simd.splat_f32s(0.0))
}

/// The first vector of at least as many numbers.
#[inline(always)]
pub(super) fn first<S: Simd>(values: &[f32]) -> S::f32s {
    S::as_simd_f32s(values).0[0]
}

/// 0, 1, 2, …
#[inline(always)]
pub(super) fn lane_numbers<S: Simd>() -> S::f32s {
    const NUMBERS: [f32; 16] = [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.];
    first::<S>(&NUMBERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;

    struct Exponentials<'a>(&'a [f32], f32, &'a mut [f32]);

    impl pulp::WithSimd for Exponentials<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let rate = simd.splat_f32s(self.1 * std::f32::consts::LOG2_E);
            for (logits, out) in S::as_simd_f32s(self.0).0.iter().zip(S::as_mut_simd_f32s(self.2).0) {
                *out = exp_of_scaled(simd, *logits, rate);
            }
        }
    }

    #[test]
    fn vectors_give_the_bits_of_single_numbers() {
        for scale in [1.0f32, 0.2, 30.0] {
            let logits: Vec<f32> = (0..992).map(|i| -0.1 * i as f32 / scale).collect();
            let mut found = vec![0.0; logits.len()];
            pulp::Arch::new().dispatch(Exponentials(&logits, scale, &mut found));
            for (x, e) in logits.iter().zip(&found) {
                assert_eq!(x.exp_of_scaled(scale).to_bits(), e.to_bits(), "exp({x} · {scale})");
            }
        }
    }

    struct FindPeaks<'a>([Row<'a, f32>; ROWS_TOGETHER]);

    impl pulp::WithSimd for FindPeaks<'_> {
        type Output = [(f32, u32); ROWS_TOGETHER];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            f32::peaks(simd, self.0).map(|peak| (peak.strongest, peak.rival))
        }
    }

    #[test]
    fn the_first_of_equal_rivals_is_found_and_never_the_label() {
        let row = |peaks: &[usize]| {
            let mut logits = vec![-1.0f32; 101];
            peaks.iter().for_each(|&class| logits[class] = 2.0);
            logits
        };
        // Equals in different vectors, in the vector that overlaps the last one, and beside the label.
        let rows = [row(&[70, 17, 33]), row(&[99, 100, 90]), row(&[3, 40]), row(&[])];
        let labels = [5, 90, 3, 0];
        let found =
            pulp::Arch::new().dispatch(FindPeaks([0, 1, 2, 3].map(|k| Row { logits: &rows[k], label: labels[k] })));
        assert_eq!(found, [(2.0, 17), (2.0, 99), (2.0, 40), (-1.0, 1)]);
    }
}
