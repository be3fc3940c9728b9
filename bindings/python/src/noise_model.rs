//! How many labels are wrong, from probabilities of models that have not seen the rows.

use cmrm::Matrix;
use cmrm::audit::Evidence;
use cmrm::noise_model::{NoiseModel, Transition};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{matrix, slice};
use crate::errors::{detached, refuse};

/// The noise in the labels, and what it says of every row, by name.
#[pyfunction]
pub fn estimate_noise<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray1<'py, u32>,
    probabilities: PyReadonlyArray2<'py, f32>,
) -> PyResult<Bound<'py, PyDict>> {
    let (labels, probabilities) = (slice(&labels)?, matrix(&probabilities)?);
    let (rows, classes) = (probabilities.rows(), probabilities.columns());
    let (model, clean, wrong) = detached(py, || -> cmrm::Result<_> {
        if !Evidence::of(probabilities, labels)?.tells_of_noise() {
            return Err(cmrm::Error::Invalid {
                what: "probabilities",
                reason: "they tell too little of the labels to say how many are wrong; it takes 50 rows or more, and models that predict \
                         the labels of rows they have not seen better than chance"
                    .into(),
            });
        }
        let model = NoiseModel::estimate(probabilities, labels)?;
        let clean = model.clean_probabilities(probabilities)?;
        let wrong = model.wrong_probabilities(probabilities, labels)?;
        Ok((model, clean, wrong))
    })?;
    let dict = summary(py, &model)?;
    let transition: Vec<f64> = (0..classes).flat_map(|class| model.transition.row(class)).copied().collect();
    dict.set_item("transition", transition.into_pyarray(py).reshape([classes, classes])?)?;
    dict.set_item("clean_probabilities", clean.into_pyarray(py).reshape([rows, classes])?)?;
    dict.set_item("wrong_probability", wrong.into_pyarray(py))?;
    Ok(dict)
}

/// Rate, interval and form, by name.
pub fn summary<'py>(py: Python<'py>, model: &NoiseModel) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("rate", model.rate)?;
    dict.set_item("interval", (model.interval[0], model.interval[1]))?;
    dict.set_item("by_pair", model.by_pair)?;
    Ok(dict)
}

/// What the noise in labels is said to be.
#[derive(FromPyObject)]
pub enum Said<'py> {
    /// Wrong labels are of all other classes alike, and this is their share.
    #[pyo3(transparent)]
    Rate(f64),
    /// What each class is observed as.
    #[pyo3(transparent)]
    Transition(PyReadonlyArray2<'py, f64>),
}

impl Said<'_> {
    pub fn transition(&self, classes: usize) -> PyResult<Transition> {
        match self {
            Said::Rate(rate) => Transition::uniform(classes, *rate),
            Said::Transition(array) => Transition::new(Matrix::new(matrix(array)?.values(), classes).map_err(refuse)?),
        }
        .map_err(refuse)
    }
}
