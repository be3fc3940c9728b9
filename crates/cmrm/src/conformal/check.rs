//! Refusals: what is not a table of probabilities or a uniform number.

use crate::error::{Error, Result, check_length};
use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// How far a row's sum may lie from 1: wide enough for half-precision softmax over many classes, narrow enough to
/// notice logits, scores of separate binary classifiers and unnormalised counts.
pub(crate) const SUM_SLACK: f64 = 0.01;

/// Numbers that are checked at a time.
const LANES: usize = 8;

/// Numbers that are glanced at together: one 512-bit register of `f32`.
const GLANCE: usize = 16;

/// How far a probability may exceed 1 by rounding in single precision.
const TOP_SLACK: f64 = 1e-6;

/// Refuses numbers that are not probabilities, and rows that do not sum to 1.
pub(crate) fn check_probabilities<T: Copy + Into<f64>>(probabilities: Matrix<'_, T>) -> Result<()> {
    probabilities.iter_rows().enumerate().try_for_each(|(i, row)| check_row(i, row))
}

/// Refuses row `i` if it holds a number that is not a probability or does not sum to 1.
#[inline(always)]
pub(crate) fn check_row<T: Copy + Into<f64>>(i: usize, row: &[T]) -> Result<()> {
    // Sums side by side: one sum would wait for itself at every number.
    let (mut sums, mut within) = ([0.0; LANES], [true; LANES]);
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut add = |lane: usize, p: f64| {
        sums[lane] += p;
        within[lane] &= (0.0..=1.0 + TOP_SLACK).contains(&p);
    };
    for chunk in chunks {
        for lane in 0..LANES {
            add(lane, chunk[lane].into());
        }
    }
    rest.iter().enumerate().for_each(|(lane, &p)| add(lane, p.into()));
    if !within.iter().all(|&within| within) {
        return Err(first_bad(i, row));
    }
    let sum: f64 = sums.iter().sum();
    if (sum - 1.0).abs() > SUM_SLACK {
        return Err(Error::RowSum { row: i, sum });
    }
    Ok(())
}

/// Whether `row` is plainly one of probabilities; where this says no, [`check_row`] decides. It adds up in the numbers' own
/// precision, and keeps clear of the limits by more than the rounding of that.
#[inline(always)]
pub(super) fn is_plainly_sound<T: Scalar>(row: &[T]) -> bool {
    let (mut sums, mut least, mut most) = ([T::ZERO; GLANCE], [T::ZERO; GLANCE], [T::ZERO; GLANCE]);
    let mut add = |numbers: &[T; GLANCE]| {
        for lane in 0..GLANCE {
            sums[lane] += numbers[lane];
            least[lane] = numbers[lane].smaller(least[lane]);
            most[lane] = numbers[lane].larger(most[lane]);
        }
    };
    let (chunks, rest) = row.as_chunks::<GLANCE>();
    chunks.iter().for_each(&mut add);
    let mut last = [T::ZERO; GLANCE];
    last[..rest.len()].copy_from_slice(rest);
    add(&last);
    // By halves, which are vectors too.
    for half in [GLANCE / 2, GLANCE / 4, GLANCE / 8, GLANCE / 16] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
            least[lane] = least[lane].smaller(least[lane + half]);
            most[lane] = most[lane].larger(most[lane + half]);
        }
    }
    // NaN is neither less nor more than anything, and spoils the sum.
    least[0] >= T::ZERO && most[0] <= T::ONE && (sums[0].to_f64() - 1.0).abs() <= 0.9 * SUM_SLACK
}

/// The error for the first number of `row` that is no probability.
#[cold]
fn first_bad<T: Copy + Into<f64>>(i: usize, row: &[T]) -> Error {
    let is_bad = |p: f64| !(0.0..=1.0 + TOP_SLACK).contains(&p);
    let column = row.iter().position(|&p| is_bad(p.into())).unwrap_or(0);
    let value: f64 = row[column].into();
    if value.is_finite() {
        Error::Probability { row: i, column, value }
    } else {
        Error::non_finite("probability", i, column, value)
    }
}

/// Refuses uniform numbers that are missing or outside `[0, 1]`.
pub(super) fn check_uniforms(uniforms: &[f64], rows: usize) -> Result<()> {
    check_length("uniform numbers for randomised APS, one a row", rows, uniforms.len())?;
    match uniforms.iter().position(|u| !(0.0..=1.0).contains(u)) {
        None => Ok(()),
        Some(row) if !uniforms[row].is_finite() => Err(Error::non_finite("uniform number", row, 0, uniforms[row])),
        Some(row) => Err(Error::Probability { row, column: 0, value: uniforms[row] }),
    }
}
