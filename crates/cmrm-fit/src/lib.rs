//! A fit of rows in memory, from settings to what was found.
//!
//! [`FitConfig`] says everything that decides the result. [`Fit`] prepares the rows and trains the arms side by side;
//! [`FitOutcome`] says how they did. [`CrossFit`] judges every row by a model that has not seen it, [`search`] looks for
//! settings by observed labels. The command and the Python package both go this way, so that the same rows, seed and settings
//! give the same bits in both.
//!
//! A table is trained on, audited, predicted with, and kept as a run:
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! # let size = |row: usize| (3 + 5 * (row % 2), 2 + row % 3);
//! # let row = |row| format!("{},{},{}\n", size(row).0, size(row).1, if (row % 2 == 0) != (row == 20) { "plum" } else { "pear" });
//! # std::fs::write("fruit.csv", format!("length,width,kind\n{}", (0..60).map(row).collect::<String>()))?;
//! # std::fs::write("new.csv", "length,width\n3,2\n8,4\n")?;
//! use cmrm_fit::{FitConfig, Loaded};
//!
//! let loaded = Loaded::from_path("fruit.csv", "kind")?;
//! let outcome = FitConfig::for_path("fruit.csv", "kind").fit(&loaded)?;
//! println!("rows with labels that look wrong: {:?}", outcome.training_rows.suspects());
//!
//! let model = outcome.model()?;
//! let new = model.read_path("new.csv")?;
//! println!("{:?}", model.predict(&new)?.names().collect::<Vec<_>>());
//!
//! outcome.save("run", loaded)?; // as `cmrm fit --out run`; cmrm_run::Model::open reads it
//! # assert_eq!(outcome.training_rows.suspects(), [20]);
//! # assert_eq!(model.predict(&new)?.names().collect::<Vec<_>>(), ["plum", "pear"]);
//! # assert_eq!(cmrm_run::Model::open("run")?.predict(&new)?, model.predict(&new)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arms;
mod auto;
mod check;
mod config;
mod cross_fit;
mod defaults;
mod error;
mod fit;
mod giving_way;
mod kinds;
mod loaded;
mod memory;
mod noise;
mod order;
mod outcome;
mod part;
mod penalty;
mod prepare;
mod progress;
mod report;
mod save;
mod search;
mod self_check;
mod sensitivity;
mod space;
mod split;
mod summarise;
mod temperature;
mod transition;
mod warnings;

pub use arms::arms;
pub use config::FitConfig;
pub use cross_fit::{CrossFit, CrossFitted, FoldObserver};
pub use error::{Error, Result};
pub use fit::Fit;
pub use giving_way::{GaveWay, gives_way};
pub use kinds::{Keep, LearnerKind, ModelKind, OptimiserKind, RowOrder};
pub use loaded::Loaded;
pub use memory::{Need, Room};
pub use noise::{Balance, Noise};
pub use outcome::{FitOutcome, FittedArm};
pub use part::Part;
pub use penalty::with_penalty;
pub use prepare::Prepared;
pub use progress::Progress;
pub use save::Shown;
pub use search::{choose, search, settings};
pub use self_check::Audited;
pub use space::{Candidate, Space, auto_candidates};
pub use split::Split;
pub use transition::TransitionSetting;
