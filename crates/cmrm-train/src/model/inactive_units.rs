//! Hidden units that are off for every row of a block. Their deltas are zero, so the products of the backward pass leave
//! them out; wide networks at high rates lose most of their units, and these products are two thirds of a step.

use cmrm::Scalar;

use crate::matmul::{View, ViewMut, multiply};

/// Smallest sides of a product for which looking is worth its time.
const LEAST_ROWS: usize = 256;
const LEAST_UNITS: usize = 64;
/// Units come in such groups, filled up with units that are off, so that the products take the same way through the
/// kernels as those of all units. In layers of up to 512 units and blocks of a multiple of 512 rows they then add up in the
/// same order too, and leaving units out changes no bit; elsewhere the kernels may cut a sum at another place.
const GROUP: usize = 32;
/// Rows after which most units of a network that is well are seen to be on.
const FIRST_LOOK: usize = 64;

/// One copy's part of a layer in a block of rows: what the backward pass multiplies.
pub(super) struct Part<'a, T> {
    /// Gradient by the units' inputs, `[rows, outputs]`.
    pub delta: &'a [T],
    /// From one row of it to the next.
    pub delta_stride: usize,
    pub rows: usize,
    pub outputs: usize,
    pub inputs: usize,
    /// What came into the layer.
    pub below: View<'a, T>,
    /// `[outputs, inputs]`.
    pub weights: &'a [T],
}

impl<T: Scalar> Part<'_, T> {
    /// The gradient by the weights into `gradient`, the one by what came in into `delta_below`.
    pub fn multiply(&self, gradient: &mut [T], delta_below: ViewMut<'_, T>) {
        match self.active() {
            None => {
                let delta = View::rows(self.delta, self.rows, self.outputs, self.delta_stride);
                let out = ViewMut::rows(gradient, self.outputs, self.inputs, self.inputs);
                multiply(out, delta.transposed(), self.below, false);
                let weights = View::rows(self.weights, self.outputs, self.inputs, self.inputs);
                multiply(delta_below, delta, weights, false);
            }
            Some(units) => self.multiply_active(&units, gradient, delta_below),
        }
    }

    fn multiply_active(&self, units: &[usize], gradient: &mut [T], delta_below: ViewMut<'_, T>) {
        let (count, inputs) = (units.len(), self.inputs);
        let mut delta = Vec::with_capacity(self.rows * count);
        for row in self.delta.chunks(self.delta_stride).take(self.rows) {
            delta.extend(units.iter().map(|&unit| row[unit]));
        }
        let delta = View::rows(&delta, self.rows, count, count);
        let of_unit = |unit: usize| unit * inputs..(unit + 1) * inputs;
        let weights: Vec<T> = units.iter().flat_map(|&unit| &self.weights[of_unit(unit)]).copied().collect();
        multiply(delta_below, delta, View::rows(&weights, count, inputs, inputs), false);
        let mut found = weights;
        multiply(ViewMut::rows(&mut found, count, inputs, inputs), delta.transposed(), self.below, false);
        gradient.fill(T::ZERO);
        for (&unit, found) in units.iter().zip(found.chunks_exact(inputs)) {
            gradient[of_unit(unit)].copy_from_slice(found);
        }
    }

    /// The units that some row's delta is not zero for, in groups; `None` if they are too many to bother.
    fn active(&self) -> Option<Vec<usize>> {
        if self.rows < LEAST_ROWS || self.outputs < LEAST_UNITS || self.inputs < LEAST_UNITS {
            return None;
        }
        let most = self.outputs / 4 * 3;
        let mut on = vec![T::ZERO; self.outputs];
        let count = |on: &[T]| on.iter().filter(|&&on| on != T::ZERO).count();
        for (at, rows) in self.delta.chunks(FIRST_LOOK * self.delta_stride).enumerate() {
            mark(&mut on, rows, self.delta_stride);
            if at == 0 && count(&on) > most {
                return None;
            }
        }
        let wanted = count(&on).next_multiple_of(GROUP).max(GROUP);
        if wanted > most {
            return None;
        }
        let mut spare = wanted - count(&on);
        let mut take = |&unit: &usize| {
            let fills = on[unit] == T::ZERO && spare > 0;
            spare -= usize::from(fills);
            fills || on[unit] != T::ZERO
        };
        Some((0..self.outputs).filter(|unit| take(unit)).collect())
    }
}

