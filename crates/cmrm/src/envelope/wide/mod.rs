//! Maximum and exponentials of long rows.
//!
//! The maxima of a few rows are found before their exponentials are taken, so that the rows' chains of dependent
//! operations overlap; the second look finds the rows in the processor's first cache. At this rate memory would be the
//! slower half, so the rows that come later are asked for in time.

mod double;
mod single;

use super::group::{Logits, Peaks};
use crate::scalar::Scalar;

/// Rows in one step.
const ROWS_TOGETHER: usize = 4;

/// How many rows before its turn a row is asked for.
pub(super) const ROWS_AHEAD: usize = 16;

/// Most classes of a row: the classes are counted in `f32`.
pub(super) const MOST_CLASSES: usize = 1 << 24;

/// One row of logits; no shorter than [`super::narrow::MOST_CLASSES`], which is more than the lanes of any vector.
#[derive(Clone, Copy)]
pub struct Row<'a, T> {
    logits: &'a [T],
    scale: T,
    label: u32,
}

/// What is done along a row, in the vectors of the processor.
pub trait WideRow: Copy {
    /// Numbers side by side.
    type Vector<S: pulp::Simd>: Copy;

    /// A vector of zeros.
    fn zeros<S: pulp::Simd>(simd: S) -> Self::Vector<S>;

    /// Of the scaled logits without the label's: the largest and the first class that has it. And numbers that are zero,
    /// or NaN where a scaled logit is not finite.
    fn peak<S: pulp::Simd>(simd: S, row: Row<'_, Self>) -> (Self, u32, Self::Vector<S>);

    /// `out ← exp(scaled logits − top)`. Returns the sum of all but the label's, and of `more`.
    fn exponentials<S: pulp::Simd>(
        simd: S,
        row: Row<'_, Self>,
        top: Self,
        more: Self::Vector<S>,
        out: &mut [Self],
    ) -> Self;
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
    let ahead = Ahead::new();
    let row = |r: usize| Row { logits: &values[r * stride..][..classes], scale, label: labels[r] };
    for start in (0..labels.len()).step_by(ROWS_TOGETHER) {
        let rows = start..labels.len().min(start + ROWS_TOGETHER);
        let mut poison = [T::zeros(simd); ROWS_TOGETHER];
        for (r, poison) in rows.clone().zip(&mut poison) {
            found.at_label[r] = row(r).logits[labels[r] as usize] * scale;
            (found.strongest[r], found.rival[r], *poison) = T::peak(simd, row(r));
        }
        for (r, poison) in rows.zip(poison) {
            ahead.ask(values, (r + ROWS_AHEAD) * stride, classes);
            ahead.ask(out, (r + ROWS_AHEAD) * stride, classes);
            let out = &mut out[r * stride..][..classes];
            // A poisoned sum makes everything about the row NaN.
            found.others[r] = T::exponentials(simd, row(r), found.top(r), poison, out);
        }
    }
}

/// Asks for numbers that will be needed soon.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    #[cfg(target_arch = "x86_64")]
    sse: Option<pulp::core_arch::x86::Sse>,
}

impl Ahead {
    #[inline(always)]
    pub fn new() -> Self {
        Ahead {
            #[cfg(target_arch = "x86_64")]
            sse: pulp::core_arch::x86::Sse::try_new(),
        }
    }

    /// `count` numbers from place `start` on, as far as there are any. Elsewhere than on x86 the processor is left to its
    /// own guesses.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
    pub fn ask<T>(self, values: &[T], start: usize, count: usize) {
        #[cfg(target_arch = "x86_64")]
        if let (Some(sse), Some(rest)) = (self.sse, values.get(start..)) {
            const LINE: usize = 64;
            for number in rest[..count.min(rest.len())].iter().step_by(LINE / size_of::<T>()) {
                sse._mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(number).cast());
            }
        }
    }
}
