//! Records of kind `multiclass`: the envelope around a base loss.

use cmrm::envelope::{Batch, EnvelopeConfig, MarginKind, Normaliser, Objective, Preset, QuantileKind, Scratch, Start};
use cmrm::loss::LossConfig;
use cmrm::{Matrix, Scalar};
use serde_json::Value;

use super::{Report, cast, json, widen};

const MARGINS: [(&str, MarginKind); 3] =
    [("probability", MarginKind::Probability), ("logit", MarginKind::Logit), ("loss", MarginKind::Loss)];
const QUANTILES: [(&str, QuantileKind); 2] =
    [("conformal", QuantileKind::Conformal), ("interpolated", QuantileKind::Interpolated)];
const NORMALISERS: [(&str, Normaliser); 2] = [("mean", Normaliser::Mean), ("weights", Normaliser::Weights)];

/// A batch as the file gives it.
struct Record<'a, T> {
    fields: &'a Value,
    logits: Vec<T>,
    classes: usize,
    labels: Vec<u32>,
    class_counts: Vec<f64>,
}

pub fn check<T: Scalar>(fields: &Value, report: &mut Report) -> Result<(), String> {
    let (logits, classes) = json::matrix(fields, "logits")?;
    let record = Record {
        fields,
        logits: cast::<T>(&logits),
        classes,
        labels: json::labels(fields, "labels")?,
        class_counts: json::numbers(fields, "class_counts")?,
    };
    let mut scratch = Scratch::default();
    for (index, case) in json::list(fields, "cases")?.iter().enumerate() {
        check_case(&record, case, index, &mut scratch, report).map_err(|error| format!("case {index}: {error}"))?;
    }
    Ok(())
}

fn check_case<T: Scalar>(
    record: &Record<'_, T>,
    case: &Value,
    index: usize,
    scratch: &mut Scratch<T>,
    report: &mut Report,
) -> Result<(), String> {
    let config = envelope(case)?;
    let loss = loss(record.fields, case)?.validate(&record.class_counts).map_err(|error| error.to_string())?;
    let envelope = config.validate().map_err(|error| error.to_string())?;
    let logits = Matrix::new(&record.logits, record.classes).map_err(|error| error.to_string())?;
    let mut grad = vec![T::ZERO; record.logits.len()];
    let outcome = Objective::with_envelope(loss, envelope)
        .evaluate(&Batch::new(logits, &record.labels), &mut grad, scratch)
        .map_err(|error| error.to_string())?;
    let grad = widen(&grad);
    let margins = widen(scratch.margins());
    // The file measures the loss form by the row losses; here every margin is large when the label is believed.
    let sign = if config.margin == MarginKind::Loss { -1.0 } else { 1.0 };

    let [loss, margin, quantile, normalise] = ["loss", "margin", "quantile", "normalise"].map(|key| &case[key]);
    let seed = &record.fields["seed"];
    let place = format!("multiclass, seed {seed}, case {index} ({loss}, {margin}, {quantile}, {normalise})");
    let at = |quantity: &str| format!("{place}, {quantity}");

    // Sums of terms of both signs are compared relative to the size of their terms.
    let largest_margin = margins.iter().fold(0.0f64, |a, m| a.max(m.abs()));
    let tau = outcome.tau.ok_or("the library returned no threshold")?;
    report.compare(&at("tau"), sign * json::number(case, "tau")?, tau.to_f64(), largest_margin);
    let base_loss = json::number(case, "base_loss")?;
    report.scalar(&at("base_loss"), base_loss, outcome.base);
    report.compare(&at("risk"), json::number(case, "risk")?, outcome.risk, largest_margin);
    let total_size = base_loss + config.lambda * largest_margin;
    report.compare(&at("total"), json::number(case, "total")?, outcome.total, total_size);

    let norm = json::number(case, "grad_norm")?;
    report.scalar(&at("grad_norm"), norm, grad.iter().map(|g| g * g).sum::<f64>().sqrt());
    let first_row = json::numbers(case, "grad_first_row")?;
    if first_row.len() != record.classes {
        return Err(format!("grad_first_row lists {} numbers for {} classes", first_row.len(), record.classes));
    }
    for (j, (&g, &e)) in grad.iter().zip(&first_row).enumerate() {
        report.compare(&at(&format!("grad_first_row[{j}]")), e, g, norm);
    }
    let checksum = grad.iter().enumerate().map(|(j, g)| g * (j as f64).cos()).sum();
    report.compare(&at("grad_checksum"), json::number(case, "grad_checksum")?, checksum, norm);

    if let Some(expected) = json::optional_numbers(case, "margins")? {
        let expected: Vec<f64> = expected.iter().map(|margin| sign * margin).collect();
        report.vector(&at("margins"), &expected, &margins)?;
    }
    if let Some(expected) = json::optional_numbers(case, "weights")? {
        report.vector(&at("weights"), &expected, &widen(scratch.weights()))?;
    }
    report.cases += 1;
    Ok(())
}

fn envelope(case: &Value) -> Result<EnvelopeConfig, String> {
    Ok(EnvelopeConfig {
        lambda: json::number(case, "lam")?,
        alpha: json::number(case, "alpha")?,
        temperature: json::number(case, "temperature")?,
        margin: json::choice(case, "margin", &MARGINS)?,
        quantile: json::choice(case, "quantile", &QUANTILES)?,
        normaliser: json::choice(case, "normalise", &NORMALISERS)?,
        start: Start::Epoch(0),
        ..Preset::Paper.config(&LossConfig::CrossEntropy)
    })
}

/// The loss of a case; its parameters stand in the record.
fn loss(record: &Value, case: &Value) -> Result<LossConfig, String> {
    Ok(match json::text(case, "loss")? {
        "cross_entropy" => LossConfig::CrossEntropy,
        "focal" => LossConfig::Focal { gamma: json::number(record, "focal_gamma")? },
        "gce" => LossConfig::Gce { q: json::number(record, "gce_q")? },
        "ldam" => {
            let ldam = json::field(record, "ldam")?;
            LossConfig::Ldam { max_margin: json::number(ldam, "max_margin")?, scale: json::number(ldam, "scale")? }
        }
        other => return Err(format!("unknown loss \"{other}\"; known are cross_entropy, focal, gce and ldam")),
    })
}
