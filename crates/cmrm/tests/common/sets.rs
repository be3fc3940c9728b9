//! Records of kind `sets`: split conformal prediction sets.

use cmrm::conformal::{Conformal, ConformalConfig, ScoreKind, evaluate};
use cmrm::{Matrix, Scalar};
use serde_json::Value;

use super::{Report, cast, json};

const SCORES: [(&str, ScoreKind); 4] = [
    ("lac", ScoreKind::Lac),
    ("aps", ScoreKind::Aps),
    ("aps_randomised", ScoreKind::ApsRandomised),
    ("raps", ScoreKind::Raps),
];

/// Probabilities, labels and uniform numbers of some rows.
struct Part<'a, T> {
    probabilities: Matrix<'a, T>,
    labels: &'a [u32],
    uniforms: &'a [f64],
}

pub fn check<T: Scalar + Into<f64>>(record: &Value, report: &mut Report) -> Result<(), String> {
    let (probabilities, classes) = json::matrix(record, "probabilities")?;
    let probabilities: Vec<T> = cast(&probabilities);
    let labels = json::labels(record, "labels")?;
    let uniforms = json::numbers(record, "uniforms")?;
    let split = json::count(record, "calibration_rows")?;
    if split > labels.len() || uniforms.len() != labels.len() || probabilities.len() != labels.len() * classes {
        return Err(format!(
            "{} labels, {} uniforms and {} × {classes} probabilities do not fit together or {split} calibration rows",
            labels.len(),
            uniforms.len(),
            probabilities.len() / classes.max(1),
        ));
    }
    let matrix = |values| Matrix::new(values, classes).map_err(|error| error.to_string());
    let (first, rest) = probabilities.split_at(split * classes);
    let parts = [
        Part { probabilities: matrix(first)?, labels: &labels[..split], uniforms: &uniforms[..split] },
        Part { probabilities: matrix(rest)?, labels: &labels[split..], uniforms: &uniforms[split..] },
    ];
    for (index, case) in json::list(record, "cases")?.iter().enumerate() {
        let place = format!("sets, seed {}, case {index} ({})", record["seed"], case["score"]);
        check_case(record, case, &parts, &place, report).map_err(|error| format!("case {index}: {error}"))?;
    }
    Ok(())
}

fn check_case<T: Scalar + Into<f64>>(
    record: &Value,
    case: &Value,
    [calibration, test]: &[Part<'_, T>; 2],
    place: &str,
    report: &mut Report,
) -> Result<(), String> {
    let config = ConformalConfig {
        coverage: json::number(record, "coverage")?,
        score: json::choice(case, "score", &SCORES)?,
        ..ConformalConfig::default()
    };
    let refused = |error: cmrm::Error| error.to_string();
    let conformal = config.validate().map_err(refused)?;
    let predictor =
        conformal.calibrate(calibration.probabilities, calibration.labels, calibration.uniforms).map_err(refused)?;
    let threshold = predictor.thresholds.of(0);
    report.scalar(&format!("{place}, threshold"), json::number(case, "threshold")?, threshold);
    let sets = predictor.predict(test.probabilities, test.uniforms).map_err(refused)?;

    let expected = json::numbers(case, "sizes")?;
    if expected.len() != sets.rows() {
        return Err(format!("field \"sizes\" lists {} numbers for {} rows", expected.len(), sets.rows()));
    }
    let undecided = undecided_classes(&conformal, threshold, test)?;
    let mut same = true;
    for (i, size) in sets.sizes().enumerate() {
        let found = size as f64;
        same &= found == expected[i];
        if (found - expected[i]).abs() > undecided[i] as f64 {
            report.compare(&format!("{place}, sizes[{i}]"), expected[i], found, expected[i].max(1.0));
        } else {
            report.numbers += 1;
        }
    }
    if same {
        let found = evaluate(&sets, test.labels).map_err(refused)?;
        report.scalar(&format!("{place}, coverage"), json::number(case, "coverage")?, found.coverage);
        report.scalar(&format!("{place}, mean_size"), json::number(case, "mean_size")?, found.mean_size);
    }
    report.cases += 1;
    Ok(())
}

/// How many classes of each row have a score that single precision cannot tell from the threshold, so that they may
/// fall on either side of it; none in double precision.
fn undecided_classes<T: Scalar + Into<f64>>(
    conformal: &Conformal,
    threshold: f64,
    test: &Part<'_, T>,
) -> Result<Vec<usize>, String> {
    const SLACK: f64 = 1e-6;
    let rows = test.labels.len();
    let mut undecided = vec![0; rows];
    if size_of::<T>() == size_of::<f64>() {
        return Ok(undecided);
    }
    for class in 0..test.probabilities.columns() as u32 {
        let labels = vec![class; rows];
        let scores = conformal.scores(test.probabilities, &labels, test.uniforms).map_err(|error| error.to_string())?;
        for (count, score) in undecided.iter_mut().zip(scores) {
            *count += usize::from((score - threshold).abs() <= SLACK);
        }
    }
    Ok(undecided)
}
