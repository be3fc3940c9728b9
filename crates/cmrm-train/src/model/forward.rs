//! The forward pass over one block of rows: layers, rectifiers, dropout.

use cmrm::{Matrix, Scalar, SparseMatrix};

use super::config::Head;
use super::cosine::{normalise, weight_norms};
use super::layout::Layout;
use super::network::Dropout;
use super::sparse_layer::{Weights, add_product};
use crate::matmul::{View, ViewMut, multiply, multiply_by_row};
use crate::stop::Stop;

/// What the first layer reads. Sparse rows bring the weights in the form that the whole batch reads them in.
#[derive(Clone, Copy)]
pub(super) enum Input<'a, T> {
    Dense(Matrix<'a, T>),
    Sparse(SparseMatrix<'a, T>, Weights<'a, T>),
}

/// Outputs of every layer for one block of rows. `activations[l]` is `[rows, width]`. Once somebody asks to stop, what is
/// left of them is not computed. With `by_row`, a row comes out the same whatever rows are beside it.
#[allow(clippy::too_many_arguments)] // slices of one batch, and what is done with them
pub(super) fn forward_block<T: Scalar>(
    layout: &Layout,
    parameters: &[T],
    x: Input<'_, T>,
    first_row: usize,
    dropout: Option<Dropout>,
    activations: &mut [&mut [T]],
    by_row: bool,
    stop: &Stop,
) {
    let multiply = if by_row { multiply_by_row } else { multiply };
    let rows = match x {
        Input::Dense(x) => x.rows(),
        Input::Sparse(x, _) => x.rows(),
    };
    let last = layout.layers.len() - 1;
    for (l, layer) in layout.layers.iter().enumerate() {
        if stop.is_requested() {
            return;
        }
        let (before, here) = activations.split_at_mut(l);
        let out = &mut *here[0];
        let width = layer.width();
        // Biases first, so that the product is added to them and the outputs are written once less.
        if layer.bias {
            let biases = &parameters[layer.biases()];
            for row in out.chunks_exact_mut(width) {
                row.copy_from_slice(biases);
            }
        }
        if l == 0 {
            // One product for all copies: a single read of the rows.
            match x {
                Input::Dense(x) => {
                    let weights = View::rows(&parameters[layer.weights()], width, layer.inputs, layer.inputs);
                    let x = View::rows(x.values(), rows, layer.inputs, layer.inputs);
                    multiply(ViewMut::rows(out, rows, width, width), x, weights.transposed(), layer.bias);
                }
                Input::Sparse(x, weights) => add_product(out, width, x, weights),
            }
        } else {
            let input_width = layout.layers[l - 1].width();
            for copy in 0..layout.copies {
                let weights =
                    View::rows(&parameters[layer.weights_of(copy)], layer.outputs, layer.inputs, layer.inputs);
                let hidden = View::rows(&before[l - 1][copy * layer.inputs..], rows, layer.inputs, input_width);
                let out = ViewMut::rows(&mut out[copy * layer.outputs..], rows, layer.outputs, width);
                multiply(out, hidden, weights.transposed(), layer.bias);
            }
        }
        if l < last {
            rectify(out);
            if let Some(dropout) = dropout {
                drop_units(out, width, first_row, l, dropout);
            }
        } else if layout.head == Head::Cosine {
            for copy in 0..layout.copies {
                let inverse = weight_norms(layer, &parameters[layer.weights_of(copy)]);
                let out = &mut out[copy * layer.outputs..];
                // Networks whose cosines are of sparse rows are refused.
                let (hidden, stride) = match (l.checked_sub(1), x) {
                    (Some(below), _) => (&before[below][copy * layer.inputs..], layout.layers[below].width()),
                    (None, Input::Dense(x)) => (x.values(), layer.inputs),
                    (None, Input::Sparse(..)) => continue,
                };
                normalise(layer, &inverse, hidden, stride, rows, out, width);
            }
        }
    }
}

/// `h ← max(0, h)`.
fn rectify<T: Scalar>(values: &mut [T]) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for v in values {
                *v = v.larger(T::ZERO);
            }
        },
    );
}

/// Zeroes a random share of the units and scales up the rest, so that the expectation stays.
fn drop_units<T: Scalar>(values: &mut [T], width: usize, first_row: usize, layer: usize, dropout: Dropout) {
    let scale = T::from_f64(1.0 / (1.0 - dropout.rate));
    let limit = (dropout.rate * (1u64 << 32) as f64) as u64;
    let base = mix(dropout.seed ^ mix(dropout.step.wrapping_add((layer as u64) << 48)));
    for (i, row) in values.chunks_exact_mut(width).enumerate() {
        let row_key = mix(base ^ (first_row + i) as u64);
        for (j, v) in row.iter_mut().enumerate() {
            let draw = mix(row_key.wrapping_add(j as u64)) >> 32;
            *v = if draw < limit { T::ZERO } else { *v * scale };
        }
    }
}

/// The finaliser of SplitMix64: a bijection whose output bits each depend on every input bit.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
