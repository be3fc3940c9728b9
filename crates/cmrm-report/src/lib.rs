//! What a run found, to look at: one HTML page that works offline, and the same figures as SVG and PNG files.
//!
//! ```no_run
//! let report: cmrm_report::Report = serde_json::from_str(&std::fs::read_to_string("run/report.json")?)?;
//! std::fs::write("report.html", cmrm_report::page(&report))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Report`] is plain data. [`page`] turns it into a page, [`figures`] into [`Figure`]s, each a [`Scene`] of a few kinds
//! of marks that [`svg`] writes as text and [`raster`] as pixels. Nothing here reads a file or trains a model.

mod arms;
mod axes;
mod data;
mod difference;
mod figures;
mod page;
mod picture;
mod raster;
mod scene;
mod self_check;
mod svg;

pub use arms::{Arm, Member, RiskCoverage, Sets};
pub use data::*;
pub use difference::{Difference, Verdict};
pub use figures::{Figure, figures};
pub use page::{escape, page};
pub use picture::{Pixels, data_uri, encode_png};
pub use raster::raster;
pub use scene::{Anchor, Dash, Ink, Mark, Scene};
pub use self_check::{SELF_CHECK_SCHEMA, SelfCheck};
pub use svg::{inline_svg, svg};
