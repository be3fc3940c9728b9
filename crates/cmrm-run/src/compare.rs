//! The difference between two models on the same rows.

use cmrm::Matrix;
use cmrm::metric::{self, RowCalibration};
use cmrm_report::Estimate;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::judge::{CALIBRATION_BINS, mean, mean_interval, resampling};

/// Second minus first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Of their accuracies.
    pub accuracy: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Of their log losses: unlike accuracy, it asks how sure a model is, and unlike calibration, also whether it tells rows apart.
    /// Nothing from one row, nor in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<Estimate>,
    /// Of their calibration errors, each without what chance adds to it ([`metric::calibration_error_beyond`]). Nothing from one
    /// row, nor in earlier runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Estimate>,
}

impl From<Difference> for cmrm_report::Difference {
    fn from(found: Difference) -> Self {
        cmrm_report::Difference {
            accuracy: Estimate { value: found.accuracy, low: found.low, high: found.high },
            log_loss: found.log_loss,
            calibration: found.calibration,
        }
    }
}

/// Accuracy, log loss and calibration of `second` minus those of `first`, with bootstrap intervals over the rows they share.
pub fn compare(first: Matrix<'_, f32>, second: Matrix<'_, f32>, labels: &[u32], seed: u64) -> Result<Difference> {
    let rows = labels.len();
    let (first, second) = (Judged::new(first, labels)?, Judged::new(second, labels)?);
    let right = |model: &Judged, row: usize| model.calibration[row].right;
    let gains: Vec<f64> = (0..rows).map(|row| right(&second, row) - right(&first, row)).collect();
    let interval = mean_interval(&gains, (-1.0, 1.0), seed)?;
    let accuracy = gains.iter().sum::<f64>() / rows as f64;
    let losses: Vec<f64> = second.losses.iter().zip(&first.losses).map(|(second, first)| second - first).collect();
    Ok(Difference {
        accuracy,
        low: interval.low,
        high: interval.high,
        log_loss: resampled(rows, seed, |drawn| mean(&losses, drawn))?,
        calibration: resampled(rows, seed, |drawn| {
            let times = times(drawn, rows);
            second.calibration_error(&times) - first.calibration_error(&times)
        })?,
    })
}

/// A metric of drawn rows with its interval; nothing from a single row, which says nothing about the others.
pub(crate) fn resampled(rows: usize, seed: u64, of: impl Fn(&[usize]) -> f64) -> Result<Option<Estimate>> {
    if rows < 2 {
        return Ok(None);
    }
    let found = metric::bootstrap(rows, &resampling(rows, seed), |drawn| Ok(of(drawn)))?;
    Ok(Some(Estimate { value: found.estimate, low: found.interval.low, high: found.interval.high }))
}

/// How often each row was drawn.
pub(crate) fn times(drawn: &[usize], rows: usize) -> Vec<u32> {
    let mut times = vec![0; rows];
    drawn.iter().for_each(|&row| times[row] += 1);
    times
}

/// What one model said of each row.
struct Judged {
    losses: Vec<f64>,
    calibration: Vec<RowCalibration>,
}

impl Judged {
    fn new(probabilities: Matrix<'_, f32>, labels: &[u32]) -> Result<Self> {
        let predicted = metric::predicted_classes(probabilities)?;
        let one = |(row, label): (&[f32], &u32)| {
            metric::log_loss(Matrix::new(row, probabilities.columns())?, std::slice::from_ref(label))
        };
        let losses = probabilities.iter_rows().zip(labels).map(one).collect::<cmrm::Result<_>>()?;
        let rows = probabilities.iter_rows().zip(predicted).zip(labels);
        let calibration =
            rows.map(|((row, class), &label)| RowCalibration::by_label(row[class as usize].into(), class == label));
        Ok(Judged { losses, calibration: calibration.collect() })
    }

    fn calibration_error(&self, times: &[u32]) -> f64 {
        metric::calibration_error_beyond(self.calibration.iter().copied().zip(times.iter().copied()), CALIBRATION_BINS)
    }
}

#[cfg(test)]
mod tests {
    use cmrm::rng::Rng;

    use super::*;

    /// Two classes; the label is the first with the probability of the row, drawn evenly.
    fn rows(count: usize) -> (Vec<f32>, Vec<u32>) {
        let mut rng = Rng::new(3, 1);
        let mut row = || {
            let p = rng.uniform();
            ([p as f32, 1.0 - p as f32], u32::from(rng.uniform() >= p))
        };
        let drawn: Vec<_> = (0..count).map(|_| row()).collect();
        (drawn.iter().flat_map(|row| row.0).collect(), drawn.iter().map(|row| row.1).collect())
    }

    #[test]
    fn the_same_classes_with_worse_confidence_are_no_less_accurate_but_worse_otherwise() {
        let (true_ones, labels) = rows(600);
        let too_sure: Vec<f32> = true_ones.iter().map(|&p| if p > 0.5 { 0.999 } else { 0.001 }).collect();
        let of = |values: &[f32]| -> Vec<f32> { values.to_vec() };
        let (good, bad) = (of(&true_ones), of(&too_sure));
        let matrix = |values| Matrix::new(values, 2).unwrap();
        let found = compare(matrix(&good), matrix(&bad), &labels, 1).unwrap();
        assert_eq!((found.accuracy, found.low, found.high), (0.0, 0.0, 0.0));
        let (log_loss, calibration) = (found.log_loss.unwrap(), found.calibration.unwrap());
        assert!(log_loss.low > 0.5 && calibration.low > 0.15, "{found:?}");
        let expected = cmrm::metric::log_loss(matrix(&bad), &labels).unwrap()
            - cmrm::metric::log_loss(matrix(&good), &labels).unwrap();
        assert!((log_loss.value - expected).abs() < 1e-9, "{found:?}");
        let turned = compare(matrix(&bad), matrix(&good), &labels, 1).unwrap();
        assert!(turned.log_loss.unwrap().high < -0.5 && turned.calibration.unwrap().high < -0.15, "{turned:?}");
    }

    #[test]
    fn of_one_row_there_is_no_more_than_accuracy() {
        let one = Matrix::new(&[0.3f32, 0.7], 2).unwrap();
        let found = compare(one, one, &[1], 0).unwrap();
        assert_eq!((found.accuracy, found.low, found.high), (0.0, -1.0, 1.0));
        assert_eq!((found.log_loss, found.calibration), (None, None));
    }
}
