//! Order statistics that the checks share.

use crate::envelope::conformal_rank;
use crate::error::{Error, Result, check_parameter};

/// Rank of the batch quantile as the envelope takes it, counted from one; 1 where there are no rows.
pub(super) fn quantile_rank(rows: usize, alpha: f64) -> usize {
    conformal_rank(alpha, rows.max(1))
}

/// The `rank`-th smallest value, ranks counted from one and within `values`; reorders them.
pub(super) fn smallest(values: &mut [f64], rank: usize) -> f64 {
    *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1
}

/// Refuses an empty list and numbers that are not finite; returns them as `f64`.
pub(super) fn finite<T: Copy + Into<f64>>(what: &'static str, values: &[T]) -> Result<Vec<f64>> {
    if values.is_empty() {
        return Err(Error::Empty { what });
    }
    let values: Vec<f64> = values.iter().map(|&value| value.into()).collect();
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(row) => Err(Error::non_finite(what, row, 0, values[row])),
    }
}

/// Refuses a level that is not strictly between 0 and 1.
pub(super) fn check_level(name: &'static str, value: f64) -> Result<()> {
    check_parameter(name, value, value > 0.0 && value < 1.0, "above 0 and below 1")
}
