//! Labels made wrong on purpose.

use cmrm::noise::{NoiseConfig, NoiseContext, Superclasses};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{matrix, slice};
use crate::errors::{detached, refuse};

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
    features: Option<PyReadonlyArray2<'py, f32>>,
    superclasses: Option<PyReadonlyArray1<'py, u32>>,
) -> PyResult<Noisy<'py>> {
    let config: NoiseConfig = kind.parse().map_err(refuse)?;
    let labels = slice(&labels)?;
    let superclasses =
        superclasses.as_ref().map(slice).transpose()?.map(Superclasses::new).transpose().map_err(refuse)?;
    let context = NoiseContext {
        classes,
        superclasses: superclasses.as_ref(),
        features: features.as_ref().map(matrix).transpose()?,
    };
    let noisy = detached(py, || config.apply(labels, &context, seed))?;
    let flipped = noisy.mask();
    Ok((noisy.labels.into_pyarray(py), flipped.into_pyarray(py)))
}
