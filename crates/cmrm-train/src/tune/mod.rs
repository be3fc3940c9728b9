//! A search for settings that needs no clean labels.
//!
//! Every [`Setting`] is trained on some folds of the rows and judged on the fold it has not seen, by observed labels
//! ([`cmrm::criterion`]). Settings that differ in base loss and envelope only are arms of one training, so a fold of thirty
//! of them costs less than thirty trainings. After every fold the worse half is given up: successive halving in which a later rung
//! has more rows to judge by, never a shorter training, because what wrong labels do shows only as training goes on.
//!
//! A search is a function of settings, data and seed. What it has found so far is a list of [`Trial`]s; handed back, they
//! are not run again, and the rest comes out as if there had been no break.

mod choice;
mod folds;
mod search;

pub use choice::{Choice, Standing, choose, standings};
pub use folds::{Folds, rows_by_class};
pub use search::{Progress, SearchConfig, Searched, search};

use cmrm::criterion::Verdict;
use serde::{Deserialize, Serialize};

use crate::train::{Arm, TrainConfig};

/// One way to train. Settings with the same `train` run side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// What tells it from the others.
    pub name: String,
    /// What it shares with others.
    pub train: TrainConfig,
    /// Base loss and envelope.
    pub arm: Arm,
    /// Whether it is kept to the end however it does: the default, to compare with.
    pub keep: bool,
}

/// One setting on one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Name of the setting.
    pub setting: String,
    /// The fold it was judged on.
    pub fold: usize,
    /// Rows of the fold.
    pub rows: usize,
    /// By observed labels; `None` if training failed.
    pub verdict: Option<Verdict>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Classes predicted for the rows that no fold trains on; to see whether folds agree.
    pub witness: Vec<u32>,
}