/// Marks the units whose delta is not zero in some row; NaN is not zero.
fn mark<T: Scalar>(on: &mut [T], rows: &[T], stride: usize) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in rows.chunks(stride) {
                for (on, &delta) in on.iter_mut().zip(row) {
                    *on = if delta == T::ZERO { *on } else { T::ONE };
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm::rng::Rng;

    /// Products with all units: to the bit where the sums are cut at the same places, else to rounding.
    #[test]
    fn leaving_units_out_changes_no_bit() {
        let mut rng = Rng::new(3, 0);
        for (rows, outputs, inputs, active, same_bits) in [
            (300, 64, 64, 1, true),
            (512, 512, 96, 5, true),
            (2048, 512, 512, 40, true),
            (2048, 512, 512, 0, true),
            (1024, 200, 130, 120, true),
            (700, 256, 64, 20, false),
            (300, 1024, 96, 20, false),
        ] {
            let copies = 2;
            let stride = copies * outputs;
            let mut delta: Vec<f32> = (0..rows * stride).map(|_| rng.normal() as f32).collect();
            for row in delta.chunks_exact_mut(stride) {
                for (unit, delta) in row.iter_mut().enumerate() {
                    // A unit that is on is off for most rows.
                    if unit * 7 % outputs >= active || rng.uniform() < 0.9 {
                        *delta = if unit % 2 == 0 { 0.0 } else { -0.0 };
                    }
                }
            }
            let below: Vec<f32> = (0..rows * inputs).map(|_| rng.normal().max(0.0) as f32).collect();
            let weights: Vec<f32> = (0..outputs * inputs).map(|_| rng.normal() as f32).collect();
            let below = View::rows(&below, rows, inputs, inputs);
            let part = Part { delta: &delta, delta_stride: stride, rows, outputs, inputs, below, weights: &weights };
            assert!(part.active().is_some_and(|units| units.len() % GROUP == 0 && units.len() >= active));
            let (mut gradient, mut delta_below) = (vec![9.0; outputs * inputs], vec![9.0; rows * inputs]);
            part.multiply(&mut gradient, ViewMut::rows(&mut delta_below, rows, inputs, inputs));
            let (mut expected, mut expected_below) = (vec![9.0; outputs * inputs], vec![9.0; rows * inputs]);
            let delta = View::rows(&delta, rows, outputs, stride);
            multiply(ViewMut::rows(&mut expected, outputs, inputs, inputs), delta.transposed(), below, false);
            let weights = View::rows(&weights, outputs, inputs, inputs);
            multiply(ViewMut::rows(&mut expected_below, rows, inputs, inputs), delta, weights, false);
            for (found, expected) in [(gradient, expected), (delta_below, expected_below)] {
                for (found, expected) in found.iter().zip(&expected) {
                    // A sum of nothing but zeros may have either sign.
                    let same = found.to_bits() == expected.to_bits() || (*found == 0.0 && *expected == 0.0);
                    let close = !same_bits && (found - expected).abs() <= 1e-4 * (1.0 + expected.abs());
                    assert!(same || close, "{rows}×{outputs}×{inputs}, {active} on: {found}, {expected}");
                }
            }
        }
    }

    #[test]
    fn a_network_that_is_well_is_not_searched_and_nan_counts_as_on() {
        let (rows, outputs, inputs) = (300, 64, 64);
        let part = |delta: &[f32]| {
            let below = vec![0.0; rows * inputs];
            let below = View::rows(&below, rows, inputs, inputs);
            Part { delta, delta_stride: outputs, rows, outputs, inputs, below, weights: &[0.0; 64 * 64] }.active()
        };
        assert_eq!(part(&vec![1.0; rows * outputs]), None);
        let mut delta = vec![0.0; rows * outputs];
        delta[299 * outputs + 50] = f32::NAN;
        let units = part(&delta).unwrap();
        assert!(units.contains(&50) && units.len() == GROUP);
    }
}
