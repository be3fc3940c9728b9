//! A run's folder and what is in it, whatever was trained: settings, models, row records, calibration, summary, report.
//!
//! [`Model`] opens a run and applies it to new rows; `examples/predict.rs` is a program that does. [`RunDir`] owns the folder. The engine for
//! tables and the one for images both write through it, so that `cmrm audit`, `cmrm review` and `cmrm report` know one form.

mod calibration;
mod cards;
mod checksums;
pub mod compare;
mod confidences;
mod contents;
pub mod corrected;
mod data_root;
pub mod decision;
mod distributions;
mod error;
mod folder;
mod info;
pub mod judge;
mod model;
pub mod names;
mod report;
mod rows;
mod seal;
pub mod summary;
mod suspects;
mod transition;

pub use calibration::{CalibratedFor, Calibration};
pub use cards::{Cards, FEW_COLUMNS, MANY_COLUMNS, PICTURE_BYTES, REVIEW_BYTES, REVIEWED, SUSPECTS, fitting};
pub use checksums::{Checksum, Checksums};
pub use confidences::Confidences;
pub use contents::metrics;
pub use data_root::DataRoot;
pub use distributions::{DistributionParts, Distributions, distributions};
pub use error::{Error, Result};
pub use folder::{RunDir, write_file};
pub use info::{FORMAT, RunInfo, RunKind};
pub use model::{Arm, JudgedLabel, Model, Predictions, SetOptions, Wanted};
pub use report::{ReportParts, epoch, report};
pub use rows::{TrainingRows, WRONG_PROBABILITY};
pub use suspects::{Expected, Suspect, Suspects, most_likely_wrong, no_better_than_chance};
pub use transition::TransitionSummary;

/// Name of the arm without an envelope.
pub const BASE: &str = "base";
