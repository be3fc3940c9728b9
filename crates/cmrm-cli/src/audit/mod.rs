//! The ways to an audit: a run's own record, its models on new rows, cross-fitting, anyone's probabilities; and what has changed since
//! an earlier one.

mod about_new_rows;
mod audited;
mod folds;
mod new_data;
mod probabilities;
mod record;
mod rules;
mod sample;
mod self_check;
mod since;
mod trained_on;

use std::collections::HashSet;

use cmrm_data::preprocess::Preprocess;

pub use audited::{Audited, Doubts};
pub use folds::{Folds, from_folds};
pub use new_data::{NewData, from_new_data, no_columns};
pub use probabilities::from_probabilities;
pub use record::from_run;
pub use rules::FailOn;
pub use self_check::SelfChecking;
pub use since::{Changes, Since};

/// Most probabilities by which labels are doubted one by one.
const MOST_DOUBTED: usize = 20_000_000;

/// The columns that a model makes something of; none are named for a sparse array.
fn used_columns(preprocess: &Preprocess) -> HashSet<&str> {
    let used = preprocess.columns().iter().filter(|column| column.width() > 0);
    used.map(|column| column.name.as_str()).collect()
}
