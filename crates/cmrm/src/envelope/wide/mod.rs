//! Maximum and exponentials of long rows; the audit of probabilities uses the first too.
//!
//! The maxima of a few rows are found before their exponentials are taken, and these before they are added up, so that the
//! rows' chains of dependent operations overlap; the later looks find the rows in the processor's first cache. At this rate memory would be the
//! slower half, so the rows that come later are asked for in time.

mod double;
mod single;

use super::group::{Logits, Peaks};
use crate::scalar::Scalar;

/// Rows in one step.
pub(crate) const ROWS_TOGETHER: usize = 4;

/// How many rows before its turn a row is asked for.
pub(super) const ROWS_AHEAD: usize = 16;

/// Most classes of a row: the classes are counted in `f32`.
pub(crate) const MOST_CLASSES: usize = 1 << 24;

/// Fewest classes of a row.
pub(crate) const LEAST_CLASSES: usize = super::narrow::MOST_CLASSES + 1;

/// One row of logits; no shorter than [`LEAST_CLASSES`], which is more than the lanes of any vector.
#[derive(Clone, Copy)]
pub struct Row<'a, T> {
    pub(crate) logits: &'a [T],
    pub(crate) label: u32,
}

/// Of one row's logits without the label's.
#[derive(Clone, Copy)]
pub struct Peak<T, V> {
    /// The largest.
    pub(crate) strongest: T,
    /// The first class that has it.
    pub(crate) rival: u32,
    /// Zeros, or NaN where a logit of the row is not finite.
    pub(crate) poison: V,
}

/// What is done along a row, in the vectors of the processor.
pub trait WideRow: Copy {
    /// Numbers side by side.
    type Vector<S: pulp::Simd>: Copy;

    /// Finds the strongest rivals of a few rows of equal length.
    fn peaks<S: pulp::Simd>(
        simd: S,
        rows: [Row<'_, Self>; ROWS_TOGETHER],
    ) -> [Peak<Self, Self::Vector<S>>; ROWS_TOGETHER];

    /// `out ← exp((logits − top) · scale)`. Asks for what stands `ahead` numbers later in both.
    fn exponentials<S: pulp::Simd>(simd: S, logits: &[Self], top: Self, scale: Self, ahead: Ahead, out: &mut [Self]);

    /// Sum of `values` and of all numbers in `start`.
    fn add_up<S: pulp::Simd>(simd: S, values: &[Self], start: Self::Vector<S>) -> Self;

    /// The lowest of `values`, NaN apart.
    fn lowest<S: pulp::Simd>(simd: S, values: &[Self]) -> Self;

    /// Multiplies every number by `factor`. Asks for what stands `ahead` numbers later.
    fn multiply<S: pulp::Simd>(simd: S, values: &mut [Self], factor: Self, ahead: Ahead);
}

/// Fills `found` and writes the exponentials to `out`.
#[inline(always)]
pub(super) fn soften<T: Scalar, S: pulp::Simd>(
    simd: S,
    logits: Logits<'_, T>,
    labels: &[u32],
    out: &mut [T],
    found: &mut Peaks<T>,
) {
    let Logits { values, classes, stride, scale } = logits;
    let ahead = Ahead::new((ROWS_AHEAD * stride) as isize);
    let count = labels.len();
    for start in (0..count).step_by(ROWS_TOGETHER) {
        // Where rows are missing at the end, the last one stands in for them.
        let mut rows = [Row { logits: &values[start * stride..][..classes], label: labels[start] }; ROWS_TOGETHER];
        for (k, row) in rows.iter_mut().enumerate() {
            let r = (start + k).min(count - 1);
            *row = Row { logits: &values[r * stride..][..classes], label: labels[r] };
        }
        let peaks = T::peaks(simd, rows);
        for (r, (row, peak)) in (start..count).zip(rows.iter().zip(&peaks)) {
            found.at_label[r] = row.logits[row.label as usize];
            (found.strongest[r], found.rival[r]) = (peak.strongest, peak.rival);
            let out = &mut out[r * stride..][..classes];
            T::exponentials(simd, row.logits, found.top(r), scale, ahead, out);
            // The others are added up without it: one minus a probability near one would be lost in the rounding.
            out[row.label as usize] = T::ZERO;
        }
        for (r, peak) in (start..count).zip(&peaks) {
            // A poisoned sum makes everything about the row NaN.
            found.others[r] = T::add_up(simd, &out[r * stride..][..classes], peak.poison);
        }
    }
}

/// Asks for numbers that will be needed soon. Elsewhere than on x86 the processor is left to its own guesses.
#[derive(Clone, Copy)]
pub struct Ahead {
    /// How many numbers later; negative where rows are visited from the end.
    distance: isize,
    #[cfg(target_arch = "x86_64")]
    sse: Option<pulp::core_arch::x86::Sse>,
}

impl Ahead {
    #[inline(always)]
    pub(super) fn new(distance: isize) -> Self {
        Ahead {
            distance,
            #[cfg(target_arch = "x86_64")]
            sse: pulp::core_arch::x86::Sse::try_new(),
        }
    }

    /// The cache line at this distance from the first of `values`. It may lie outside of any memory: nothing is read.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
    fn ask<V, T>(self, values: &V) {
        #[cfg(target_arch = "x86_64")]
        if let Some(sse) = self.sse {
            let place = std::ptr::from_ref(values).cast::<T>().wrapping_offset(self.distance);
            sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast());
        }
    }
}
