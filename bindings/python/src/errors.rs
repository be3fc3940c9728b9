//! Errors of the library as exceptions, and long work without the interpreter's lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The library's sentence as a `ValueError`: what it refuses is always an input.
pub fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Runs `work` without the interpreter's lock. A panic becomes a `RuntimeError`, which `except Exception` can catch.
pub fn detached<T: Send, E: std::fmt::Display + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    // Nothing that the work may have left half-changed is looked at after a panic.
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(refuse),
        Err(panic) => Err(bug(panic.as_ref())),
    }
}

fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".into());
    PyRuntimeError::new_err(format!("a bug in cmrm, please report it: {text}"))
}

/// Panics in a thread of the library, so that a test can see what becomes of it.
#[pyfunction]
pub fn provoke_panic(py: Python<'_>) -> PyResult<()> {
    detached(py, || -> Result<(), String> { panic!("provoked") })
}
