//! Metrics of true classes from labels that are partly wrong.

use super::calibration::RowCalibration;
use super::check::check_probabilities;
use crate::error::{Result, check_length};
use crate::matrix::Matrix;
use crate::noise_model::Transition;
use crate::scores::most_likely;

/// What each row adds to the metrics by its true class, told from its observed label.
///
/// With `w = T⁻¹[label]` ([`Transition::unbiased`]) and a metric `m(k)` of the row if its class is k, the row adds
/// `Σ_k w[k] m(k)`. Its mean over the noise is `m(true class)`, so that the mean over many rows is the metric by clean labels, if `T` is
/// right and the noise does not depend on the row. The model that is judged has no say in `w`: weights made from its own probabilities
/// would judge it by itself. Nothing is clipped, which would bias the means: of few rows an accuracy may exceed 1 and a Brier score
/// fall below 0.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrectedRows {
    /// The largest probability.
    pub confidence: Vec<f64>,
    /// 1 if its class is the true one, else 0; in the mean.
    pub right: Vec<f64>,
    /// The log loss ([`super::log_loss`]).
    pub log_loss: Vec<f64>,
    /// The Brier score ([`super::brier`]).
    pub brier: Vec<f64>,
}

impl CorrectedRows {
    /// Of probabilities of the true classes, and observed labels.
    pub fn new<T: Copy + Into<f64>>(
        probabilities: Matrix<'_, T>,
        labels: &[u32],
        transition: &Transition,
    ) -> Result<Self> {
        check_length("classes of the transition matrix", transition.classes(), probabilities.columns())?;
        check_probabilities(probabilities, labels)?;
        let rows = labels.len();
        let with_room = || Vec::with_capacity(rows);
        let mut found =
            CorrectedRows { confidence: with_room(), right: with_room(), log_loss: with_room(), brier: with_room() };
        for (row, &label) in probabilities.iter_rows().zip(labels) {
            let weights = transition.unbiased(label as usize);
            let class = most_likely(row) as usize;
            let (mut log_loss, mut brier) = (0.0, 0.0);
            for (&p, weight) in row.iter().zip(weights) {
                let p: f64 = p.into();
                log_loss -= weight * p.clamp(f64::EPSILON, 1.0).ln();
                // The weights sum to 1, so that Σ_k w[k] Σ_j (p[j] − 1[j = k])² = 1 + Σ_j p[j] (p[j] − 2 w[j]).
                brier += p * (p - 2.0 * weight);
            }
            found.confidence.push(row[class].into());
            found.right.push(weights[class]);
            found.log_loss.push(log_loss);
            found.brier.push(1.0 + brier);
        }
        Ok(found)
    }

    /// The row for [`super::calibration_error_beyond`], which is then what the calibration error would be by the clean labels of the rows.
    ///
    /// Wrong labels add `E[w²] − (E w)²` to the square of a bin's sum for each row; `E w` is 0 or 1 and so its own square, and
    /// `w² − w` is that difference in the mean.
    pub fn calibration(&self, row: usize) -> RowCalibration {
        let right = self.right[row];
        RowCalibration { confidence: self.confidence[row], right, variance: right * (right - 1.0) }
    }
}
