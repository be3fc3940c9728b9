//! How good predictions are: one metric a file, checked inputs, stated conventions.
//!
//! | metric | of | undefined, and so an error, when |
//! |---|---|---|
//! | [`accuracy`], [`macro_f1`], [`balanced_accuracy`], [`Confusion`] | predicted classes | there are no rows |
//! | [`top_k_accuracy`] | scores, a column per class | there are no rows |
//! | [`auroc`] | scores of class 1 | one class has no rows |
//! | [`average_precision`] | scores of class 1 | class 1 has no rows |
//! | [`false_positive_rate`], [`false_negative_rate`], [`BinaryCounts`] | predicted 0 or 1 | the class they divide by has no rows |
//! | [`log_loss`], [`brier`], [`expected_calibration_error`] | probabilities, a column per class | rows do not sum to 1 |
//! | [`CorrectedRows`] | probabilities, and labels that are partly wrong | the noise is not known |
//! | [`risk_coverage`] | confidences, and whether the rows were right | there are no rows |
//! | [`binary_brier`] | probabilities of class 1 | there are no rows |
//!
//! Uncertainty: [`wilson`] for a share of rows, [`bootstrap`] for any metric, [`compare_paired`] for two methods over
//! the same seeds.

mod accuracy;
mod auprc;
mod auroc;
mod balanced_accuracy;
mod binary_rates;
mod bootstrap;
mod brier;
mod calibration;
mod check;
mod confusion;
mod corrected;
mod interval;
mod log_loss;
mod macro_f1;
mod paired;
mod risk_coverage;
mod student;
mod top_k;
mod wilson;

pub use accuracy::{accuracy, predicted_classes};
pub use auprc::average_precision;
pub use auroc::auroc;
pub use balanced_accuracy::balanced_accuracy;
pub use binary_rates::{BinaryCounts, false_negative_rate, false_positive_rate};
pub use bootstrap::{Bootstrap, BootstrapConfig, bootstrap};
pub use brier::{binary_brier, brier};
pub use calibration::{
    ReliabilityBin, RowCalibration, calibration_error_beyond, calibration_error_of, expected_calibration_error,
    reliability,
};
pub use confusion::Confusion;
pub use corrected::CorrectedRows;
pub use interval::Interval;
pub use log_loss::log_loss;
pub use macro_f1::macro_f1;
pub use paired::{PairedComparison, TTest, compare_paired};
pub use risk_coverage::{ConfidenceRanks, RiskAt, RiskCoverage, risk_coverage};
pub use top_k::top_k_accuracy;
pub use wilson::wilson;
