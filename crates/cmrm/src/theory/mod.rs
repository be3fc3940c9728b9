//! The paper's guarantees as numbers that can be computed and checked on data.
//!
//! How far a batch's threshold strays from that of the whole set ([`gap_bound`], [`dkw`], [`mod@gap_curve`], with the
//! margin density from [`density`]); what label noise does to the share of kept rows and to the risk ([`clean_check`]);
//! how well the filter finds wrong labels ([`filter`]); and the smoothness bounds of the soft filter ([`soft`]).

pub mod clean_check;
pub mod density;
pub mod dkw;
pub mod filter;
pub mod gap_bound;
pub mod gap_curve;
mod order;
pub mod soft;

pub use clean_check::{CleanLabelCheck, clean_label_check, clean_margin_check, label_margin};
pub use density::{Bandwidth, DensityNear, MarginDensity};
pub use dkw::{DkwInterval, dkw_interval};
pub use filter::{FilterQuality, filter_quality};
pub use gap_bound::{QuantileGapBound, dkw_epsilon, quantile_gap_bound, tightest_gap_bound};
pub use gap_curve::{GapCurve, GapPoint, gap_curve};
