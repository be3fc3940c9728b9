//! Checks reference files in the format of `tests/fixtures/envelope.json` through the public API.
//! Shared by the test `conformance` and the example of that name.

use cmrm::envelope::binary::{BinaryConfig, BinaryObjective, BinaryScratch, Direction};
use cmrm::envelope::{Batch, EnvelopeConfig, MarginKind, Normaliser, Objective, QuantileKind, Scratch, Start};
use cmrm::loss::{Loss, LossConfig, Row, RowLoss};
use cmrm::{Matrix, Scalar};
use serde_json::Value;

/// The largest relative error of one file, and where it was.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases checked.
    pub cases: usize,
    /// Numbers compared.
    pub numbers: usize,
    /// Largest relative error.
    pub worst: f64,
    /// Case and quantity of the largest error.
    pub place: String,
}

impl Report {
    /// Compares `found` with `expected`, relative to `size` (the magnitude of the quantity the number is part of).
    fn compare(&mut self, place: &str, expected: f64, found: f64, size: f64) {
        self.numbers += 1;
        let error = if expected == found { 0.0 } else { (expected - found).abs() / size.abs().max(f64::MIN_POSITIVE) };
        // Not a number is the largest error of all.
        if !(error <= self.worst) {
            self.worst = if error.is_nan() { f64::INFINITY } else { error };
            self.place = format!("{place}: expected {expected:e}, found {found:e}");
        }
    }

    fn scalar(&mut self, place: &str, expected: &Value, found: f64) {
        let expected = number(expected);
        self.compare(place, expected, found, expected);
    }

    /// Compares a vector entry by entry, relative to its largest entry.
    fn vector(&mut self, place: &str, expected: &[f64], found: &[f64]) {
        assert_eq!(expected.len(), found.len(), "{place}: lengths differ");
        let size = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        for (i, (&e, &f)) in expected.iter().zip(found).enumerate() {
            self.compare(&format!("{place}[{i}]"), e, f, size);
        }
    }
}

/// A number, or an infinity written as text.
fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap_or_else(|| panic!("{value} is not a number")),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is not a list")).iter().map(number).collect()
}

fn matrix(value: &Value) -> Vec<f64> {
    value.as_array().unwrap_or_else(|| panic!("{value} is not a matrix")).iter().flat_map(numbers).collect()
}

fn integers(value: &Value) -> Vec<u32> {
    numbers(value).into_iter().map(|v| v as u32).collect()
}

fn cast<T: Scalar>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::from_f64(v)).collect()
}

fn widen<T: Scalar>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}

/// Checks every record of a file's text in the number type `T`.
pub fn check<T: Scalar>(text: &str) -> Report {
    let records: Vec<Value> = serde_json::from_str(text).expect("a JSON list of records");
    let mut report = Report::default();
    for record in &records {
        match record["kind"].as_str() {
            Some("multiclass") => multiclass::<T>(record, &mut report),
            Some("binary") => binary::<T>(record, &mut report),
            Some("sets") => sets(record, &mut report),
            other => panic!("unknown kind of record: {other:?}"),
        }
    }
    report
}

