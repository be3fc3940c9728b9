//! Prediction sets of a finished run, calibrated on the rows it kept for that.

use clap::Args;
use cmrm::conformal::{ConformalConfig, ScoreKind, SetPredictor};
use cmrm_run::{CalibratedFor, Fitted};

use crate::failure::{Failure, Result};
use crate::terminal::Terminal;

/// How prediction sets are made, besides their coverage.
#[derive(Debug, Clone, Copy, Args)]
pub struct ScoreArgs {
    /// Score for prediction sets: lac (small sets), aps or raps (sets that adapt to the row).
    #[arg(long, default_value = "lac", value_parser = parse_score)]
    pub score: ScoreKind,
    /// What prediction sets are to hold: the true class (corrected for wrong labels), or the observed one
    /// [default: corrected where the run estimated how many labels are wrong].
    #[arg(long, value_name = "corrected|observed", value_parser = parse_calibration)]
    pub calibration: Option<CalibratedFor>,
}

fn parse_calibration(text: &str) -> std::result::Result<CalibratedFor, String> {
    match text {
        "observed" => Ok(CalibratedFor::Observed),
        "corrected" => Ok(CalibratedFor::Corrected),
        _ => Err(format!("unknown calibration '{text}': expected corrected or observed")),
    }
}

fn parse_score(text: &str) -> std::result::Result<ScoreKind, String> {
    match text {
        "lac" => Ok(ScoreKind::Lac),
        "aps" => Ok(ScoreKind::Aps),
        "raps" => Ok(ScoreKind::Raps),
        _ => Err(format!("unknown score '{text}': expected lac, aps or raps")),
    }
}

/// Whether the run kept calibration rows for an arm.
pub fn has_calibration(fitted: &Fitted, arm: &str) -> bool {
    fitted.calibration_file(arm).exists()
}

/// Calibrates an arm, and says on what.
pub fn calibrate(
    fitted: &Fitted,
    arm: &str,
    coverage: f64,
    args: ScoreArgs,
    terminal: &Terminal,
) -> Result<SetPredictor> {
    let conformal = ConformalConfig { coverage, score: args.score, ..ConformalConfig::default() }.validate()?;
    let path = fitted.calibration_file(arm);
    if !path.exists() {
        return Err(Failure::input(format!(
            "{}: missing; the run kept no calibration rows for the arm {arm}; fit with --validation-share above 0, or leave \
             out --coverage",
            path.display()
        )));
    }
    let calibration = fitted.calibration(arm)?;
    let calibrated_for = args.calibration.unwrap_or(calibration.usual());
    let named = |error: cmrm_run::Error| Failure::input(format!("{}: {error}", path.display()));
    let predictor = calibration.predictor(&conformal, calibrated_for).map_err(named)?;
    let rows = calibration.labels.len();
    let of_what = match calibrated_for {
        CalibratedFor::Observed => {
            format!("the observed labels of {rows} rows that the models had not seen, which may be partly wrong")
        }
        CalibratedFor::Corrected => {
            format!("true classes, by the estimated noise in the labels of {rows} rows that the models had not seen")
        }
    };
    terminal.say(format!(
        "note: prediction sets of the arm {arm} are calibrated for {} % coverage of {of_what}",
        percent(coverage)
    ));
    if !predictor.unbounded_classes().is_empty() {
        terminal.say(format!(
            "note: {rows} calibration rows are too few for this coverage, so every set contains every class; lower \
             --coverage, or fit with more validation rows"
        ));
    }
    Ok(predictor)
}

/// A share in per cent without the digits that binary fractions add.
pub fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}
