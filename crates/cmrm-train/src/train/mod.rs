//! The training loop: several arms side by side on the same rows in the same order.
//!
//! An [`Arm`] is a base loss with or without an envelope. All arms of a [`Trainer`] share model, data, order, schedule
//! and epochs, so a comparison between them is fair by construction and one read of the data feeds all of them.

mod arm;
mod config;
mod data;
mod diverged;
mod engine;
mod epoch;
mod evaluate;
mod full_batch;
mod onset;
mod record;
mod selection;
mod stochastic;
mod trainer;

pub use arm::{Arm, Term};
pub use config::{CheckedTraining, ClassWeights, Method, Selection, TrainConfig};
pub use data::Examples;
pub(crate) use data::check_finite;
pub use epoch::EpochStats;
pub use record::RowRecord;
pub(crate) use selection::Best;
pub use trainer::{Observer, Silent, Trained, Trainer, Waypoint};
