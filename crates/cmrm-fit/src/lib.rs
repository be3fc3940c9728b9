//! A fit of rows in memory, from settings to what was found.
//!
//! [`FitConfig`] says everything that decides the result. [`Fit`] prepares the rows and trains the arms side by side;
//! [`FitOutcome`] says how they did. [`CrossFit`] judges every row by a model that has not seen it, [`search`] looks for
//! settings by observed labels. The command and the Python package both go this way, so that the same rows, seed and settings
//! give the same bits in both.
//!
//! A table is trained on, audited, and predicted:
//!
//! ```
//! use cmrm_data::ColumnRef;
//! use cmrm_data::read::{ReadOptions, Source, read};
//! use cmrm_fit::{Fit, FitConfig, Loaded};
//! use cmrm_train::{Stop, train::Silent};
//!
//! # let mut csv = String::from("length,width,kind\n");
//! # for i in 0..60 {
//! #     let kind = if (i % 2 == 0) != (i == 20) { "plum" } else { "pear" };
//! #     csv += &format!("{},{},{kind}\n", 3 + 5 * (i % 2), 2 + i % 3);
//! # }
//! let options = ReadOptions { label: Some(ColumnRef("kind".into())), ..ReadOptions::default() };
//! let table = read(&Source::bytes("fruit.csv", csv.into_bytes()), &options)?;
//! let loaded = Loaded::new("fruit", table.clone());
//!
//! let fit = Fit::new(&FitConfig::default(), &loaded, &Stop::default())?;
//! let outcome = fit.run(&mut Silent)?;
//!
//! // Row 20 is a plum by its size.
//! let rows = &outcome.training_rows;
//! let worst = rows.suspects()[0];
//! assert_eq!((rows.rows[worst], rows.name(rows.rival[worst])), (20, "plum"));
//!
//! let new = outcome.rows.preprocess.transform(&table.features)?;
//! let predicted = outcome.envelope_arm()?.model.predict(new.rows.view()?)?;
//! assert_eq!(rows.name(predicted[20]), "plum");
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
mod kinds;
mod memory;
mod noise;
mod order;
mod outcome;
mod part;
mod penalty;
mod prepare;
mod progress;
mod report;
mod search;
mod self_check;
mod sensitivity;
mod space;
mod split;
mod summarise;
mod warnings;

pub use arms::arms;
pub use config::FitConfig;
pub use cross_fit::{CrossFit, CrossFitted, FoldObserver};
pub use error::{Error, Result};
pub use fit::Fit;
pub use kinds::{Keep, LearnerKind, ModelKind, OptimiserKind, RowOrder};
pub use memory::{Need, Room};
pub use noise::{Balance, Noise};
pub use outcome::{FitOutcome, FittedArm};
pub use part::Part;
pub use penalty::with_penalty;
pub use prepare::{Loaded, Prepared};
pub use progress::Progress;
pub use search::{choose, search, settings};
pub use self_check::Audited;
pub use space::{Candidate, Space, auto_candidates};
pub use split::Split;
