//! What a run leaves behind, whatever it trained: the records of its rows, its summary, its report.
//!
//! The engine for tables and the one for images both end here, so that `cmrm audit` and `cmrm report` know one form.

mod cards;
mod confidences;
mod distributions;
mod error;
mod info;
pub mod judge;
mod report;
mod rows;
pub mod summary;
mod suspects;

pub use cards::{
    CARDS, Cards, FEW_COLUMNS, MANY_COLUMNS, PICTURE_BYTES, REVIEW_BYTES, REVIEWED, Record, SUSPECTS, fitting,
};
pub use confidences::Confidences;
pub use distributions::{Distributions, Seen, distributions};
pub use error::{Error, Result};
pub use info::{FORMAT, RunInfo, RunKind};
pub use report::{Found, report};
pub use rows::{MARGINS, TrainingRows};
pub use suspects::{Suspect, Suspects};

/// Name of the arm without an envelope.
pub const BASE: &str = "base";
