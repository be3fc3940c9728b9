//! The cosine head: logits are `w·h / (‖w‖‖h‖)`.

use cmrm::Scalar;

use super::layout::Layer;

/// Norms below this count as this, so that a zero vector has the cosine 0 and no infinite gradient.
pub const SMALLEST_NORM: f64 = 1e-12;

/// One over the Euclidean norm.
fn inverse_norm<T: Scalar>(vector: &[T]) -> T {
    let squares: f64 = vector.iter().map(|v| v.to_f64() * v.to_f64()).sum();
    T::from_f64(1.0 / squares.sqrt().max(SMALLEST_NORM))
}

/// Inverse norms of the weight vectors of one copy.
pub fn weight_norms<T: Scalar>(layer: &Layer, weights: &[T]) -> Vec<T> {
    weights.chunks_exact(layer.inputs).map(inverse_norm).collect()
}

/// Turns dot products into cosines, row by row. `hidden` rows start `hidden_stride` apart, `outputs` rows `stride`.
pub fn normalise<T: Scalar>(
    layer: &Layer,
    inverse: &[T],
    hidden: &[T],
    hidden_stride: usize,
    rows: usize,
    outputs: &mut [T],
    stride: usize,
) {
    for i in 0..rows {
        let scale = inverse_norm(&hidden[i * hidden_stride..][..layer.inputs]);
        for (z, &w) in outputs[i * stride..][..layer.outputs].iter_mut().zip(inverse) {
            *z *= scale * w;
        }
    }
}

/// What the backward pass of the head subtracts along `h` and along each `w`.
///
/// With cosines `z` and their gradient `g`: `∂/∂h = Σ_k g_k w_k/(‖w_k‖‖h‖) − (Σ_k g_k z_k / ‖h‖²) h`, and likewise for
/// `w_k`. On return `grad` holds `g_k / (‖w_k‖‖h‖)`; `along_hidden[i] = Σ_k g z / ‖h_i‖²`; `along_weights[k]` has
/// `Σ_i g z / ‖w_k‖²` added.
#[allow(clippy::too_many_arguments)] // slices of one batch, each used on its own
pub fn denormalise<T: Scalar>(
    layer: &Layer,
    inverse: &[T],
    hidden: &[T],
    hidden_stride: usize,
    cosines: &[T],
    grad: &mut [T],
    stride: usize,
    along_hidden: &mut [T],
    along_weights: &mut [T],
) {
    for (i, along) in along_hidden.iter_mut().enumerate() {
        let scale = inverse_norm(&hidden[i * hidden_stride..][..layer.inputs]);
        let cosines = &cosines[i * stride..][..layer.outputs];
        let grad = &mut grad[i * stride..][..layer.outputs];
        let mut sum = T::ZERO;
        for k in 0..layer.outputs {
            let product = grad[k] * cosines[k];
            sum += product;
            along_weights[k] += product * inverse[k] * inverse[k];
            grad[k] *= scale * inverse[k];
        }
        *along = sum * scale * scale;
    }
}
