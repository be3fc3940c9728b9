//! Maximum and exponentials of long rows; the audit of probabilities uses the first too.
//!
//! Rows are visited in order and none is asked for before its turn: processors guess what comes next, and on the one
//! that was measured asking only delayed them.

mod double;
mod single;
mod soften;

use super::group::{Lanes, Logits, Peaks, ROWS};
use crate::scalar::Scalar;

/// Rows whose peaks are found in one step, so that their chains of dependent operations overlap.
pub(crate) const ROWS_TOGETHER: usize = 4;

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

    /// Fills `found` and writes the exponentials to `out`, which are of no use at the labels.
    fn soften<S: pulp::Simd>(
        simd: S,
        logits: Logits<'_, Self>,
        labels: &[u32],
        out: &mut [Self],
        along: &mut Along<Self>,
        found: &mut Peaks<Self>,
    );

    /// Sum of `values` and of all numbers in `start`.
    fn add_up<S: pulp::Simd>(simd: S, values: &[Self], start: Self::Vector<S>) -> Self;

    /// The lowest of `values`, NaN apart.
    fn lowest<S: pulp::Simd>(simd: S, values: &[Self]) -> Self;

    /// Multiplies every number by `factor`.
    fn multiply<S: pulp::Simd>(simd: S, values: &mut [Self], factor: Self);
}

/// Vectors of a group's rows that are still to be combined across their lanes, one vector a row. Where vectors are shorter,
/// the last numbers are not used.
pub struct Along<T> {
    peak: [Lanes<T>; ROWS],
    rival: [Lanes<T>; ROWS],
    sum: [Lanes<T>; ROWS],
}

impl<T: Scalar> Along<T> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let zeros = [[T::ZERO; ROWS]; ROWS];
        Along { peak: zeros, rival: zeros, sum: zeros }
    }
}
