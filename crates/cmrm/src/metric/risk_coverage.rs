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
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|&a, &b| confidence[b].total_cmp(&confidence[a]).then(a.cmp(&b)));
    let (mut steps, mut taken, mut wrong, mut area) = (Vec::new(), 0, 0.0, 0.0);
    for equal in order.chunk_by(|&a, &b| confidence[a] == confidence[b]) {
        taken += equal.len();
        wrong += equal.iter().map(|&row| 1.0 - right[row]).sum::<f64>();
        let risk = wrong / taken as f64;
        area += risk * equal.len() as f64 / rows as f64;
        steps.push(RiskAt { coverage: taken as f64 / rows as f64, risk });
    }
    Ok(RiskCoverage { steps, area })
}
