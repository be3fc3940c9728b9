//! The envelope: one calibrated term that makes a base loss robust to wrong labels.
//!
//! With margins `M` of a batch (how far the observed label leads its strongest rival), `τ` their α-quantile and
//! weights `w = σ((M − τ)/temp)`, the total is `mean base loss + λ·R`, where `R` rewards the margins of the rows the
//! filter trusts. Rows far below `τ` are likely mislabelled and are left out, softly.
//!
//! - [`Envelope`] is the checked form of [`EnvelopeConfig`]; [`Preset`] names the settings that have a name.
//! - [`Objective`] is the fused function: logits and labels in; base loss, risk, `τ`, margins, weights and the gradient
//!   of the total out.
//! - [`out_of_sample_weights`] filters for any learner: probabilities of models that have not seen the row in, weights out.
//! - [`binary`] is the class-conditional form for two classes.

mod base_filter;
pub mod binary;
mod config;
mod group;
mod kernel;
mod memory;
mod multi_objective;
mod narrow;
mod objective;
mod out_of_sample;
mod preset;
mod quantile;
mod risk;
pub(crate) mod wide;

pub use config::{Envelope, EnvelopeConfig, Fade, Filter, MarginKind, Normaliser, QuantileKind, Scale, Scope, Start};
pub use memory::{FrozenFilter, RowMemory, RunningMargins, RunningTargets};
pub use multi_objective::{PlacedObjective, evaluate_many};
pub use objective::{Batch, Objective, Outcome, Scratch};
pub use out_of_sample::{OUT_OF_SAMPLE, OutOfSample, out_of_sample_weights};
pub use preset::{Preset, PresetOverrides};
pub(crate) use quantile::conformal_rank;
pub use quantile::{CLASS_ROWS, threshold};
pub use risk::couple;
pub(crate) use wide::WideRow;
