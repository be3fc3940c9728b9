//! A layer with few outputs on hidden units: the gradient by the units and by what came before their rectifier in one go.
//! A product by itself takes less time than its numbers take to go and come again.

use cmrm::Scalar;

use super::layout::{Layer, Layout};

/// Most outputs for which it is worth its code.
pub(super) const MOST_OUTPUTS: usize = 4;

/// `below ← (delta · weights) · scale` where the unit was on, zero where it was off, for all copies. `layer` has at most
/// [`MOST_OUTPUTS`] outputs.
pub(super) fn through_layer_and_rectifier<T: Scalar>(
    layout: &Layout,
    layer: &Layer,
    parameters: &[T],
    delta: &[T],
    hidden: &[T],
    scale: T,
    below: &mut [T],
) {
    match layer.outputs {
        1 => with_outputs::<T, 1>(layout, layer, parameters, delta, hidden, scale, below),
        2 => with_outputs::<T, 2>(layout, layer, parameters, delta, hidden, scale, below),
        3 => with_outputs::<T, 3>(layout, layer, parameters, delta, hidden, scale, below),
        _ => with_outputs::<T, MOST_OUTPUTS>(layout, layer, parameters, delta, hidden, scale, below),
    }
}

fn with_outputs<T: Scalar, const K: usize>(
    layout: &Layout,
    layer: &Layer,
    parameters: &[T],
    delta: &[T],
    hidden: &[T],
    scale: T,
    below: &mut [T],
) {
    let inputs = layer.inputs;
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            // A row has the units of all copies side by side, and their outputs.
            let parts = below.chunks_exact_mut(inputs).zip(hidden.chunks_exact(inputs)).zip(delta.chunks_exact(K));
            for (place, ((below, hidden), delta)) in parts.enumerate() {
                let weights = &parameters[layer.weights_of(place % layout.copies)];
                let of_output: [&[T]; K] = std::array::from_fn(|k| &weights[k * inputs..][..inputs]);
                let delta: [T; K] = std::array::from_fn(|k| delta[k] * scale);
                // Equal lengths, known to be equal: no index is checked in the loop.
                let (below, hidden) = (&mut below[..inputs], &hidden[..inputs]);
                for j in 0..inputs {
                    let mut sum = delta[0] * of_output[0][j];
                    for k in 1..K {
                        sum += delta[k] * of_output[k][j];
                    }
                    below[j] = if hidden[j] > T::ZERO { sum } else { T::ZERO };
                }
            }
        },
    );
}
