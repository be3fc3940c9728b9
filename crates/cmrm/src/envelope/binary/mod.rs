//! The class-conditional envelope for two classes.
//!
//! With `p` the probability of class 1, a row labelled 0 is suspicious when `p` lies above `τ⁻`, a row labelled 1 when
//! `p` lies below `τ⁺`. The tails beyond the thresholds, `T = λ⁻ Σ (p − τ⁻)⁺ + λ⁺ Σ (τ⁺ − p)⁺`, enter the total with a
//! minus sign (`relax`, the paper) or a plus sign (`penalise`, the authors' code).

mod config;
mod objective;
mod risk;
mod threshold;

pub use config::{BinaryConfig, BinaryEnvelope, Direction, TailNormaliser, ThresholdKind};
pub use objective::{BinaryObjective, BinaryOutcome, BinaryScratch};
pub use risk::{BinaryRisk, risk};
pub use threshold::{Thresholds, thresholds};
