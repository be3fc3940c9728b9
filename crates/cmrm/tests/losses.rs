//! Losses for noisy labels against reference values: double precision, another automatic differentiation.

mod naive;

use cmrm::envelope::{Batch, EnvelopeConfig, Objective, Outcome, Preset, RowMemory, RunningTargets, Scratch};
use cmrm::loss::LossConfig;
use cmrm::{Matrix, Scalar};
use proptest::prelude::*;
use serde_json::Value;

/// What ELR's targets keep of themselves, in all tests here.
const BETA: f64 = 0.7;

const REFERENCE: &str = include_str!("fixtures/methods.json");

fn records() -> Vec<Value> {
    serde_json::from_str::<Value>(REFERENCE).unwrap()["losses"].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

/// Smoothed labels read differences of logits: a sum of these logits would overflow, a logarithm of the smallest
/// probability too.
#[test]
fn label_smoothing_is_exact_for_extreme_logits() {
    fn evaluate<T: Scalar>(logits: &[T], label: u32) -> (f64, Vec<T>) {
        let loss = LossConfig::LabelSmoothing { epsilon: 0.5 }.validate(&[]).unwrap();
        let labels = [label];
        let batch = Batch::new(Matrix::new(logits, logits.len()).unwrap(), &labels);
        let mut grad = vec![T::ZERO; logits.len()];
        let outcome = Objective::base(&loss).evaluate(&batch, &mut grad, &mut Scratch::default()).unwrap();
        (outcome.base, grad)
    }
    for label in [0, 1, 2] {
        let (same, grad) = evaluate(&[f32::MAX; 3], label);
        assert!((same - 3f64.ln()).abs() < 1e-6, "{same}");
        assert!(grad.iter().sum::<f32>().abs() < 1e-6, "{grad:?}");
    }
    // −log s = (0, 3000, 6000): mean 3000, half of it and half of the label's own.
    for (label, expected) in [(0, 1500.0), (1, 3000.0), (2, 4500.0)] {
        let (found, _) = evaluate(&[3000.0f32, 0.0, -3000.0], label);
        assert_eq!(found, expected);
        let (found, _) = evaluate(&[3000.0f64, 0.0, -3000.0], label);
        assert_eq!(found, expected);
    }
}

/// The softmax as it goes into a target.
fn kept(logits: &[f64]) -> Vec<f64> {
    let clamped: Vec<f64> = naive::softmax(logits).iter().map(|s| s.clamp(1e-4, 1.0 - 1e-4)).collect();
    let sum: f64 = clamped.iter().sum();
    clamped.iter().map(|s| s / sum).collect()
}

/// ELR of a row by its definition.
fn elr(lambda: f64, logits: &[f64], label: usize, target: &[f64]) -> f64 {
    let s = naive::softmax(logits);
    let agreement: f64 = s.iter().zip(target).map(|(s, t)| s * t).sum();
    -s[label].ln() + lambda * (1.0 - agreement).ln()
}

struct Remembered {
    memory: RowMemory<f64>,
    outcome: Outcome<f64>,
    grad: Vec<f64>,
    losses: Vec<f64>,
}

fn evaluate_elr(
    lambda: f64,
    logits: &[f64],
    labels: &[u32],
    identities: Option<&[u32]>,
    mut memory: RowMemory<f64>,
) -> Remembered {
    let loss = LossConfig::Elr { lambda, beta: BETA }.validate(&[]).unwrap();
    let (mut grad, mut scratch) = (vec![0.0; logits.len()], Scratch::default());
    let classes = logits.len() / labels.len();
    let batch = Batch::new(Matrix::new(logits, classes).unwrap(), labels).with_identities(identities);
    let outcome =
        Objective::base(&loss).evaluate_remembering(&batch, Some(&mut memory), &mut grad, &mut scratch).unwrap();
    Remembered { memory, outcome, grad, losses: scratch.row_losses().collect() }
}

fn remembering(targets: &[f64], classes: usize) -> RowMemory<f64> {
    let mut running = RunningTargets::new(targets.len() / classes, classes);
    running.targets_mut().copy_from_slice(targets);
    RowMemory { targets: Some(running), ..RowMemory::default() }
}

#[test]
fn elr_agrees_with_the_reference() {
    let mut checked = 0;
    for record in records().iter().filter(|record| record["method"] == "elr") {
        let logits = numbers(&record["logits"]);
        let labels: Vec<u32> = numbers(&record["labels"]).into_iter().map(|y| y as u32).collect();
        let classes = logits.len() / labels.len();
        // What must have been remembered for the target to be that of the record once the batch is met.
        let own: Vec<f64> = logits.chunks(classes).flat_map(kept).collect();
        let targets = numbers(&record["params"]["target"]);
        let before: Vec<f64> = targets.iter().zip(&own).map(|(t, s)| (t - (1.0 - BETA) * s) / BETA).collect();
        let identities: Vec<u32> = (0..labels.len() as u32).collect();
        let lambda = record["params"]["lambda"].as_f64().unwrap();
        let found = evaluate_elr(lambda, &logits, &labels, Some(&identities), remembering(&before, classes));
        let near = |found: &[f64], expected: &[f64]| {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-11)
        };
        assert!(near(&[found.outcome.total], &[record["total"].as_f64().unwrap()]));
        assert!(near(&found.losses, &numbers(&record["values"])));
        assert!(near(&found.grad, &numbers(&record["grad"])));
        assert!(near(found.memory.targets.unwrap().targets(), &targets));
        checked += 1;
    }
    assert_eq!(checked, 6);
}

