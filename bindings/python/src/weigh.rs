//! Weights for any learner, from probabilities of models that have not seen the row.

use cmrm::envelope::{EnvelopeConfig, OUT_OF_SAMPLE, out_of_sample_weights};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{matrix, slice};
use crate::errors::{detached, refuse};

/// What each row should count, by out-of-sample probabilities; the preset's temperature where none is given.
#[pyfunction]
#[pyo3(signature = (labels, probabilities, row_weights=None, temperature=None))]
pub fn weigh_rows<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray1<'py, u32>,
    probabilities: PyReadonlyArray2<'py, f32>,
    row_weights: Option<PyReadonlyArray1<'py, f32>>,
    temperature: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let temperature = temperature.unwrap_or(OUT_OF_SAMPLE.temperature);
    let envelope = EnvelopeConfig { temperature, ..OUT_OF_SAMPLE }.validate().map_err(refuse)?;
    let (labels, probabilities) = (slice(&labels)?, matrix(&probabilities)?);
    let row_weights = row_weights.as_ref().map(slice).transpose()?;
    let found = detached(py, || out_of_sample_weights(&envelope, probabilities, labels, row_weights))?;
    Ok(found.weights.into_pyarray(py))
}
