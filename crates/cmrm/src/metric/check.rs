//! What every metric asks of its inputs.

use crate::error::{Error, Result, check_labels, check_length};
use crate::matrix::Matrix;

/// How far a row of probabilities may be from 1 in sum: room for f32 and for numbers printed with a few digits.
const SUM_TOLERANCE: f64 = 1e-3;

/// Predicted and true classes: at least one row, as many of one as of the other.
pub(super) fn check_rows(predicted: usize, labels: &[u32]) -> Result<()> {
    if labels.is_empty() {
        return Err(Error::Empty { what: "the list of labels" });
    }
    check_length("predictions for the labels", labels.len(), predicted)
}

/// Predicted classes below `classes`; the error says that it is a prediction, not a label.
pub(super) fn check_predicted(predicted: &[u32], classes: usize) -> Result<()> {
    match predicted.iter().position(|&class| class as usize >= classes) {
        None => Ok(()),
        Some(row) => Err(Error::Invalid {
            what: "predicted classes",
            reason: format!("row {row}: class {} is not below the number of classes {classes}", predicted[row]),
        }),
    }
}

/// Scores of class 1 with labels 0 and 1, as f64 pairs of score and "is positive".
pub(super) fn binary_scores<T: Copy + Into<f64>>(scores: &[T], labels: &[u32]) -> Result<Vec<(f64, bool)>> {
    check_rows(scores.len(), labels)?;
    check_labels(labels, 2)?;
    scores
        .iter()
        .zip(labels)
        .enumerate()
        .map(|(row, (&score, &label))| {
            let score: f64 = score.into();
            if score.is_finite() { Ok((score, label == 1)) } else { Err(Error::non_finite("score", row, 0, score)) }
        })
        .collect()
}

/// Scores with a column per class: finite, as many rows as labels, labels below the number of columns.
pub(super) fn check_scores<T: Copy + Into<f64>>(scores: Matrix<'_, T>, labels: &[u32]) -> Result<()> {
    check_rows(scores.rows(), labels)?;
    check_labels(labels, scores.columns())?;
    check_finite(scores)
}

/// Only finite numbers.
pub(super) fn check_finite<T: Copy + Into<f64>>(scores: Matrix<'_, T>) -> Result<()> {
    for (row, values) in scores.iter_rows().enumerate() {
        for (column, &value) in values.iter().enumerate() {
            let value: f64 = value.into();
            if !value.is_finite() {
                return Err(Error::non_finite("score", row, column, value));
            }
        }
    }
    Ok(())
}

/// [`check_scores`], and every row a distribution: in `[0, 1]`, summing to 1 within 1e-3.
pub(super) fn check_probabilities<T: Copy + Into<f64>>(probabilities: Matrix<'_, T>, labels: &[u32]) -> Result<()> {
    check_scores(probabilities, labels)?;
    for (row, values) in probabilities.iter_rows().enumerate() {
        let mut sum = 0.0;
        for (column, &value) in values.iter().enumerate() {
            check_probability(row, column, value.into())?;
            sum += value.into();
        }
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::Invalid {
                what: "probabilities",
                reason: format!("row {row} sums to {sum}, not to 1; pass the softmax of logits, not the logits"),
            });
        }
    }
    Ok(())
}

/// A number in `[0, 1]`, with a hair of room above for rounding.
pub(super) fn check_probability(row: usize, column: usize, value: f64) -> Result<()> {
    if (0.0..=1.0 + SUM_TOLERANCE).contains(&value) {
        return Ok(());
    }
    Err(Error::Invalid {
        what: "probabilities",
        reason: format!("the number at row {row}, column {column} is {value}; probabilities lie between 0 and 1"),
    })
}

/// The error of a metric that divides by the rows of a class that has none.
pub(super) fn no_rows_of(class: u32, what: &'static str, rows: usize) -> Error {
    Error::Invalid { what, reason: format!("undefined: none of the {rows} rows has label {class}") }
}
