//! L-BFGS that knows the second moments of the features: fewer iterations, the same optimum.

mod common;

use cmrm::loss::LossConfig;
use cmrm_train::model::{Head, ModelConfig};
use cmrm_train::optim::{LbfgsConfig, LbfgsStatus};
use cmrm_train::train::{Arm, Method, Silent, TrainConfig, Trainer};
use common::{adam, blobs};

/// Iterations until L-BFGS ends, and the parameters there.
fn fit(x: &[f64], columns: usize, labels: &[u32], classes: usize, head: Head, precondition: bool) -> (usize, Vec<f64>) {
    let lbfgs =
        LbfgsConfig { precondition, gradient_tolerance: 1e-9, function_tolerance: 0.0, ..LbfgsConfig::default() };
    let config = TrainConfig {
        method: Method::FullBatch(lbfgs),
        l2: 1e-3,
        ..adam(ModelConfig { head, ..ModelConfig::linear() }, 1000, None)
    };
    let examples = cmrm_train::train::Examples::new(cmrm::Matrix::new(x, columns).unwrap(), labels);
    let arms = vec![Arm::base(LossConfig::CrossEntropy)];
    let mut trainer = Trainer::new(config, arms, classes, examples, None).unwrap();
    trainer.run(&mut Silent).unwrap();
    let iterations = trainer.epochs_done();
    let trained = trainer.finish().unwrap().remove(0);
    assert_eq!(trained.lbfgs, Some(LbfgsStatus::GradientTolerance));
    (iterations, trained.model.network().parameters().to_vec())
}

#[test]
fn features_that_go_together_take_half_of_the_iterations_to_the_same_optimum() {
    let data = blobs(2000, 12, 4, 0.3, 11);
    // Every feature is mostly their mean, which stretches the loss.
    let mut x: Vec<f64> = data.x.iter().map(|&value| f64::from(value)).collect();
    for row in x.chunks_exact_mut(data.columns) {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        row.iter_mut().for_each(|value| *value = 8.0 * mean + 0.4 * *value);
    }
    for (classes, head) in [(4, Head::Linear), (2, Head::Linear), (2, Head::Score)] {
        let labels: Vec<u32> = data.observed.iter().map(|&label| label % classes).collect();
        let fit = |precondition| fit(&x, data.columns, &labels, classes as usize, head, precondition);
        let ((plain, from_sphere), (known, from_moments)) = (fit(false), fit(true));
        assert!(2 * known <= plain, "{classes} classes, {head:?}: {known} iterations against {plain}");
        for (a, b) in from_moments.iter().zip(&from_sphere) {
            assert!((a - b).abs() < 1e-5, "{classes} classes, {head:?}: {a} against {b}");
        }
    }
}