fn multiclass<T: Scalar>(record: &Value, report: &mut Report) {
    let classes = record["classes"].as_u64().expect("classes") as usize;
    let logits: Vec<T> = cast(&matrix(&record["logits"]));
    let labels = integers(&record["labels"]);
    let counts = numbers(&record["class_counts"]);
    let mut scratch = Scratch::default();
    for (index, case) in record["cases"].as_array().expect("cases").iter().enumerate() {
        let text = |key: &str| case[key].as_str().unwrap_or_else(|| panic!("{key} missing"));
        let loss = match text("loss") {
            "cross_entropy" | "ce" => LossConfig::CrossEntropy,
            "focal" => LossConfig::Focal { gamma: number(&record["focal_gamma"]) },
            "gce" => LossConfig::Gce { q: number(&record["gce_q"]) },
            "ldam" => LossConfig::Ldam {
                max_margin: number(&record["ldam"]["max_margin"]),
                scale: number(&record["ldam"]["scale"]),
            },
            other => panic!("unknown loss {other}"),
        };
        let config = EnvelopeConfig {
            lambda: number(&case["lam"]),
            alpha: number(&case["alpha"]),
            temperature: number(&case["temperature"]),
            margin: match text("margin") {
                "probability" => MarginKind::Probability,
                "logit" => MarginKind::Logit,
                "loss" => MarginKind::Loss,
                other => panic!("unknown margin {other}"),
            },
            quantile: match text("quantile") {
                "conformal" => QuantileKind::Conformal,
                "interpolated" => QuantileKind::Interpolated,
                other => panic!("unknown quantile {other}"),
            },
            normaliser: match text("normalise") {
                "mean" => Normaliser::Mean,
                "weights" => Normaliser::Weights,
                other => panic!("unknown normaliser {other}"),
            },
            start: Start::Epoch(0),
            fresh_optimiser: false,
        };
        let place = format!(
            "multiclass record seed {}, case {index} ({}, {}, {}, {})",
            record["seed"],
            text("loss"),
            text("margin"),
            text("quantile"),
            text("normalise")
        );
        let objective =
            Objective::with_envelope(loss.validate(&counts).expect("a loss"), config.validate().expect("an envelope"));
        let batch = Batch::new(Matrix::new(&logits, classes).expect("a matrix"), &labels);
        let mut grad = vec![T::ZERO; logits.len()];
        let outcome = objective.evaluate(&batch, &mut grad, &mut scratch).expect("a finite result");
        let grad = widen(&grad);
        let norm = number(&case["grad_norm"]);

        // Sums of terms of both signs are compared relative to the size of their terms.
        let margins = widen(scratch.margins());
        let largest_margin = margins.iter().fold(0.0f64, |a, m| a.max(m.abs()));
        report.compare(
            &format!("{place} tau"),
            if config.margin == MarginKind::Loss { -number(&case["tau"]) } else { number(&case["tau"]) },
            outcome.tau.expect("a threshold").to_f64(),
            largest_margin,
        );
        report.scalar(&format!("{place} base_loss"), &case["base_loss"], outcome.base);
        report.compare(&format!("{place} risk"), number(&case["risk"]), outcome.risk, largest_margin);
        let size = number(&case["base_loss"]) + config.lambda * largest_margin;
        report.compare(&format!("{place} total"), number(&case["total"]), outcome.total, size);
        report.scalar(
            &format!("{place} grad_norm"),
            &case["grad_norm"],
            grad.iter().map(|g| g * g).sum::<f64>().sqrt(),
        );
        for (j, (&g, e)) in grad.iter().zip(numbers(&case["grad_first_row"])).enumerate() {
            report.compare(&format!("{place} grad_first_row[{j}]"), e, g, norm);
        }
        let checksum = grad.iter().enumerate().map(|(j, g)| g * (j as f64).cos()).sum();
        report.compare(&format!("{place} grad_checksum"), number(&case["grad_checksum"]), checksum, norm);
        if !case["margins"].is_null() {
            let sign = if config.margin == MarginKind::Loss { -1.0 } else { 1.0 };
            let expected: Vec<f64> = numbers(&case["margins"]).iter().map(|m| sign * m).collect();
            report.vector(&format!("{place} margins"), &expected, &margins);
        }
        if !case["weights"].is_null() {
            report.vector(&format!("{place} weights"), &numbers(&case["weights"]), &widen(scratch.weights()));
        }
        report.cases += 1;
    }
}

/// A base loss of zero, so that the gradient is the envelope's alone.
struct Nothing;

impl<T: Scalar> Loss<T> for Nothing {
    fn row(&self, row: Row<T>) -> RowLoss<T> {
        RowLoss::of_log_probability(&row, T::ZERO, T::ZERO)
    }
}

fn binary<T: Scalar>(record: &Value, report: &mut Report) {
    let scores: Vec<T> = cast(&numbers(&record["scores"]));
    let labels = integers(&record["labels"]);
    let mut scratch = BinaryScratch::default();
    for (index, case) in record["cases"].as_array().expect("cases").iter().enumerate() {
        let mut config = BinaryConfig::paper(
            number(&case["lambda_plus"]),
            number(&case["lambda_minus"]),
            number(&case["alpha_plus"]),
            number(&case["alpha_minus"]),
        );
        config.direction = match case["direction"].as_str() {
            Some("relax") => Direction::Relax,
            Some("penalise") => Direction::Penalise,
            other => panic!("unknown direction {other:?}"),
        };
        let objective = BinaryObjective { loss: Nothing, envelope: Some(config.validate().expect("an envelope")) };
        let mut grad = vec![T::ZERO; scores.len()];
        let outcome = objective.evaluate(&scores, &labels, None, &mut grad, &mut scratch).expect("a finite result");
        let place = format!("binary record seed {}, case {index}", record["seed"]);
        let found = outcome.thresholds.expect("thresholds");
        report.scalar(&format!("{place} tau_plus"), &case["tau_plus"], found.plus.to_f64());
        report.scalar(&format!("{place} tau_minus"), &case["tau_minus"], found.minus.to_f64());
        report.scalar(&format!("{place} risk"), &case["risk"], outcome.risk);
        report.vector(&format!("{place} grad"), &numbers(&case["grad"]), &widen(&grad));
        report.cases += 1;
    }
}

fn sets(_record: &Value, _report: &mut Report) {}
