//! Prediction sets by split conformal prediction.
//!
//! A score says how badly a class fits a row. The ⌈(n+1)·coverage⌉-th smallest score of n calibration rows is the
//! threshold, and the set of a new row holds every class whose score is at most the threshold. If calibration and new
//! rows are exchangeable, the set holds the true class with probability at least `coverage`, whatever the model.
//!
//! Calibrated on labels that are partly wrong, sets hold the *observed* class that often, and are larger than they need be.
//! [`Conformal::calibrate_corrected`] calibrates on what [`crate::noise_model::PlausibleNoise`] says of the true classes, and
//! [`Conformal::calibrate_known_noise`] on what follows from noise that is known.
//!
//! ```
//! use cmrm::Matrix;
//! use cmrm::conformal::{ConformalConfig, evaluate};
//!
//! # fn main() -> cmrm::Result<()> {
//! let calibration = [0.8, 0.2, 0.3, 0.7, 0.6, 0.4, 0.1, 0.9];
//! let conformal = ConformalConfig { coverage: 0.6, ..Default::default() }.validate()?;
//! let predictor = conformal.calibrate(Matrix::new(&calibration, 2)?, &[0, 1, 0, 1], &[])?;
//! let sets = predictor.predict(Matrix::new(&[0.75, 0.25, 0.5, 0.5], 2)?, &[])?;
//! assert_eq!(sets.row(0), &[0]);
//! assert_eq!(sets.row(1), &[] as &[u32]);
//! assert_eq!(evaluate(&sets, &[0, 1])?.coverage, 0.5);
//! # Ok(())
//! # }
//! ```

pub mod aps;
pub mod aps_randomised;
mod calibrate;
mod check;
mod config;
mod corrected;
mod evaluate;
pub mod lac;
mod predictor;
pub mod ranking;
pub mod raps;
mod repeat;
mod sets;
mod split;
pub(crate) mod threshold;

pub use calibrate::{Conformal, draw_uniforms};
pub(crate) use check::{SUM_SLACK, check_probabilities, check_row};
pub use config::{ConformalConfig, EmptySets, ScoreKind, ThresholdKind};
pub use corrected::{Assurance, corrected_threshold};
pub use evaluate::{ClassSets, SetReport, evaluate};
pub use predictor::SetPredictor;
pub use repeat::{RepeatConfig, RepeatedClass, RepeatedReport, Spread, repeat_splits};
pub use sets::PredictionSets;
pub use split::{CalibrationSplit, Split};
pub use threshold::{Thresholds, conformal_threshold};
