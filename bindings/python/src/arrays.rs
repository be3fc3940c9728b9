//! NumPy arrays, borrowed for as long as a call lasts.

use cmrm::Matrix;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::refuse;

/// A two-dimensional C-contiguous array of either precision, not copied.
#[derive(FromPyObject)]
pub enum Floats<'py> {
    /// `numpy.float32`
    Single(PyReadonlyArray2<'py, f32>),
    /// `numpy.float64`
    Double(PyReadonlyArray2<'py, f64>),
}

/// The rows of a C-contiguous array.
pub fn matrix<'a, T: numpy::Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<Matrix<'a, T>> {
    let columns = array.shape()[1];
    Matrix::new(array.as_slice().map_err(not_contiguous)?, columns).map_err(refuse)
}

/// The numbers of a contiguous array.
pub fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(not_contiguous)
}

/// What is said of an array with gaps, or at an address that its type does not allow. Python's side hands over neither.
pub fn not_contiguous(_: impl Sized) -> PyErr {
    PyTypeError::new_err("expected a C-contiguous, aligned array; numpy.require(array, requirements='CA') makes one")
}
