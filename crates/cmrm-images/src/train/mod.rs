//! Training: steps, epochs, runs, and several runs at once.

mod cards;
mod checkpoint;
mod folder;
mod judge;
mod queue;
mod records;
mod report;
mod runner;
mod running;
mod step;
mod training;

pub use checkpoint::{EpochMetrics, Progress, read as read_tensors};
pub use folder::write_array;
pub use judge::{Judgement, Seen, judge, numbers, see};
pub use records::Records;
pub use report::RunResult;
pub use runner::{Control, Ended, train_all};
pub use running::RunningMargins;
pub use step::{Optimiser, Step};
pub use training::Training;
