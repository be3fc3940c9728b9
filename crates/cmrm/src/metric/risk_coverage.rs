//! How wrong a model is about the rows that it is surest of.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_length};

/// A confidence as the threshold: rows below it are abstained from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RiskAt {
    /// Share of the rows with at least this confidence.
    pub coverage: f64,
    /// Share of those that are predicted wrongly.
    pub risk: f64,
}

/// The risk at every coverage that a threshold on confidence can have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskCoverage {
    /// By coverage, ascending; the last has all rows, and its risk is the error rate.
    pub steps: Vec<RiskAt>,
    /// The area under the curve (AURC): the mean over the rows of the risk at their own confidence.
    pub area: f64,
}

/// With `S(t) = {i : confidence_i ≥ t}`, the points `(|S(t)|/n, Σ_{i ∈ S(t)} (1 − right_i) / |S(t)|)` for every confidence t that
/// occurs, and the area `Σ_j risk(confidence_j) / n`.
///
/// `right` is 1 or 0, or by labels that may be wrong an unbiased estimate of it ([`super::CorrectedRows::right`]), with which risks
/// may leave `[0, 1]`. Rows of equal confidence are one step: no threshold comes between them.
pub fn risk_coverage(confidence: &[f64], right: &[f64]) -> Result<RiskCoverage> {
    let rows = confidence.len();
    if rows == 0 {
        return Err(Error::Empty { what: "the list of confidences" });
    }
    check_length("predictions for the confidences", rows, right.len())?;
    for (what, values) in [("confidence", confidence), ("right prediction", right)] {
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::non_finite(what, row, 0, values[row]));
        }
    }
    let ranks = ConfidenceRanks::new(confidence);
    let mut steps = Vec::new();
    let area = ranks.walk(right, &vec![1; rows], |step| steps.push(step));
    Ok(RiskCoverage { steps, area })
}

/// Rows by confidence, sorted once for many samples of them.
#[derive(Debug, Clone)]
pub struct ConfidenceRanks {
    /// The surest first.
    order: Vec<usize>,
    /// Whether a row is the last of its confidence, by its place in `order`.
    last: Vec<bool>,
}

impl ConfidenceRanks {
    /// Of finite numbers.
    pub fn new(confidence: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..confidence.len()).collect();
        order.sort_by(|&a, &b| confidence[b].total_cmp(&confidence[a]).then(a.cmp(&b)));
        let ends = order.windows(2).map(|pair| confidence[pair[0]] != confidence[pair[1]]);
        let last = ends.chain([true]).take(order.len()).collect();
        ConfidenceRanks { order, last }
    }

    /// The area under the curve ([`RiskCoverage::area`]) of a sample that holds each row so many times.
    pub fn area(&self, right: &[f64], times: &[u32]) -> f64 {
        self.walk(right, times, |_| ())
    }

    fn walk(&self, right: &[f64], times: &[u32], mut step: impl FnMut(RiskAt)) -> f64 {
        let rows: f64 = times.iter().map(|&times| f64::from(times)).sum();
        let (mut taken, mut wrong, mut area, mut before) = (0.0, 0.0, 0.0, 0.0);
        for (&row, &last) in self.order.iter().zip(&self.last) {
            taken += f64::from(times[row]);
            wrong += f64::from(times[row]) * (1.0 - right[row]);
            if last && taken > before {
                let risk = wrong / taken;
                area += risk * (taken - before) / rows;
                before = taken;
                step(RiskAt { coverage: taken / rows, risk });
            }
        }
        area
    }
}
