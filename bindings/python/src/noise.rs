//! Labels made wrong on purpose.

use cmrm::Rows;
use cmrm::noise::{NoiseConfig, NoiseContext, Superclasses};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::{Floats, matrix, slice};
use crate::errors::{detached, refuse};
use crate::features::Given;

/// New labels, and which of them were changed.
type Noisy<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<bool>>);

/// Noise of `kind` (`symmetric:0.4`) in class indices.
#[pyfunction]
#[pyo3(signature = (labels, kind, classes, seed, features=None, superclasses=None))]
pub fn make_noise<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray1<'py, u32>,
    kind: &str,
    classes: usize,
    seed: u64,
    features: Option<Given<'py>>,
    superclasses: Option<PyReadonlyArray1<'py, u32>>,
) -> PyResult<Noisy<'py>> {
    let config: NoiseConfig = kind.parse().map_err(refuse)?;
    let labels = slice(&labels)?;
    let superclasses =
        superclasses.as_ref().map(slice).transpose()?.map(Superclasses::new).transpose().map_err(refuse)?;
    let sparse = match &features {
        Some(Given::Sparse(parts)) => Some(parts.array()?.rows),
        _ => None,
    };
    let rows = match (&features, &sparse) {
        (_, Some(rows)) => Some(Rows::Sparse(rows.view())),
        (Some(Given::Matrix(Floats::Single(array))), _) => Some(Rows::Dense(matrix(array)?)),
        (None, _) => None,
        _ => return Err(refuse("features: expected rows of float32")),
    };
    let context = NoiseContext { classes, superclasses: superclasses.as_ref(), features: rows };
    let noisy = detached(py, || config.apply(labels, &context, seed))?;
    let flipped = noisy.mask();
    Ok((noisy.labels.into_pyarray(py), flipped.into_pyarray(py)))
}
