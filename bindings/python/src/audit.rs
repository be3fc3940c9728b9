//! Which labels look wrong.

use cmrm::audit::{Audit, AuditConfig, Filter, NoiseEstimate, RowSource, ScoreMethod, rank_rows};
use cmrm::{Matrix, Scalar};
use cmrm_train::Stop;
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as UnknownName, StrDeserializer};

use crate::arrays::{Floats, matrix, slice};
use crate::errors::{detached_on, refuse};

/// The audit of probabilities: columns by name, and estimates under `noise_rate` and `joint`.
///
/// `threshold` belongs to the filters `below_margin` and `fraction`.
#[pyfunction]
#[pyo3(signature = (labels, probabilities, score, filter, threshold, min_examples_per_class, frac_noise))]
#[expect(clippy::too_many_arguments, reason = "Python's side names them")]
pub fn rank_labels<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray1<'py, u32>,
    probabilities: Floats<'py>,
    score: &str,
    filter: &str,
    threshold: f64,
    min_examples_per_class: u32,
    frac_noise: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let config = AuditConfig {
        score: named::<ScoreMethod>("score", score)?,
        filter: filter_named(filter, threshold)?,
        min_examples_per_class,
        frac_noise,
    };
    let options = config.validate().map_err(refuse)?;
    let labels = slice(&labels)?;
    let audit = match &probabilities {
        Floats::Single(array) => {
            let rows = matrix(array)?;
            detached_on(py, None, |stop| rank_rows(&Stoppable { rows, stop }, labels, &options).map_err(refuse))?
        }
        Floats::Double(array) => {
            let rows = matrix(array)?;
            detached_on(py, None, |stop| rank_rows(&Stoppable { rows, stop }, labels, &options).map_err(refuse))?
        }
    };
    columns(py, audit)
}

/// Rows of a matrix until somebody asks to stop.
struct Stoppable<'a, T> {
    rows: Matrix<'a, T>,
    stop: &'a Stop,
}

impl<T: Scalar> RowSource<T> for Stoppable<'_, T> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn classes(&self) -> usize {
        self.rows.columns()
    }

    fn read<'a>(&'a self, first: usize, count: usize, room: &'a mut Vec<T>) -> cmrm::error::Result<&'a [T]> {
        let stopped = |error: cmrm_train::Error| cmrm::Error::Invalid { what: "audit", reason: error.to_string() };
        self.stop.check().map_err(stopped)?;
        self.rows.read(first, count, room)
    }

    fn whole(&self) -> Option<Matrix<'_, T>> {
        Some(self.rows)
    }
}

/// The columns of an audit, moved into arrays.
pub fn columns(py: Python<'_>, audit: Audit) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("is_label_issue", audit.is_label_issue.into_pyarray(py))?;
    dict.set_item("label_score", audit.label_score.into_pyarray(py))?;
    dict.set_item("predicted_label", audit.predicted_label.into_pyarray(py))?;
    dict.set_item("suggested_label", audit.suggested_label.into_pyarray(py))?;
    dict.set_item("margin", audit.margin.into_pyarray(py))?;
    dict.set_item("rank", audit.rank.into_pyarray(py))?;
    dict.set_item("order", audit.order.into_pyarray(py))?;
    dict.set_item("noise_rate", audit.noise.as_ref().map(NoiseEstimate::rate))?;
    Ok(dict)
}

fn filter_named(name: &str, threshold: f64) -> PyResult<Filter> {
    Ok(match name {
        "below_margin" => Filter::BelowMargin(threshold),
        "fraction" => Filter::Fraction(threshold),
        _ => named("filter_by", name)?,
    })
}

/// The variant that serde knows by this name; the refusal lists all of them.
pub fn named<'a, T: Deserialize<'a>>(what: &str, name: &'a str) -> PyResult<T> {
    let text: StrDeserializer<'a, UnknownName> = name.into_deserializer();
    T::deserialize(text).map_err(|error| refuse(format!("{what}: {error}")))
}
