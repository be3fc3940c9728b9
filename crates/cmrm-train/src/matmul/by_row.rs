//! A product whose rows know nothing of each other: a row comes out the same to the last bit alone, among a million, and at any place.
//!
//! The general product ([`super::multiply`]) takes another kernel for another shape, and kernels add up in different orders. Training has
//! one shape for a batch and takes the fastest. Predictions are asked for one at a time and by the thousand, and have to agree. Here every
//! number of the result is `Σ a·b` in the order of the inputs, [`INPUTS`] at a time, each step rounded once.

use cmrm::Scalar;

use super::{View, ViewMut};

/// Outputs whose sums stay in registers.
const LANES: usize = 16;
/// Rows that share what is read of the right operand: with these the sums of all fill the registers of AVX2, and nearly hide the latency
/// of AVX-512.
const ROWS: usize = 6;
/// Inputs that are summed before they are added to the others: the part of the right operand that is at work fits into the first cache,
/// and long sums round less.
const INPUTS: usize = 512;

/// `out ← a · b`, or `out ← out + a · b` if `accumulate`, on one thread. The rows of `a` are contiguous. Panics if the shapes disagree (a
/// bug of this crate).
pub(crate) fn multiply_by_row<T: Scalar>(out: ViewMut<'_, T>, a: View<'_, T>, b: View<'_, T>, accumulate: bool) {
    assert_eq!((out.rows, out.columns, a.columns), (a.rows, b.columns, b.rows), "shapes of a matrix product");
    assert_eq!(a.column_stride, 1, "rows of the left operand are contiguous");
    let ViewMut { data, rows, columns, row_stride } = out;
    if !accumulate {
        (0..rows).for_each(|row| data[row * row_stride..][..columns].fill(T::ZERO));
    }
    let mut panel = vec![T::ZERO; INPUTS.min(b.rows) * LANES];
    for first in (0..b.rows).step_by(INPUTS) {
        let inputs = INPUTS.min(b.rows - first);
        for from in (0..columns).step_by(LANES) {
            let lanes = LANES.min(columns - from);
            pack(&mut panel[..inputs * LANES], b, first, from, lanes);
            let mut job = Job { panel: &panel[..inputs * LANES], a, first, data, row_stride, from, lanes };
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || job.add(rows),
            );
        }
    }
}

/// The right operand's inputs from `first` on and outputs from `from` on, outputs side by side; zeros where there are fewer than [`LANES`].
fn pack<T: Scalar>(panel: &mut [T], b: View<'_, T>, first: usize, from: usize, lanes: usize) {
    if b.column_stride == 1 {
        for (input, to) in panel.chunks_exact_mut(LANES).enumerate() {
            to[..lanes].copy_from_slice(&b.data[(first + input) * b.row_stride + from..][..lanes]);
            to[lanes..].fill(T::ZERO);
        }
        return;
    }
    if lanes < LANES {
        panel.fill(T::ZERO);
    }
    for lane in 0..lanes {
        let of_output = b.data[first * b.row_stride + (from + lane) * b.column_stride..].iter().step_by(b.row_stride);
        panel[lane..].iter_mut().step_by(LANES).zip(of_output).for_each(|(to, &value)| *to = value);
    }
}

/// A part of the right operand, for all rows of the left one.
struct Job<'a, 'o, T> {
    panel: &'a [T],
    a: View<'a, T>,
    first: usize,
    data: &'o mut [T],
    row_stride: usize,
    from: usize,
    lanes: usize,
}

impl<T: Scalar> Job<'_, '_, T> {
    #[inline(always)]
    fn add(&mut self, rows: usize) {
        let whole = rows / ROWS * ROWS;
        for row in (0..whole).step_by(ROWS) {
            self.add_rows::<ROWS>(row);
        }
        for row in whole..rows {
            self.add_rows::<1>(row);
        }
    }

    /// So many rows from `row` on.
    #[inline(always)]
    fn add_rows<const R: usize>(&mut self, row: usize) {
        let inputs = self.panel.len() / LANES;
        let x: [&[T]; R] =
            std::array::from_fn(|r| &self.a.data[(row + r) * self.a.row_stride + self.first..][..inputs]);
        let mut sums = [[T::ZERO; LANES]; R];
        for (input, weights) in self.panel.chunks_exact(LANES).enumerate().take(inputs) {
            for r in 0..R {
                let value = x[r][input];
                for lane in 0..LANES {
                    sums[r][lane] = value.mul_add(weights[lane], sums[r][lane]);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let out = &mut self.data[(row + r) * self.row_stride + self.from..][..self.lanes];
            out.iter_mut().zip(sums).for_each(|(out, &sum)| *out += sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(i: usize) -> f32 {
        ((i * 7919) % 1000) as f32 / 500.0 - 1.0
    }

    #[test]
    fn products_agree_with_the_definition_however_the_right_operand_lies() {
        let pad = 3;
        for (m, n, k) in [(1, 1, 1), (7, 16, 5), (13, 17, 512), (6, 40, 513), (20, 3, 1100)] {
            let a: Vec<f32> = (0..m * (k + pad)).map(number).collect();
            let b: Vec<f32> = (0..n.max(k) * (n.max(k) + pad)).map(|i| number(i + 5)).collect();
            let stride = n.max(k) + pad;
            for (across, accumulate) in [(false, false), (true, false), (false, true), (true, true)] {
                let b_view = match across {
                    true => View::rows(&b, n, k, stride).transposed(),
                    false => View::rows(&b, k, n, stride),
                };
                let mut out = vec![0.5f32; m * (n + pad)];
                let view = View::rows(&a, m, k, k + pad);
                multiply_by_row(ViewMut::rows(&mut out, m, n, n + pad), view, b_view, accumulate);
                for (at, &found) in out.iter().enumerate() {
                    let (i, j) = (at / (n + pad), at % (n + pad));
                    let b_at = |l: usize| if across { b[j * stride + l] } else { b[l * stride + j] };
                    let sum = |j: usize| (j < n).then(|| (0..k).map(|l| a[i * (k + pad) + l] * b_at(l)).sum::<f32>());
                    let expected = sum(j).map_or(0.5, |sum| sum + if accumulate { 0.5 } else { 0.0 });
                    assert!((found - expected).abs() < 1e-3, "{m}×{n}×{k} {across}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_in_any_company() {
        for (n, k) in [(1, 40), (10, 64), (33, 700), (128, 30)] {
            let rows = 131;
            let a: Vec<f32> = (0..rows * k).map(number).collect();
            let b: Vec<f32> = (0..n * k).map(|i| number(i + 3)).collect();
            let product = |rows: std::ops::Range<usize>| {
                let mut out = vec![0.0f32; rows.len() * n];
                multiply_by_row(
                    ViewMut::rows(&mut out, rows.len(), n, n),
                    View::rows(&a[rows.start * k..rows.end * k], rows.len(), k, k),
                    View::rows(&b, n, k, k).transposed(),
                    false,
                );
                out
            };
            let all = product(0..rows);
            for from in [0, 1, 5, 60, 130] {
                for to in [from + 1, from + 2, from + 7, rows].into_iter().filter(|&to| to <= rows) {
                    assert_eq!(product(from..to), all[from * n..to * n], "{n}×{k}, rows {from} to {to}");
                }
            }
        }
    }
}
