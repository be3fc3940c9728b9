//! Training: steps, epochs, runs, and several runs at once.

mod checkpoint;
mod judge;
mod queue;
mod records;
mod report;
mod runner;
mod step;
mod training;

pub use checkpoint::Progress;
pub use judge::{Judgement, judge, logits};
pub use records::Records;
pub use report::RunResult;
pub use runner::{Control, Ended, train_all};
pub use step::{Optimiser, Step};
pub use training::Training;
