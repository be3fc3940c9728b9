//! Fifty steps of a small network against recorded PyTorch runs, and the optimum of scikit-learn's logistic regression.

use cmrm::Matrix;
use cmrm::Scalar;
use cmrm::envelope::{Batch, Objective};
use cmrm::loss::{CrossEntropy, LossConfig};
use cmrm_train::model::{Layout, ModelConfig, Network, Workspace};
use cmrm_train::optim::{DecayMask, LbfgsConfig, Optimiser, OptimiserConfig};
use cmrm_train::train::{Arm, Examples, Method, Silent, TrainConfig, Trainer};
use serde_json::Value;

mod common;

fn numbers<T: Scalar>(value: &Value) -> Vec<T> {
    value.as_array().unwrap().iter().map(|v| T::from_f64(v.as_f64().unwrap())).collect()
}

/// Repeats every recorded run in the number type `T`; returns the largest relative deviation of a loss or a weight.
fn repeat_runs<T: Scalar>(key: &str) -> f64 {
    let trace: Value = serde_json::from_str(include_str!("reference/mlp_traces.json")).unwrap();
    let features: Vec<T> = numbers(&trace["features"]);
    let labels: Vec<u32> = numbers::<f64>(&trace["labels"]).into_iter().map(|l| l as u32).collect();
    let widths: Vec<usize> = numbers::<f64>(&trace["layers"]).into_iter().map(|w| w as usize).collect();
    let (inputs, classes) = (widths[0], widths[2]);
    let config = ModelConfig::mlp(&widths[1..2]);
    let layout = Layout::new(&config.validate().unwrap(), inputs, classes, 1).unwrap();
    let mut worst = 0.0f64;
    for run in trace["runs"].as_array().unwrap() {
        let mut network = Network::from_parameters(layout.clone(), numbers::<T>(&trace["initial"])).unwrap();
        let settings: OptimiserConfig = serde_json::from_value(run["config"].clone()).unwrap();
        let mut optimiser = Optimiser::new(settings.validate().unwrap(), DecayMask::all(layout.parameters()));
        let losses: Vec<f64> = numbers(&run[key]["losses"]);
        let mut work = Workspace::default();
        let mut gradient = vec![T::ZERO; layout.parameters()];
        for (batch, &expected) in trace["batches"].as_array().unwrap().iter().zip(&losses) {
            let rows: Vec<usize> = numbers::<f64>(batch).into_iter().map(|r| r as usize).collect();
            let x: Vec<T> = rows.iter().flat_map(|&r| features[r * inputs..(r + 1) * inputs].iter().copied()).collect();
            let y: Vec<u32> = rows.iter().map(|&r| labels[r]).collect();
            let x = Matrix::new(&x, inputs).unwrap();
            network.forward(x, None, true, &mut work).unwrap();
            let (outputs, delta) = work.outputs_and_delta();
            let batch = Batch::new(Matrix::new(outputs, classes).unwrap(), &y);
            let outcome = Objective::base(CrossEntropy).evaluate(&batch, delta, &mut Default::default()).unwrap();
            worst = worst.max((outcome.base - expected).abs() / expected);
            network.backward(x, None, &mut work, &mut gradient).unwrap();
            optimiser.step(network.parameters_mut(), &gradient, run["lr"].as_f64().unwrap()).unwrap();
        }
        let finals: Vec<f64> = numbers(&run[key]["final"]);
        let largest = finals.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        for (p, e) in network.parameters().iter().zip(finals) {
            worst = worst.max((p.to_f64() - e).abs() / largest);
        }
    }
    worst
}

#[test]
fn sgd_adam_and_adamw_follow_pytorch_for_fifty_steps() {
    let double = repeat_runs::<f64>("float64");
    assert!(double < 1e-10, "{double}");
    let single = repeat_runs::<f32>("float32");
    assert!(single < 1e-4, "{single}");
}

#[test]
fn lbfgs_reaches_the_recorded_optimum() {
    let record: Value = serde_json::from_str(include_str!("reference/logistic_optimum.json")).unwrap();
    let small = &record["small"];
    let features: Vec<f64> = numbers(&small["features"]);
    let labels: Vec<u32> = numbers::<f64>(&small["labels"]).into_iter().map(|l| l as u32).collect();
    let columns = small["columns"].as_u64().unwrap() as usize;
    let c = small["optimum"]["c"].as_f64().unwrap();
    let config = TrainConfig {
        method: Method::FullBatch(LbfgsConfig::default()),
        l2: 1.0 / c,
        ..common::adam(ModelConfig::linear(), 500, None)
    };
    let examples = Examples::new(Matrix::new(&features, columns).unwrap(), &labels);
    let mut trainer = Trainer::new(config, vec![Arm::base(LossConfig::CrossEntropy)], 3, examples, None).unwrap();
    trainer.run(&mut Silent).unwrap();
    let model = trainer.finish().unwrap().remove(0).model;
    let (weights, biases) = model.network().parameters().split_at(3 * columns);
    for (found, expected) in weights.iter().zip(numbers::<f64>(&small["weights"])) {
        assert!((found - expected).abs() < 1e-4, "{found} against {expected}");
    }
    // Only differences of the biases are determined.
    let expected: Vec<f64> = numbers(&small["bias"]);
    for k in 1..3 {
        assert!((biases[k] - biases[0] - (expected[k] - expected[0])).abs() < 1e-4);
    }
}
