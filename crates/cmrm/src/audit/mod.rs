//! Which labels look wrong, how sure that is, and how many there are.
//!
//! [`rank`] takes anyone's out-of-sample probabilities. It is confident learning (Northcutt, Jiang and Chuang 2021) with
//! the names, formulas and defaults of cleanlab 2.9, so that its users meet the same scores and the same issues:
//!
//! - the threshold of a class is the mean probability of the class over the rows given it;
//! - a row is counted for the class whose threshold it reaches (the confident joint), and the counts are scaled to
//!   the rows of each given label, in whole rows (the joint);
//! - a [`Filter`] turns the joint, or a simpler rule, into [`Audit::is_label_issue`];
//! - a [`ScoreMethod`] ranks the rows.
//!
//! Where it differs:
//!
//! - equal scores, equal leads and equal remainders of rounding are settled by index; cleanlab leaves them to an unstable
//!   sort (with many classes and small counts that moves up to four issues in a hundred);
//! - exact halves of rows in the joint are rounded to even; cleanlab leaves them to rounding errors;
//! - sums are taken in double precision also for single-precision probabilities, so a row within rounding of a threshold
//!   may fall on the other side of it;
//! - the entropy score of a certain model is 1, not 0, where it agrees with the label.
//!
//! [`rank_margins`] makes the same table from what one training run recorded of its rows, without cross-fitting.

mod config;
mod entropy;
mod evidence;
mod groups;
mod joint;
mod kernel;
mod limit;
mod lowest;
mod margins;
mod pair_candidates;
mod pairs;
mod passes;
mod prune;
mod rank;
mod source;
mod table;

pub use config::{AuditConfig, AuditOptions, Filter, MarginConfig, MarginFilter, MarginOptions, ScoreMethod};
pub use evidence::Evidence;
pub use joint::NoiseEstimate;
pub use limit::limit_by_class;
pub use margins::{rank_confidences, rank_margins};
pub use pairs::PairCounts;
pub use rank::{rank, rank_rows};
pub use source::RowSource;
pub use table::Audit;