proptest! {
    /// Rows met in three epochs, in turned orders, against the definition; the gradient holds the targets fixed.
    #[test]
    fn elr_follows_its_targets(
        rows in proptest::collection::vec((proptest::collection::vec(-12.0..12.0f64, 3), 0u32..3), 1..40),
        lambda in 0.1..5.0f64,
    ) {
        let mut memory = remembering(&vec![0.0; 3 * rows.len()], 3);
        let mut targets = vec![[0.0; 3]; rows.len()];
        let mut order: Vec<usize> = (0..rows.len()).collect();
        for epoch in 0..3 {
            order.rotate_left(epoch % rows.len());
            let moved = |i: usize| rows[i].0.iter().map(|z| z * (1.0 + 0.2 * epoch as f64)).collect::<Vec<f64>>();
            let logits: Vec<f64> = order.iter().flat_map(|&i| moved(i)).collect();
            let labels: Vec<u32> = order.iter().map(|&i| rows[i].1).collect();
            let identities: Vec<u32> = order.iter().map(|&i| i as u32).collect();
            let found = evaluate_elr(lambda, &logits, &labels, Some(&identities), memory);
            for (place, &i) in order.iter().enumerate() {
                let own = kept(&moved(i));
                targets[i].iter_mut().zip(own).for_each(|(t, s)| *t = BETA * *t + (1.0 - BETA) * s);
                let expected = elr(lambda, &moved(i), rows[i].1 as usize, &targets[i]);
                prop_assert!((found.losses[place] - expected).abs() < 1e-9, "{} {expected}", found.losses[place]);
                for j in 0..3 {
                    let slope = naive::derivative(1e-4, |step| {
                        let mut logits = moved(i);
                        logits[j] += step;
                        elr(lambda, &logits, rows[i].1 as usize, &targets[i]) / rows.len() as f64
                    });
                    let g = found.grad[3 * place + j];
                    prop_assert!((g - slope).abs() < 1e-7, "gradient {g}, differences {slope}");
                }
            }
            memory = found.memory;
        }
        for (found, expected) in memory.targets.unwrap().targets().iter().zip(targets.iter().flatten()) {
            prop_assert!((found - expected).abs() < 1e-12 && (0.0..1.0).contains(found));
        }
    }
}

#[test]
fn rows_that_nothing_is_remembered_of_are_their_own_target() {
    let (logits, labels) = ([2.0, 0.5, -1.0, 30.0, 0.0, 0.0], [0, 1]);
    let rows = || logits.chunks(3).zip(labels).map(|(z, y)| elr(3.0, z, y as usize, &kept(z)));
    let nameless = evaluate_elr(3.0, &logits, &labels, None, remembering(&[0.5; 6], 3));
    let forgetful = evaluate_elr(3.0, &logits, &labels, Some(&[0, 1]), RowMemory::default());
    for (i, expected) in rows().enumerate() {
        assert!((nameless.losses[i] - expected).abs() < 1e-9, "{} {expected}", nameless.losses[i]);
        assert_eq!(nameless.losses[i], forgetful.losses[i]);
    }
    assert_eq!(nameless.memory, remembering(&[0.5; 6], 3), "what is remembered of other rows stays");
}

#[test]
fn rows_and_classes_that_are_not_remembered_are_refused() {
    let loss = LossConfig::Elr { lambda: 3.0, beta: BETA }.validate(&[]).unwrap();
    let refused = |rows: usize, classes: usize| {
        let batch = Batch::new(Matrix::new(&[1.0, 0.0, 2.0], 3).unwrap(), &[0]).with_identities(Some(&[7]));
        let mut memory = RowMemory { targets: Some(RunningTargets::new(rows, classes)), ..RowMemory::default() };
        let mut grad = [0.0; 3];
        let result =
            Objective::base(&loss).evaluate_remembering(&batch, Some(&mut memory), &mut grad, &mut Scratch::default());
        result.unwrap_err().to_string()
    };
    assert!(refused(7, 3).contains("row identity = 7"));
    assert!(refused(8, 2).contains("classes against those of the remembered targets: expected 2, found 3"));
}

/// The limit compares gradients, those of the dense parts included.
#[test]
fn the_limit_of_the_risk_counts_the_dense_part() {
    let logits = [2.0, 0.5, -1.0, 0.0, 0.3, 0.1, -2.0, 1.0, 4.0];
    let labels = [0, 1, 1];
    let size = |grad: &[f64]| grad.iter().map(|g| g.abs()).sum::<f64>();
    for loss in ["label-smoothing:0.4", "elr"] {
        let loss = loss.parse::<LossConfig>().unwrap().validate(&[]).unwrap();
        let evaluate = |envelope: Option<EnvelopeConfig>| {
            let envelope = envelope.map(|config| config.validate().unwrap());
            let mut grad = vec![0.0; logits.len()];
            let batch = Batch::new(Matrix::new(&logits, 3).unwrap(), &labels);
            let outcome = Objective { loss: &loss, envelope }.evaluate(&batch, &mut grad, &mut Scratch::default());
            (outcome.unwrap(), grad)
        };
        let paper = Preset::Paper.config(&LossConfig::CrossEntropy);
        let limited = EnvelopeConfig { lambda: 1e3, limit: Some(0.5), ..paper };
        let ((_, base), (outcome, total)) = (evaluate(None), evaluate(Some(limited)));
        let risk: Vec<f64> = total.iter().zip(&base).map(|(t, b)| t - b).collect();
        assert!(outcome.lambda < 1e3);
        assert!((size(&risk) - 0.5 * size(&base)).abs() < 1e-12, "{loss:?}: {} {}", size(&risk), size(&base));
    }
}
