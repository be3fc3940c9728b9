//! The three ways to an audit: a run's own record, cross-fitting, anyone's probabilities.

mod audited;
mod folds;
mod probabilities;
mod record;
mod self_check;

pub use audited::{Audited, Doubts};
pub use folds::{Folds, from_folds};
pub use probabilities::from_probabilities;
pub use record::from_run;
pub use self_check::SelfChecking;
