//! How well the envelope's weights point at wrong labels.

use serde::{Deserialize, Serialize};

use super::order::finite;
use crate::error::{Result, check_length};

/// Rows of smaller weight count as filtered: their margin lies below τ.
const FILTERED_BELOW: f64 = 0.5;

/// Filtered rows against truly wrong labels, for one epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilterQuality {
    /// Rows.
    pub rows: usize,
    /// Rows with w < ½.
    pub filtered: usize,
    /// Rows whose label is wrong.
    pub wrong: usize,
    /// Rows that are both.
    pub wrong_filtered: usize,
    /// Share of filtered rows whose label is wrong; `None` if nothing is filtered.
    pub precision: Option<f64>,
    /// Share of wrong labels that are filtered; `None` if no label is wrong.
    pub recall: Option<f64>,
}

/// Precision and recall of wrong labels among the rows with w < ½. `wrong` says for each row whether its label is.
pub fn filter_quality<T: Copy + Into<f64>>(weights: &[T], wrong: &[bool]) -> Result<FilterQuality> {
    check_length("marks of wrong labels, one per weight", weights.len(), wrong.len())?;
    let weights = finite("weight", weights)?;
    let filtered = weights.iter().filter(|&&weight| weight < FILTERED_BELOW).count();
    let both = weights.iter().zip(wrong).filter(|&(&weight, &wrong)| weight < FILTERED_BELOW && wrong).count();
    let wrong = wrong.iter().filter(|&&wrong| wrong).count();
    let share = |of: usize| (of > 0).then(|| both as f64 / of as f64);
    Ok(FilterQuality {
        rows: weights.len(),
        filtered,
        wrong,
        wrong_filtered: both,
        precision: share(filtered),
        recall: share(wrong),
    })
}
