//! Losses for noisy labels against reference values: double precision, another automatic differentiation.

use cmrm::envelope::{Batch, Objective, Scratch};
use cmrm::loss::{BaseLoss, LossConfig, Sce};
use cmrm::{Matrix, Scalar};
use serde_json::Value;

const REFERENCE: &str = include_str!("fixtures/losses.json");

fn records() -> Vec<Value> {
    serde_json::from_str(REFERENCE).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

/// The loss of a record that needs nothing but logits and labels.
fn stateless(record: &Value) -> Option<BaseLoss> {
    let parameter = |name: &str| record["params"][name].as_f64().unwrap();
    let config = match record["method"].as_str().unwrap() {
        "sce" => {
            assert_eq!(parameter("A"), Sce::LOG_ZERO);
            LossConfig::Sce { alpha: parameter("alpha"), beta: parameter("beta") }
        }
        "label-smoothing" => LossConfig::LabelSmoothing { epsilon: parameter("epsilon") },
        _ => return None,
    };
    Some(config.validate(&[]).unwrap())
}

/// Largest error of value, row values and gradient, relative to numbers of size one.
fn error<T: Scalar>(loss: &BaseLoss, record: &Value) -> f64 {
    let logits: Vec<T> = numbers(&record["logits"]).into_iter().map(T::from_f64).collect();
    let labels: Vec<u32> = numbers(&record["labels"]).into_iter().map(|y| y as u32).collect();
    let classes = logits.len() / labels.len();
    let (mut grad, mut scratch) = (vec![T::ZERO; logits.len()], Scratch::default());
    let batch = Batch::new(Matrix::new(&logits, classes).unwrap(), &labels);
    let outcome = Objective::base(loss).evaluate(&batch, &mut grad, &mut scratch).unwrap();
    let mut worst = (outcome.total - record["total"].as_f64().unwrap()).abs();
    let mut compare = |found: Vec<f64>, expected: Vec<f64>| {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.into_iter().zip(expected) {
            worst = worst.max((found - expected).abs() / expected.abs().max(1.0));
        }
    };
    compare(scratch.row_losses().map(T::to_f64).collect(), numbers(&record["values"]));
    compare(grad.iter().map(|g| g.to_f64()).collect(), numbers(&record["grad"]));
    worst
}

#[test]
fn values_and_gradients_agree_with_the_reference() {
    let mut checked = 0;
    for record in records() {
        let Some(loss) = stateless(&record) else { continue };
        let (double, single) = (error::<f64>(&loss, &record), error::<f32>(&loss, &record));
        assert!(double < 1e-13 && single < 1e-5, "{loss:?}: {double:e}, in single precision {single:e}");
        checked += 1;
    }
    assert_eq!(checked, 12);
}
