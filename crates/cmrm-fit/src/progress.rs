//! Who watches a fit that has no epochs.

use cmrm_train::Stop;
use cmrm_train::train::Observer;

/// Watches a vote being fitted.
pub trait Progress {
    /// After every step: so many of all are done, and `what` is under way or has just ended.
    fn step(&mut self, done: usize, of: usize, what: &str);

    /// What asks for an early end; looked at within a step too.
    fn stop(&self) -> Stop;
}

/// Whoever watches epochs hears of no step, but may still ask for an early end.
pub(crate) struct OfObserver<'a>(pub &'a dyn Observer<f32>);

impl Progress for OfObserver<'_> {
    fn step(&mut self, _done: usize, _of: usize, _what: &str) {}

    fn stop(&self) -> Stop {
        self.0.stop().unwrap_or_default()
    }
}
