//! What Python hears of a training.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use cmrm_train::Result as TrainResult;
use cmrm_train::train::{EpochStats, Observer, Trainer};
use cmrm_train::tune::Progress;
use pyo3::prelude::*;

/// Tells of every epoch, and ends the training when it is to stop or when the telling raises.
pub struct Watch<'a> {
    stop: &'a AtomicBool,
    tell: Option<Py<PyAny>>,
    fold: usize,
    raised: Option<PyErr>,
}

impl<'a> Watch<'a> {
    /// `tell` is called with epochs done, epochs in all, and the fold of a search.
    pub fn new(stop: &'a AtomicBool, tell: Option<Py<PyAny>>) -> Self {
        Watch { stop, tell, fold: 0, raised: None }
    }

    /// The exception that ended the training.
    pub fn check(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }

    fn look(&mut self, done: usize, of: usize) -> ControlFlow<()> {
        if let Some(tell) = &self.tell {
            let told = Python::attach(|py| tell.call1(py, (done, of, self.fold)).map(drop));
            self.raised = told.err();
        }
        let end = self.raised.is_some() || self.stop.load(Ordering::Relaxed);
        if end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Observer<f32> for Watch<'_> {
    fn epoch(&mut self, trainer: &Trainer<'_, f32>, _: &[EpochStats]) -> TrainResult<ControlFlow<()>> {
        Ok(self.look(trainer.epochs_done(), trainer.epochs()))
    }
}

impl Progress for Watch<'_> {
    fn training(&mut self, fold: usize, _: usize) {
        self.fold = fold;
    }

    fn epoch(&mut self, done: usize, of: usize) -> ControlFlow<()> {
        self.look(done, of)
    }
}
