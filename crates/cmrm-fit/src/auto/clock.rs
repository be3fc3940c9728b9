//! The time that a fit may take.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use cmrm_train::Stop;

use crate::error::{Error, Result};

/// How often the time is looked at.
const TICK: Duration = Duration::from_millis(10);

/// A budget that began to run when this was made.
pub(super) struct Clock<'a> {
    begun: Instant,
    budget: Option<Duration>,
    stop: &'a Stop,
}

impl<'a> Clock<'a> {
    /// `budget` in seconds; without one, there is all the time in the world.
    pub fn new(budget: Option<f64>, stop: &'a Stop) -> Self {
        // A budget beyond what a duration can hold is none.
        let budget = budget.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Clock { begun: Instant::now(), budget, stop }
    }

    /// Does work that is dropped once so much of the budget is spent: nothing is returned then. Somebody's request to stop is
    /// an error, as ever.
    pub fn within<R>(&self, share: f64, work: impl FnOnce(&Stop) -> Result<R>) -> Result<Option<R>> {
        let end = self.budget.and_then(|budget| self.begun.checked_add(budget.mul_f64(share)));
        let Some(end) = end else { return work(self.stop).map(Some) };
        if Instant::now() >= end {
            return Ok(None);
        }
        let (late, (done, is_done)) = (Stop::default(), channel::<()>());
        let outcome = thread::scope(|scope| {
            let late = &late;
            scope.spawn(move || {
                while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    if self.stop.is_requested() || Instant::now() >= end {
                        late.request();
                    }
                }
            });
            let outcome = work(late);
            drop(done);
            outcome
        });
        match outcome {
            Err(Error::Train(cmrm_train::Error::Stopped)) if !self.stop.is_requested() => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(stop: &Stop) -> Result<u32> {
        for _ in 0..1000 {
            stop.check()?;
            thread::sleep(Duration::from_millis(5));
        }
        Ok(1)
    }

    #[test]
    fn work_that_takes_too_long_is_dropped_and_a_request_to_stop_is_an_error() {
        let stop = Stop::default();
        let clock = Clock::new(Some(0.1), &stop);
        assert_eq!(clock.within(1.0, |_| Ok(3)).unwrap(), Some(3));
        assert_eq!(clock.within(1.0, waits).unwrap(), None);
        assert_eq!(clock.within(0.5, |_| Ok(3)).unwrap(), None);
        assert_eq!(Clock::new(None, &stop).within(0.0, |_| Ok(3)).unwrap(), Some(3));
        stop.request();
        assert!(Clock::new(Some(60.0), &stop).within(1.0, waits).is_err());
    }
}
