//! Records of kind `binary`: the class-conditional envelope alone.

use cmrm::Scalar;
use cmrm::envelope::binary::{BinaryConfig, BinaryObjective, BinaryScratch, Direction};
use cmrm::loss::{Loss, Row, RowLoss};
use serde_json::Value;

use super::{Report, cast, json, widen};

const DIRECTIONS: [(&str, Direction); 2] = [("relax", Direction::Relax), ("penalise", Direction::Penalise)];

/// A base loss of zero, so that the gradient is the envelope's alone.
struct Nothing;

impl<T: Scalar> Loss<T> for Nothing {
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        RowLoss::of_log_probability(&row, T::ZERO, T::ZERO)
    }
}

pub fn check<T: Scalar>(record: &Value, report: &mut Report) -> Result<(), String> {
    let scores: Vec<T> = cast(&json::numbers(record, "scores")?);
    let labels = json::labels(record, "labels")?;
    let mut scratch = BinaryScratch::default();
    for (index, case) in json::list(record, "cases")?.iter().enumerate() {
        let place = format!("binary, seed {}, case {index}", record["seed"]);
        check_case(&scores, &labels, case, &place, &mut scratch, report)
            .map_err(|error| format!("case {index}: {error}"))?;
    }
    Ok(())
}

fn check_case<T: Scalar>(
    scores: &[T],
    labels: &[u32],
    case: &Value,
    place: &str,
    scratch: &mut BinaryScratch<T>,
    report: &mut Report,
) -> Result<(), String> {
    let config = BinaryConfig {
        direction: json::choice(case, "direction", &DIRECTIONS)?,
        ..BinaryConfig::paper(
            json::number(case, "lambda_plus")?,
            json::number(case, "lambda_minus")?,
            json::number(case, "alpha_plus")?,
            json::number(case, "alpha_minus")?,
        )
    };
    let envelope = config.validate().map_err(|error| error.to_string())?;
    let mut grad = vec![T::ZERO; scores.len()];
    let outcome = BinaryObjective { loss: Nothing, envelope: Some(envelope) }
        .evaluate(scores, labels, None, &mut grad, scratch)
        .map_err(|error| error.to_string())?;
    let found = outcome.thresholds.ok_or("the library returned no thresholds")?;
    report.scalar(&format!("{place}, tau_plus"), json::number(case, "tau_plus")?, found.plus.to_f64());
    report.scalar(&format!("{place}, tau_minus"), json::number(case, "tau_minus")?, found.minus.to_f64());
    report.scalar(&format!("{place}, risk"), json::number(case, "risk")?, outcome.risk);
    report.vector(&format!("{place}, grad"), &json::numbers(case, "grad")?, &widen(&grad))?;
    report.cases += 1;
    Ok(())
}
