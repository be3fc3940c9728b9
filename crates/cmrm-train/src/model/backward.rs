//! The backward pass over one block of rows: the gradient of every parameter.

use std::ops::Range;

use cmrm::{Rows, Scalar};

use super::config::Head;
use super::cosine::{denormalise, weight_norms};
use super::inactive_units::Part;
use super::layout::{Layer, Layout};
use super::narrow_layer::{self, through_layer_and_rectifier};
use crate::matmul::{View, ViewMut, multiply};
use crate::stop::Stop;

/// Where the gradient of the parameters from `first` on is written.
pub(super) struct Gradient<'a, T> {
    pub values: &'a mut [T],
    /// 0, or behind the weights of a first layer on sparse rows, whose gradient is summed by columns instead.
    pub first: usize,
}

impl<T> Gradient<'_, T> {
    fn at(&mut self, range: Range<usize>) -> &mut [T] {
        &mut self.values[range.start - self.first..range.end - self.first]
    }
}

/// Gradient of the parameters for one block of rows, into `gradient`.
///
/// `deltas[last]` holds the gradient by the outputs; the other deltas are filled on the way down. `keep` is the share of
/// units that dropout keeps. Once somebody asks to stop, what is left of the gradient is not computed.
#[allow(clippy::too_many_arguments)] // slices of one batch, each used on its own
pub(super) fn backward_block<T: Scalar>(
    layout: &Layout,
    parameters: &[T],
    x: Rows<'_, T>,
    keep: f64,
    activations: &[&[T]],
    deltas: &mut [&mut [T]],
    mut gradient: Gradient<'_, T>,
    stop: &Stop,
) {
    let rows = x.rows();
    let last = layout.layers.len() - 1;
    let scale = T::from_f64(1.0 / keep);
    for (l, layer) in layout.layers.iter().enumerate().rev() {
        if stop.is_requested() {
            return;
        }
        let width = layer.width();
        let (below, here) = deltas.split_at_mut(l);
        let delta = &mut *here[0];
        let (hidden, hidden_width) =
            if l == 0 { (x.values(), layer.inputs) } else { (activations[l - 1], layer.inputs * layout.copies) };
        let corrections = if l == last && layout.head == Head::Cosine {
            Some(cosine_corrections(layout, layer, parameters, hidden, hidden_width, rows, activations[l], delta))
        } else {
            None
        };
        let narrow = corrections.is_none() && layer.outputs <= narrow_layer::MOST_OUTPUTS;
        if layer.bias {
            sum_columns(delta, width, gradient.at(layer.biases()));
        }
        if l == 0 {
            if let Rows::Dense(x) = x {
                let weights = ViewMut::rows(gradient.at(layer.weights()), width, layer.inputs, layer.inputs);
                let delta = View::rows(delta, rows, width, width);
                multiply(weights, delta.transposed(), View::rows(x.values(), rows, layer.inputs, layer.inputs), false);
            }
        } else {
            let below = &mut *below[l - 1];
            for copy in 0..layout.copies {
                let range = layer.weights_of(copy);
                let inputs = View::rows(&hidden[copy * layer.inputs..], rows, layer.inputs, hidden_width);
                if narrow {
                    let delta = View::rows(&delta[copy * layer.outputs..], rows, layer.outputs, width);
                    let out = ViewMut::rows(gradient.at(range), layer.outputs, layer.inputs, layer.inputs);
                    multiply(out, delta.transposed(), inputs, false);
                    continue;
                }
                let part = Part {
                    delta: &delta[copy * layer.outputs..],
                    delta_stride: width,
                    rows,
                    outputs: layer.outputs,
                    inputs: layer.inputs,
                    below: inputs,
                    weights: &parameters[range.clone()],
                };
                let out = ViewMut::rows(&mut below[copy * layer.inputs..], rows, layer.inputs, hidden_width);
                part.multiply(gradient.at(range), out);
            }
            if narrow {
                through_layer_and_rectifier(layout, layer, parameters, delta, hidden, scale, below);
            } else {
                if let Some(corrections) = &corrections {
                    corrections.apply_to_hidden(layer, hidden, below, hidden_width);
                }
                through_rectifier(below, hidden, scale);
            }
        }
        if let Some(corrections) = &corrections {
            corrections.apply_to_weights(layer, parameters, &mut gradient);
        }
    }
}

/// The terms that the cosine head's normalisation subtracts, for every copy.
struct Corrections<T> {
    along_hidden: Vec<Vec<T>>,
    along_weights: Vec<Vec<T>>,
}

#[allow(clippy::too_many_arguments)] // slices of one batch, each used on its own
fn cosine_corrections<T: Scalar>(
    layout: &Layout,
    layer: &Layer,
    parameters: &[T],
    hidden: &[T],
    hidden_width: usize,
    rows: usize,
    cosines: &[T],
    delta: &mut [T],
) -> Corrections<T> {
    let mut corrections = Corrections { along_hidden: Vec::new(), along_weights: Vec::new() };
    for copy in 0..layout.copies {
        // Copies of a model without hidden layers all read the same rows.
        let hidden = if hidden_width == layer.inputs { hidden } else { &hidden[copy * layer.inputs..] };
        let inverse = weight_norms(layer, &parameters[layer.weights_of(copy)]);
        let mut along_hidden = vec![T::ZERO; rows];
        let mut along_weights = vec![T::ZERO; layer.outputs];
        let offset = copy * layer.outputs;
        denormalise(
            layer,
            &inverse,
            hidden,
            hidden_width,
            &cosines[offset..],
            &mut delta[offset..],
            layer.width(),
            &mut along_hidden,
            &mut along_weights,
        );
        corrections.along_hidden.push(along_hidden);
        corrections.along_weights.push(along_weights);
    }
    corrections
}

impl<T: Scalar> Corrections<T> {
    fn apply_to_hidden(&self, layer: &Layer, hidden: &[T], below: &mut [T], hidden_width: usize) {
        for (copy, along) in self.along_hidden.iter().enumerate() {
            for (i, &factor) in along.iter().enumerate() {
                let start = i * hidden_width + copy * layer.inputs;
                let range = start..start + layer.inputs;
                for (d, &h) in below[range.clone()].iter_mut().zip(&hidden[range]) {
                    *d -= factor * h;
                }
            }
        }
    }

    fn apply_to_weights(&self, layer: &Layer, parameters: &[T], gradient: &mut Gradient<'_, T>) {
        for (copy, along) in self.along_weights.iter().enumerate() {
            let range = layer.weights_of(copy);
            let rows = gradient.at(range.clone()).chunks_exact_mut(layer.inputs);
            for ((gradient, weights), &factor) in rows.zip(parameters[range].chunks_exact(layer.inputs)).zip(along) {
                for (g, &w) in gradient.iter_mut().zip(weights) {
                    *g -= factor * w;
                }
            }
        }
    }
}

/// `out[j] = Σ_i values[i, j]`.
fn sum_columns<T: Scalar>(values: &[T], width: usize, out: &mut [T]) {
    out.fill(T::ZERO);
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in values.chunks_exact(width) {
                for (sum, &value) in out.iter_mut().zip(row) {
                    *sum += value;
                }
            }
        },
    );
}

/// Zeroes the gradient where the unit was off; a unit that dropout kept was scaled up, and so is its gradient.
fn through_rectifier<T: Scalar>(delta: &mut [T], hidden: &[T], scale: T) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (d, &h) in delta.iter_mut().zip(hidden) {
                *d = if h > T::ZERO { *d * scale } else { T::ZERO };
            }
        },
    );
}
