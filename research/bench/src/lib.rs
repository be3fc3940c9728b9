//! The work that the benchmarks time, apart from how it is timed; and readers for the files that the programs are
//! pointed at.

mod clock;
mod linear_step;
pub mod noisy;
pub mod npy;
pub mod scores;
pub mod sets;
mod stream;
pub mod tables;

pub use clock::{Clock, Time};
pub use linear_step::LinearStep;
pub use stream::Stream;

use cmrm::envelope::{Envelope, Preset};
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;

/// Errors of the measuring programs are for people to read.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

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
