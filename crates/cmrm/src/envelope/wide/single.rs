//! Vectors are spelled out here, because what a compiler makes of the plain loops changes with every detail around them.
//!
//! The last vector of a row overlaps the one before it, so that no row has a slow tail; what both hold counts once.

use pulp::Simd;

use super::{Ahead, Peak, ROWS_TOGETHER, Row, WideRow};
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
    fn exponentials<S: Simd>(simd: S, logits: &[f32], top: f32, scale: f32, ahead: Ahead, out: &mut [f32]) {
        let (rate, top) = (simd.splat_f32s(scale * std::f32::consts::LOG2_E), simd.splat_f32s(top));
        let (vectors, rest) = S::as_simd_f32s(logits);
        for (logits, out) in vectors.iter().zip(S::as_mut_simd_f32s(out).0) {
            ahead.ask::<_, f32>(logits);
            ahead.ask::<_, f32>(out);
            *out = exp_of_scaled(simd, simd.sub_f32s(*logits, top), rate);
        }
        if !rest.is_empty() {
            let last = logits.len() - S::F32_LANES;
            let below_top = simd.sub_f32s(first::<S>(&logits[last..]), top);
            S::as_mut_simd_f32s(&mut out[last..]).0[0] = exp_of_scaled(simd, below_top, rate);
        }
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
    fn multiply<S: Simd>(simd: S, values: &mut [f32], factor: f32, ahead: Ahead) {
        let factors = simd.splat_f32s(factor);
        let last = values.len() - S::F32_LANES;
        // Taken before the loop changes what it overlaps.
        let end = simd.mul_f32s(first::<S>(&values[last..]), factors);
        for values in S::as_mut_simd_f32s(values).0 {
            ahead.ask::<_, f32>(values);
            *values = simd.mul_f32s(*values, factors);
        }
        S::as_mut_simd_f32s(&mut values[last..]).0[0] = end;
    }
}

/// Lane by lane: the largest logit so far that is not the label's, and its class.
struct Search<S: Simd> {
    simd: S,
    label: S::f32s,
    peak: S::f32s,
    rival: S::f32s,
    poison: S::f32s,
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

    /// Largest of all lanes, and the lowest of the `classes` that has it.
    #[inline(always)]
    fn result(self, classes: usize) -> Peak<f32, S::f32s> {
        let simd = self.simd;
        let strongest = simd.reduce_max_f32s(self.peak);
        let has_it = simd.equal_f32s(self.peak, simd.splat_f32s(strongest));
        let rivals = simd.select_f32s(has_it, self.rival, simd.splat_f32s(f32::INFINITY));
        // A row of NaNs has no rival; its poison refuses it, and what stands here must only be a class.
        let rival = (simd.reduce_min_f32s(rivals) as u32).min(classes as u32 - 1);
        Peak { strongest, rival, poison: self.poison }
    }
}

/// [`crate::scalar::Scalar::exp_of_scaled`] of every lane, to the same bits. `rate` is the scale times log2 e.
///
/// A function and not a closure: a closure that is not inlined loses the processor's instructions.
#[inline(always)]
fn exp_of_scaled<S: Simd>(simd: S, x: S::f32s, rate: S::f32s) -> S::f32s {
    let (c1, c2, c3) = (simd.splat_f32s(SERIES[0]), simd.splat_f32s(SERIES[1]), simd.splat_f32s(SERIES[2]));
    let (c4, c5) = (simd.splat_f32s(SERIES[3]), simd.splat_f32s(SERIES[4]));
    let shifted = simd.mul_add_f32s(x, rate, simd.splat_f32s(ROUND));
    let n = simd.sub_f32s(shifted, simd.splat_f32s(ROUND));
    let r = simd.mul_add_f32s(x, rate, simd.neg_f32s(n));
    let r2 = simd.mul_f32s(r, r);
    let rest = simd.mul_add_f32s(r2, simd.mul_add_f32s(r, c5, c4), simd.mul_add_f32s(r, c3, c2));
    let polynomial = simd.mul_add_f32s(r2, rest, simd.mul_add_f32s(r, c1, simd.splat_f32s(1.0)));
    let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    let value = simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(polynomial), exponent));
    simd.select_f32s(simd.greater_than_or_equal_f32s(shifted, simd.splat_f32s(LOWEST)), value, simd.splat_f32s(0.0))
}

/// The first vector of at least as many numbers.
#[inline(always)]
fn first<S: Simd>(values: &[f32]) -> S::f32s {
    S::as_simd_f32s(values).0[0]
}

/// 0, 1, 2, …
#[inline(always)]
fn lane_numbers<S: Simd>() -> S::f32s {
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
            f32::exponentials(simd, self.0, 0.0, self.1, Ahead::new(0), self.2);
        }
    }

    #[test]
    fn vectors_give_the_bits_of_single_numbers() {
        for scale in [1.0f32, 0.2, 30.0] {
            // 997 numbers: whole vectors and a rest, whatever the width.
            let logits: Vec<f32> = (0..997).map(|i| -0.1 * i as f32 / scale).collect();
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
