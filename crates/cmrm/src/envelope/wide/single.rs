//! Vectors are spelled out here, because what a compiler makes of the plain loops changes with every detail around them.
//!
//! The last vector of a row overlaps the one before it, so that no row has a slow tail; what both hold counts once.

use pulp::Simd;

use super::{Row, WideRow};
use crate::scalar::exponential::{BIAS, LN2_HIGH, LN2_LOW, LOWEST, ROUND, SERIES};

impl WideRow for f32 {
    type Vector<S: Simd> = S::f32s;

    #[inline(always)]
    fn zeros<S: Simd>(simd: S) -> S::f32s {
        simd.splat_f32s(0.0)
    }

    #[inline(always)]
    fn peak<S: Simd>(simd: S, row: Row<'_, f32>) -> (f32, u32, S::f32s) {
        let mut search = Search::new(simd, &row);
        let mut classes = lane_numbers::<S>();
        let (vectors, rest) = S::as_simd_f32s(row.logits);
        for &logits in vectors {
            search.visit(logits, classes);
            classes = simd.add_f32s(classes, simd.splat_f32s(S::F32_LANES as f32));
        }
        if !rest.is_empty() {
            let last = row.logits.len() - S::F32_LANES;
            let classes = simd.add_f32s(lane_numbers::<S>(), simd.splat_f32s(last as f32));
            search.visit(first::<S>(&row.logits[last..]), classes);
        }
        let (peak, rival) = search.result();
        // A row of NaNs has no rival; its poison refuses it, whatever stands here must only be a class.
        let rival = if rival < row.logits.len() as f32 { rival as u32 } else { 0 };
        (peak, rival, search.poison)
    }

    #[inline(always)]
    fn exponentials<S: Simd>(simd: S, row: Row<'_, f32>, top: f32, more: S::f32s, out: &mut [f32]) -> f32 {
        let (zero, scale, top) = (simd.splat_f32s(0.0), simd.splat_f32s(row.scale), simd.splat_f32s(top));
        let label = simd.splat_f32s(row.label as f32);
        let (mut sum, mut classes) = (more, lane_numbers::<S>());
        let (vectors, rest) = S::as_simd_f32s(row.logits);
        for (&logits, out) in vectors.iter().zip(S::as_mut_simd_f32s(out).0) {
            let values = exp_below(simd, logits, scale, top);
            *out = values;
            sum = simd.select_f32s(simd.equal_f32s(classes, label), sum, simd.add_f32s(sum, values));
            classes = simd.add_f32s(classes, simd.splat_f32s(S::F32_LANES as f32));
        }
        if !rest.is_empty() {
            let last = row.logits.len() - S::F32_LANES;
            let values = exp_below(simd, first::<S>(&row.logits[last..]), scale, top);
            S::as_mut_simd_f32s(&mut out[last..]).0[0] = values;
            let counted = simd.splat_f32s((row.logits.len() - rest.len()) as f32);
            let classes = simd.add_f32s(lane_numbers::<S>(), simd.splat_f32s(last as f32));
            let values = simd.select_f32s(simd.equal_f32s(classes, label), zero, values);
            sum = simd.add_f32s(sum, simd.select_f32s(simd.less_than_f32s(classes, counted), zero, values));
        }
        simd.reduce_sum_f32s(sum)
    }
}

/// Lane by lane: the largest scaled logit so far that is not the label's, and its class.
struct Search<S: Simd> {
    simd: S,
    scale: S::f32s,
    label: S::f32s,
    peak: S::f32s,
    rival: S::f32s,
    poison: S::f32s,
}

impl<S: Simd> Search<S> {
    #[inline(always)]
    fn new(simd: S, row: &Row<'_, f32>) -> Self {
        let splat = |number| simd.splat_f32s(number);
        let (peak, rival) = (splat(f32::NEG_INFINITY), splat(f32::INFINITY));
        Search { simd, scale: splat(row.scale), label: splat(row.label as f32), peak, rival, poison: splat(0.0) }
    }

    #[inline(always)]
    fn visit(&mut self, logits: S::f32s, classes: S::f32s) {
        let simd = self.simd;
        let scaled = simd.mul_f32s(logits, self.scale);
        // Zero times a number that is not finite is NaN, and stays so.
        self.poison = simd.mul_add_f32s(scaled, simd.splat_f32s(0.0), self.poison);
        let is_label = simd.equal_f32s(classes, self.label);
        let scaled = simd.select_f32s(is_label, simd.splat_f32s(f32::NEG_INFINITY), scaled);
        // Strictly larger, so the first of equals stays.
        self.rival = simd.select_f32s(simd.greater_than_f32s(scaled, self.peak), classes, self.rival);
        self.peak = simd.max_f32s(scaled, self.peak);
    }

    /// Largest of all lanes, and the lowest class that has it.
    #[inline(always)]
    fn result(&self) -> (f32, f32) {
        let simd = self.simd;
        let peak = simd.reduce_max_f32s(self.peak);
        let has_it = simd.equal_f32s(self.peak, simd.splat_f32s(peak));
        let classes = simd.select_f32s(has_it, self.rival, simd.splat_f32s(f32::INFINITY));
        (peak, simd.reduce_min_f32s(classes))
    }
}

/// `exp(logits · scale − top)`, rounded as the maximum was, or the largest would not come out as one.
///
/// A function and not a closure: a closure that is not inlined loses the processor's instructions.
#[inline(always)]
fn exp_below<S: Simd>(simd: S, logits: S::f32s, scale: S::f32s, top: S::f32s) -> S::f32s {
    exp_of_nonpositive(simd, simd.sub_f32s(simd.mul_f32s(logits, scale), top))
}

/// [`crate::scalar::Scalar::exp_of_nonpositive`] of every lane, to the same bits.
#[inline(always)]
fn exp_of_nonpositive<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let splat = |constant: f32| simd.splat_f32s(constant);
    let shifted = simd.mul_add_f32s(x, splat(std::f32::consts::LOG2_E), splat(ROUND));
    let n = simd.sub_f32s(shifted, splat(ROUND));
    let r = simd.mul_add_f32s(n, splat(-LN2_LOW), simd.mul_add_f32s(n, splat(-LN2_HIGH), x));
    let r2 = simd.mul_f32s(r, r);
    let high = simd.mul_add_f32s(r, splat(SERIES[3]), splat(SERIES[2]));
    let rest = simd.mul_add_f32s(r2, high, simd.mul_add_f32s(r, splat(SERIES[1]), splat(SERIES[0])));
    let polynomial = simd.mul_add_f32s(r2, rest, simd.add_f32s(splat(1.0), r));
    let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    let power = simd.transmute_f32s_u32s(simd.add_u32s(exponent, simd.splat_u32s(BIAS)));
    let value = simd.mul_f32s(polynomial, power);
    simd.select_f32s(simd.greater_than_or_equal_f32s(x, splat(LOWEST)), value, splat(0.0))
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
