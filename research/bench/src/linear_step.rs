//! A training step of a linear layer, to measure the envelope's share of its time.

use cmrm::Matrix;
use cmrm::envelope::{Batch, Objective, Outcome, Scratch};
use cmrm::loss::CrossEntropy;
use cmrm::rng::Rng;
use cmrm_train::matmul::{View, ViewMut, multiply};

const ROWS: usize = 128;
const INPUTS: usize = 1024;
const CLASSES: usize = 100;

/// One step of a linear layer 1024→100 on a batch of 128: product, loss with its gradient, product.
#[derive(Debug)]
pub struct LinearStep {
    inputs: Vec<f32>,
    layer: Vec<f32>,
    labels: Vec<u32>,
    logits: Vec<f32>,
    logit_grad: Vec<f32>,
    layer_grad: Vec<f32>,
    scratch: Scratch<f32>,
}

impl LinearStep {
    /// A layer of random weights and a batch of random inputs.
    pub fn new() -> Self {
        let mut rng = Rng::new(0, 0);
        LinearStep {
            inputs: crate::normal(&mut rng, ROWS * INPUTS, 1.0),
            layer: crate::normal(&mut rng, INPUTS * CLASSES, 0.1),
            labels: (0..ROWS).map(|_| rng.below(CLASSES) as u32).collect(),
            logits: vec![0.0; ROWS * CLASSES],
            logit_grad: vec![0.0; ROWS * CLASSES],
            layer_grad: vec![0.0; INPUTS * CLASSES],
            scratch: Scratch::default(),
        }
    }

    /// With cross-entropy alone.
    pub fn base(&mut self) -> f64 {
        self.step(&Objective::base(CrossEntropy))
    }

    /// With cross-entropy in the envelope.
    pub fn enveloped(&mut self) -> f64 {
        self.step(&Objective::with_envelope(CrossEntropy, crate::envelope()))
    }

    fn step(&mut self, objective: &Objective<CrossEntropy>) -> f64 {
        let inputs = View::rows(&self.inputs, ROWS, INPUTS, INPUTS);
        let layer = View::rows(&self.layer, INPUTS, CLASSES, CLASSES);
        multiply(ViewMut::rows(&mut self.logits, ROWS, CLASSES, CLASSES), inputs, layer, false);
        let Outcome { total, .. } = self.loss(objective);
        let inputs = View::rows(&self.inputs, ROWS, INPUTS, INPUTS).transposed();
        let logit_grad = View::rows(&self.logit_grad, ROWS, CLASSES, CLASSES);
        multiply(ViewMut::rows(&mut self.layer_grad, INPUTS, CLASSES, CLASSES), inputs, logit_grad, false);
        total
    }

    fn loss(&mut self, objective: &Objective<CrossEntropy>) -> Outcome<f32> {
        let logits = Matrix::new(&self.logits, CLASSES).expect("a whole number of rows");
        objective
            .evaluate(&Batch::new(logits, &self.labels), &mut self.logit_grad, &mut self.scratch)
            .expect("finite logits and labels in range")
    }
}

impl Default for LinearStep {
    fn default() -> Self {
        LinearStep::new()
    }
}
