//! The one error type of the library. Every message names the place and both numbers.

use thiserror::Error;

use crate::scalar::Scalar;

/// What can be wrong with an input. No input makes the library panic.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to compute on.
    #[error("{what} is empty; at least one row is needed")]
    Empty {
        /// The argument that was empty.
        what: &'static str,
    },
    /// Two arguments disagree about a size.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was measured.
        what: &'static str,
        /// The size that the other arguments ask for.
        expected: usize,
        /// The size that was given.
        found: usize,
    },
    /// A label is not a class index.
    #[error("row {row}: label {label} is not below the number of classes {classes}")]
    Label {
        /// Row of the label, from zero.
        row: usize,
        /// The label that was given.
        label: u32,
        /// The number of classes.
        classes: usize,
    },
    /// A number is NaN or infinite, or became so while computing.
    #[error("{what} at row {row}, column {column} is {value}; only finite numbers are allowed")]
    NonFinite {
        /// What the number is.
        what: &'static str,
        /// Row, from zero.
        row: usize,
        /// Column, from zero.
        column: usize,
        /// The number, as text, so that two equal errors compare equal even for NaN.
        value: String,
    },
    /// A row's own number lies outside its range.
    #[error("{what} at row {row} is {value}: expected {expected}")]
    Value {
        /// What the number is.
        what: &'static str,
        /// Row, from zero.
        row: usize,
        /// The value that was given, as text, so that two equal errors compare equal even for NaN.
        value: String,
        /// The allowed range, in words.
        expected: &'static str,
    },
    /// A parameter lies outside its range.
    #[error("{name} = {value} is out of range: expected {expected}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The allowed range, in words.
        expected: &'static str,
    },
    /// An input is well-shaped but makes no sense, or cannot be read; the reason says where and what to do.
    #[error("{what}: {reason}")]
    Invalid {
        /// What was asked for.
        what: &'static str,
        /// Why it cannot be had, and the way out.
        reason: String,
    },
    /// A number that should be a probability is not one.
    #[error("probability at row {row}, column {column} is {value}; expected 0 to 1 (softmax outputs, not logits)")]
    Probability {
        /// Row, from zero.
        row: usize,
        /// Column, from zero.
        column: usize,
        /// The number that was given.
        value: f64,
    },
    /// The probabilities of a row do not add up.
    #[error("row {row}: the probabilities sum to {sum}, expected 1; divide the row by its sum or pass softmax outputs")]
    RowSum {
        /// Row, from zero.
        row: usize,
        /// What the row sums to.
        sum: f64,
    },
    /// A class has fewer rows than were asked of it.
    #[error("class {class} has {found} rows, fewer than the {needed} asked for; ask for at most {found} per class")]
    ClassRows {
        /// The class.
        class: u32,
        /// Rows asked for.
        needed: usize,
        /// Rows there are.
        found: usize,
    },
}

impl Error {
    /// A [`Error::NonFinite`] for `value` at `row`, `column`.
    pub fn non_finite(what: &'static str, row: usize, column: usize, value: f64) -> Self {
        Error::NonFinite { what, row, column, value: value.to_string() }
    }
}

/// Refuses row weights that are negative, not finite, or sum to zero; returns their sum (the row count without any).
pub fn check_row_weights<T: Scalar>(weights: Option<&[T]>, rows: usize) -> Result<f64> {
    let Some(weights) = weights else { return Ok(rows as f64) };
    check_length("row weights against rows", rows, weights.len())?;
    if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= T::ZERO)) {
        let value = weights[row].to_f64().to_string();
        return Err(Error::Value { what: "row weight", row, value, expected: "a finite number, at least 0" });
    }
    let sum: f64 = weights.iter().map(|w| w.to_f64()).sum();
    check_parameter("sum of the row weights", sum, sum > 0.0 && sum.is_finite(), "a finite positive number")?;
    Ok(sum)
}

/// Shorthand for a result with this library's [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Refuses two lengths that differ.
pub fn check_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// Refuses a parameter for which `holds` is false, or that is NaN.
pub fn check_parameter(name: &'static str, value: f64, holds: bool, expected: &'static str) -> Result<()> {
    if holds && !value.is_nan() { Ok(()) } else { Err(Error::Parameter { name, value, expected }) }
}

/// Refuses labels that are not below `classes`.
pub fn check_labels(labels: &[u32], classes: usize) -> Result<()> {
    match labels.iter().position(|&label| label as usize >= classes) {
        None => Ok(()),
        Some(row) => Err(Error::Label { row, label: labels[row], classes }),
    }
}
