//! What Python hears of a training.

use std::ops::ControlFlow;

use cmrm_train::train::{EpochStats, Observer, Trainer};
use cmrm_train::tune::Progress;
use cmrm_train::{Result as TrainResult, Stop};
use pyo3::prelude::*;

use crate::errors::refuse;

/// What a training in passes counts.
const EPOCH: &str = "epoch";

/// Tells of every epoch or learner, and ends the training when it is to stop or when the telling raises.
pub struct Watch {
    stop: Stop,
    tell: Option<Py<PyAny>>,
    fold: usize,
    raised: Option<PyErr>,
}

impl Watch {
    /// `tell` is called with how many are done, how many there are, the fold of a search, and what is counted.
    pub fn new(stop: &Stop, tell: Option<Py<PyAny>>) -> Self {
        Watch { stop: stop.clone(), tell, fold: 0, raised: None }
    }

    /// What ended the training before its end, if anything did.
    pub fn check(self) -> PyResult<()> {
        self.raised.map_or_else(|| self.stop.check().map_err(refuse), Err)
    }

    fn look(&mut self, done: usize, of: usize, unit: &str) -> ControlFlow<()> {
        if let Some(tell) = &self.tell {
            let told = Python::attach(|py| tell.call1(py, (done, of, self.fold, unit)).map(drop));
            self.raised = told.err();
        }
        if self.raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Observer<f32> for Watch {
    fn stop(&self) -> Option<Stop> {
        Some(self.stop.clone())
    }

    fn epoch(&mut self, trainer: &Trainer<'_, f32>, _: &[EpochStats]) -> TrainResult<ControlFlow<()>> {
        Ok(self.look(trainer.epochs_done(), trainer.epochs(), EPOCH))
    }
}

/// A step of a vote trains learners of one family.
impl cmrm_fit::Progress for Watch {
    fn step(&mut self, done: usize, of: usize, _: &str) {
        if self.look(done, of, "learner").is_break() {
            self.stop.request();
        }
    }

    fn stop(&self) -> Stop {
        self.stop.clone()
    }
}

impl Progress for Watch {
    fn stop(&self) -> Option<Stop> {
        Some(self.stop.clone())
    }

    fn training(&mut self, fold: usize, _: usize) {
        self.fold = fold;
    }

    fn epoch(&mut self, done: usize, of: usize) -> ControlFlow<()> {
        self.look(done, of, EPOCH)
    }
}
