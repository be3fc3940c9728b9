//! Every model's gradient against finite differences, in double precision.

use cmrm::Matrix;
use cmrm::envelope::{Batch, Objective};
use cmrm::loss::{BaseLoss, LossConfig};
use cmrm::rng::Rng;
use cmrm_train::model::{Dropout, Head, ModelConfig, Network, Workspace};

const INPUTS: usize = 5;
const ROWS: usize = 7;

/// Sum over the copies of the mean base loss, and its gradient by the parameters.
fn loss_and_gradient(
    network: &Network<f64>,
    loss: &BaseLoss,
    x: Matrix<'_, f64>,
    labels: &[u32],
    dropout: Option<Dropout>,
) -> (f64, Vec<f64>) {
    let mut work = Workspace::default();
    network.forward(x, dropout, true, &mut work).unwrap();
    let layout = network.layout().clone();
    let (outputs, delta) = work.outputs_and_delta();
    let mut total = 0.0;
    for copy in 0..layout.copies {
        let offset = copy * layout.outputs();
        if layout.head == Head::Score {
            for i in 0..ROWS {
                let score = outputs[i * layout.output_width() + offset];
                let mut grad = [0.0; 2];
                let row = [0.0, score];
                let batch = Batch::new(Matrix::new(&row, 2).unwrap(), &labels[i..i + 1]);
                let outcome = Objective::base(loss).evaluate(&batch, &mut grad, &mut Default::default()).unwrap();
                total += outcome.base / ROWS as f64;
                delta[i * layout.output_width() + offset] = grad[1] / ROWS as f64;
            }
        } else {
            let batch = Batch::strided(&outputs[offset..], layout.classes, layout.output_width(), labels);
            let outcome =
                Objective::base(loss).evaluate(&batch, &mut delta[offset..], &mut Default::default()).unwrap();
            total += outcome.base;
        }
    }
    let mut gradient = vec![f64::NAN; network.parameters().len()];
    network.backward(x, dropout, &mut work, &mut gradient).unwrap();
    (total, gradient)
}

fn check(config: &ModelConfig, loss: LossConfig, classes: usize, copies: usize) {
    let mut rng = Rng::new(7, 0);
    let x: Vec<f64> = (0..ROWS * INPUTS).map(|_| rng.normal()).collect();
    let x = Matrix::new(&x, INPUTS).unwrap();
    let labels: Vec<u32> = (0..ROWS).map(|_| rng.below(classes) as u32).collect();
    let seeds: Vec<u64> = (0..copies as u64).collect();
    let mut network = Network::<f64>::new(&config.validate().unwrap(), INPUTS, classes, &seeds).unwrap();
    for p in network.parameters_mut() {
        *p += 0.3 * rng.normal();
    }
    let loss = loss.validate(&vec![3.0; classes]).unwrap();
    let dropout = (config.dropout > 0.0).then_some(Dropout { rate: config.dropout, seed: 3, step: 11 });
    let (_, gradient) = loss_and_gradient(&network, &loss, x, &labels, dropout);
    let step = 1e-6;
    for p in 0..gradient.len() {
        let mut at = |offset: f64| {
            let kept = network.parameters()[p];
            network.parameters_mut()[p] = kept + offset;
            let value = loss_and_gradient(&network, &loss, x, &labels, dropout).0;
            network.parameters_mut()[p] = kept;
            value
        };
        let difference = (at(step) - at(-step)) / (2.0 * step);
        assert!(
            (difference - gradient[p]).abs() < 1e-6 * (1.0 + difference.abs()),
            "{config:?}, parameter {p}: {difference} against {}",
            gradient[p]
        );
    }
}

#[test]
fn linear_svm_cosine_and_mlp_of_any_depth_and_number_of_copies() {
    let ldam = LossConfig::Ldam { max_margin: 0.5, scale: 30.0 };
    for copies in [1, 3] {
        check(&ModelConfig::linear(), LossConfig::CrossEntropy, 4, copies);
        check(&ModelConfig::svm(), LossConfig::Hinge, 2, copies);
        check(&ModelConfig::svm(), LossConfig::Logistic, 2, copies);
        check(&ModelConfig::cosine(), ldam, 4, copies);
        check(&ModelConfig::mlp(&[6]), LossConfig::CrossEntropy, 3, copies);
        check(&ModelConfig::mlp(&[6, 4]), LossConfig::Focal { gamma: 2.0 }, 3, copies);
        check(&ModelConfig { head: Head::Cosine, ..ModelConfig::mlp(&[6, 4]) }, ldam, 3, copies);
        check(&ModelConfig { head: Head::Score, ..ModelConfig::mlp(&[6]) }, LossConfig::Gce { q: 0.7 }, 2, copies);
        check(&ModelConfig { dropout: 0.4, ..ModelConfig::mlp(&[8, 6]) }, LossConfig::CrossEntropy, 3, copies);
    }
}

#[test]
fn copies_side_by_side_give_what_each_gives_alone() {
    let config = ModelConfig::mlp(&[16, 8]);
    let mut rng = Rng::new(1, 0);
    let x: Vec<f64> = (0..50 * INPUTS).map(|_| rng.normal()).collect();
    let x = Matrix::new(&x, INPUTS).unwrap();
    let together = Network::<f64>::new(&config.validate().unwrap(), INPUTS, 3, &[5, 6, 7]).unwrap();
    let mut work = Workspace::default();
    together.forward(x, None, false, &mut work).unwrap();
    for copy in 0..3 {
        let alone = Network::<f64>::new(&config.validate().unwrap(), INPUTS, 3, &[5 + copy as u64]).unwrap();
        assert_eq!(alone.parameters(), together.parameters_of(copy));
        let mut alone_work = Workspace::default();
        alone.forward(x, None, false, &mut alone_work).unwrap();
        for i in 0..50 {
            for k in 0..3 {
                let (a, b) = (alone_work.outputs()[i * 3 + k], work.outputs()[i * 9 + copy * 3 + k]);
                assert!((a - b).abs() < 1e-12);
            }
        }
    }
}
