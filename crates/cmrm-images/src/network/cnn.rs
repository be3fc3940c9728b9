//! A small network for 28×28 pixels.

use tch::Tensor;

use super::layer::{NormalisedConvolution, pool};
use super::params::{Layout, Parameters};

/// Three convolutions, the image halved after the first and the second.
#[derive(Debug)]
pub(super) struct Cnn {
    layers: [NormalisedConvolution; 3],
}

impl Cnn {
    pub fn new(layout: &mut Layout, channels: i64) -> Self {
        let layers = [(32, channels), (64, 32), (128, 64)];
        Cnn { layers: layers.map(|(out, inputs)| NormalisedConvolution::new(layout, out, inputs, 3, 1)) }
    }

    pub fn features(&self) -> i64 {
        128
    }

    pub fn forward(&self, parameters: &Parameters, x: &Tensor, train: bool) -> Tensor {
        let [first, second, third] = &self.layers;
        let halved = |x: Tensor| x.max_pool2d([2, 2], [2, 2], [0, 0], [1, 1], false);
        let x = halved(first.forward(parameters, x, train).relu_());
        let x = halved(second.forward(parameters, &x, train).relu_());
        pool(&third.forward(parameters, &x, train).relu_())
    }
}
