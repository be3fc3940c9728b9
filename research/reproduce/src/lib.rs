//! The paper's tables and figures again, fairly.
//!
//! An [`Experiment`] is a TOML file in the folder `experiments`: which data, losses, schedules and
//! settings a table or figure of the paper has. It comes apart into *cells* (data × noise × loss × arm × seed), each a
//! small JSON file named by a hash of everything that its numbers depend on. [`run`] trains the cells that are missing,
//! [`report()`] turns those that are there into tables, figures and sentences beside the paper's printed numbers.
//!
//! Two protocols are two ways to compare the same cells: `authors` gives each arm the schedule it has in the authors'
//! code, `fair` gives the base arm every step, rate and restart that the envelope's arm has.

mod binary;
mod cell;
mod data;
mod error;
mod experiment;
mod figure;
mod plan;
mod probe;
mod queue;
mod report;
mod run;

pub use binary::{ArmName, BinaryCell, LossRow, Phase, Tails};
pub use cell::{Cell, CellConfig, CellResult, FORMAT, Results, Store};
pub use data::TableData;
pub use error::{Error, Result};
pub use experiment::{Binary, Experiment, all, find};
pub use figure::{FigureCell, Figures};
pub use plan::{Options, Shard};
pub use probe::{FeatureFiles, Probe, ProbeArm, ProbeCell, Variant};
pub use queue::{Event, Outcome};
pub use report::{
    Block, Comparison, Document, ImageRow, Images, Printed, Report, Table, Verdict, csv, html, latex, markdown,
    printed, report,
};
pub use run::run;
