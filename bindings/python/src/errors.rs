//! Errors of the library as exceptions, and long work without the interpreter's lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use cmrm_train::Stop;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::threads::pool;

/// How often signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The library's sentence as a `ValueError`, or as a `RuntimeError` where it speaks of a bug.
pub fn refuse(error: impl std::fmt::Display) -> PyErr {
    let text = error.to_string();
    // How every crate's `Internal` error begins.
    if text.starts_with("a bug in cmrm") { PyRuntimeError::new_err(text) } else { PyValueError::new_err(text) }
}

/// Runs `work` on the process's threads without the interpreter's lock.
pub fn detached<T: Send, E: std::fmt::Display + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    detached_on(py, None, |_| work().map_err(refuse))
}

/// The same on so many threads. Meanwhile the calling thread, which may be the one that signals come to, looks for them;
/// the work is asked to stop, and what the signal raised is raised when it has. A panic becomes a `RuntimeError`,
/// which `except Exception` can catch.
pub fn detached_on<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce(&Stop) -> PyResult<T> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let stop = Stop::default();
    py.detach(|| {
        let (done, ended) = channel();
        pool.in_place_scope(|scope| {
            let stop = &stop;
            scope.spawn(move |_| {
                // Nothing that the work may have left half-changed is looked at after a panic. Nobody to tell means that
                // the caller panicked itself.
                let _ = done.send(catch_unwind(AssertUnwindSafe(|| work(stop))));
            });
            let mut raised = None;
            loop {
                match ended.recv_timeout(LOOK_EVERY) {
                    Ok(result) => {
                        let result = result.unwrap_or_else(|panic| Err(bug(panic.as_ref())));
                        return raised.map_or(result, Err);
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.request();
                            raised = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return Err(bug(&"the work ended without a result")),
                }
            }
        })
    })
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
