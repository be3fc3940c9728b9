//! Refusals: what is not a table of probabilities or a uniform number.

use crate::error::{Error, Result, check_length};
use crate::matrix::Matrix;

/// How far a row's sum may lie from 1: wide enough for half-precision softmax over many classes, narrow enough to
/// notice logits, scores of separate binary classifiers and unnormalised counts.
pub(crate) const SUM_SLACK: f64 = 0.01;

/// Numbers that are checked at a time.
const LANES: usize = 8;

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
    let mut sums = [0.0; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane].into();
        }
    }
    let sum = sums.iter().sum::<f64>() + rest.iter().map(|&p| p.into()).sum::<f64>();
    // All are looked at, without a branch at each; NaN fails. Where nothing is negative, no number exceeds the sum.
    let none_negative = row.iter().map(|&p| -> f64 { p.into() }).fold(true, |none, p| none & (p >= 0.0));
    let is_bad = |&p: &T| !(0.0..=1.0 + TOP_SLACK).contains(&p.into());
    if (!none_negative || sum > 1.0 + TOP_SLACK)
        && let Some(column) = row.iter().position(is_bad)
    {
        return Err(bad(i, column, row[column].into()));
    }
    if (sum - 1.0).abs() > SUM_SLACK {
        return Err(Error::RowSum { row: i, sum });
    }
    Ok(())
}

/// What is said of a number that is no probability.
#[cold]
fn bad(row: usize, column: usize, value: f64) -> Error {
    if value.is_finite() {
        Error::Probability { row, column, value }
    } else {
        Error::non_finite("probability", row, column, value)
    }
}

/// Refuses uniform numbers that are missing or outside `[0, 1]`.
pub(super) fn check_uniforms(uniforms: &[f64], rows: usize) -> Result<()> {
    check_length("uniform numbers for randomised APS, one per row", rows, uniforms.len())?;
    match uniforms.iter().position(|u| !(0.0..=1.0).contains(u)) {
        None => Ok(()),
        Some(row) if !uniforms[row].is_finite() => Err(Error::non_finite("uniform number", row, 0, uniforms[row])),
        Some(row) => Err(Error::Probability { row, column: 0, value: uniforms[row] }),
    }
}
