//! Initial weights, drawn from a seed.

use cmrm::Scalar;
use cmrm::rng::Rng;

use super::config::{Init, ModelConfig};
use super::layout::Layout;

/// Stream of the generator that initial weights are drawn from.
const WEIGHTS_STREAM: u64 = 0x77;

/// Fills one copy's parameters. The same seed gives the same copy, however many stand beside it.
pub fn initialise<T: Scalar>(config: &ModelConfig, layout: &Layout, copy: usize, seed: u64, parameters: &mut [T]) {
    let mut rng = Rng::new(seed, WEIGHTS_STREAM);
    let last = layout.layers.len() - 1;
    for (l, layer) in layout.layers.iter().enumerate() {
        let gain = if l == last { 1.0 } else { 2.0 };
        let deviation = (gain / layer.inputs as f64).sqrt();
        let bound = 1.0 / (layer.inputs as f64).sqrt();
        let mut draw = |is_weight: bool| match config.init {
            Init::Kaiming if is_weight => T::from_f64(deviation * rng.normal()),
            Init::Uniform => T::from_f64(bound * (2.0 * rng.uniform() - 1.0)),
            Init::Kaiming | Init::Zeros => T::ZERO,
        };
        parameters[layer.weights_of(copy)].iter_mut().for_each(|w| *w = draw(true));
        parameters[layer.biases_of(copy)].iter_mut().for_each(|b| *b = draw(false));
    }
}
