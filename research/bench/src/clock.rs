//! Time that passed, and time that a processor worked.

use std::time::Instant;

use serde::Serialize;

/// Time that passed, and time that this process had a processor: the fairer of the two on a busy machine.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Time {
    /// That passed.
    pub seconds: f64,
    /// That the process had a processor, all threads together, where Linux tells.
    pub cpu_seconds: Option<f64>,
}

/// Started before what is measured.
#[derive(Debug)]
pub struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Clock { cpu: cpu_seconds(), wall: Instant::now() }
    }

    /// What was measured.
    pub fn stop(self) -> Time {
        let seconds = self.wall.elapsed().as_secs_f64();
        Time { seconds, cpu_seconds: cpu_seconds().zip(self.cpu).map(|(now, before)| now - before) }
    }
}

/// Processor time of all threads of this process, where Linux tells.
fn cpu_seconds() -> Option<f64> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let times = threads.map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    times.sum::<Option<f64>>().map(|nanoseconds| nanoseconds * 1e-9)
}
