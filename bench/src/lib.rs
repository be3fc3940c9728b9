//! The work that the benchmarks time, apart from how it is timed.

mod linear_step;
mod stream;

pub use linear_step::LinearStep;
pub use stream::Stream;

use cmrm::envelope::{Envelope, Preset};
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;

/// Runs `work` where the kernel finds a pool of one thread: a copy runs on one thread too.
pub fn on_one_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be started");
    pool.install(work)
}

/// Numbers from a normal distribution.
fn normal(rng: &mut Rng, count: usize, scale: f64) -> Vec<f32> {
    (0..count).map(|_| (scale * rng.normal()) as f32).collect()
}

/// The envelope that is timed: the `robust` preset around cross-entropy.
fn envelope() -> Envelope {
    Preset::Robust.config(&LossConfig::CrossEntropy).validate().expect("presets are valid")
}
