//! A fit of rows in memory, from settings to what was found.
//!
//! [`FitConfig`] says everything that decides the result. [`prepare`] splits the rows, learns the preprocessing and makes
//! noise; [`trainer`] trains the arms side by side; [`summarise`] and [`report`] say how they did. The command `cmrm fit`
//! and the Python package both go this way, so that the same data, seed and settings give the same bits in both.

mod arms;
mod config;
mod defaults;
mod error;
mod order;
mod penalty;
mod prepare;
mod report;
mod space;
mod split;
mod summarise;
mod training;

pub use arms::{arms, envelope_arm};
pub use config::{FitConfig, ModelKind, OptimiserKind, RowOrder};
pub use error::{Error, Result};
pub use penalty::with_penalty;
pub use prepare::{Loaded, Prepared, judged, known_wrong, prepare};
pub use report::{Material, epoch, report, suspects};
pub use space::{Candidate, Space, auto_candidates, rows_to_search};
pub use split::{Split, draw};
pub use summarise::{Parts, summarise};
pub use training::{TrainingParts, trainer, training_rows};
