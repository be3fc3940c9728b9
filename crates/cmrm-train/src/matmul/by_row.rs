//! A product whose rows know nothing of each other: a row comes out the same to the last bit alone, among a million, and at any place.
//!
//! The general product ([`super::multiply`]) takes another kernel for another shape, and kernels add up in different orders. Training has
//! one shape for a batch and takes the fastest. Predictions are asked for one at a time and by the thousand, and have to agree. Here every
//! number of the result is `Σ a·b` in the order of the inputs, [`INPUTS`] at a time, each step rounded once.

use cmrm::Scalar;
use pulp::Simd;

use super::{View, ViewMut, as_floats};

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
    let mut panel = vec![[T::ZERO; LANES]; INPUTS.min(b.rows)];
    for first in (0..b.rows).step_by(INPUTS) {
        let inputs = INPUTS.min(b.rows - first);
        for from in (0..columns).step_by(LANES) {
            let lanes = LANES.min(columns - from);
            pack(&mut panel[..inputs], b, first, from, lanes);
            for row in (0..rows).step_by(BLOCK) {
                let rows = BLOCK.min(rows - row);
                let x = &a.data[row * a.row_stride + first..];
                let out = &mut data[row * row_stride + from..];
                let job =
                    Job { panel: &panel[..inputs], x, stride: a.row_stride, rows, out, out_stride: row_stride, lanes };
                job.run();
            }
        }
    }
}

/// Rows of one job.
const BLOCK: usize = 64 * ROWS;

/// The right operand's inputs from `first` on and outputs from `from` on, outputs side by side; zeros where there are fewer than [`LANES`].
fn pack<T: Scalar>(panel: &mut [[T; LANES]], b: View<'_, T>, first: usize, from: usize, lanes: usize) {
    if lanes < LANES {
        panel.fill([T::ZERO; LANES]);
    }
    if b.column_stride == 1 {
        for (input, to) in panel.iter_mut().enumerate() {
            to[..lanes].copy_from_slice(&b.data[(first + input) * b.row_stride + from..][..lanes]);
        }
        return;
    }
    for lane in 0..lanes {
        let of_output = b.data[first * b.row_stride + (from + lane) * b.column_stride..].iter().step_by(b.row_stride);
        panel.iter_mut().zip(of_output).for_each(|(to, &value)| to[lane] = value);
    }
}

/// A part of the right operand, for some rows of the left one.
struct Job<'a, T> {
    panel: &'a [[T; LANES]],
    /// Starts at the first input of the first row.
    x: &'a [T],
    stride: usize,
    rows: usize,
    /// Starts at the first output of the first row.
    out: &'a mut [T],
    out_stride: usize,
    lanes: usize,
}

impl<T: Scalar> Job<'_, T> {
    fn run(self) {
        let Job { panel, x, stride, rows, out, out_stride, lanes } = self;
        // Single precision by the widest vectors that there are; double precision only measures.
        if let (Some(panel), Some(x)) = (as_floats(panel.as_flattened()), as_floats(x))
            && let Some(out) = super::as_floats_mut(out)
        {
            let panel = panel.as_chunks().0;
            return pulp::Arch::new().dispatch(Job { panel, x, stride, rows, out, out_stride, lanes });
        }
        for row in 0..rows {
            let mut sums = [T::ZERO; LANES];
            for (weights, &value) in panel.iter().zip(&x[row * stride..][..panel.len()]) {
                sums.iter_mut().zip(weights).for_each(|(sum, &weight)| *sum = value.mul_add(weight, *sum));
            }
            let out = &mut out[row * out_stride..][..lanes];
            out.iter_mut().zip(&sums).for_each(|(out, &sum)| *out += sum);
        }
    }
}

impl pulp::WithSimd for Job<'_, f32> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // Every output has a lane of its own: how many of them a vector holds changes no sum.
        match LANES / S::F32_LANES {
            1 => self.add::<S, 1>(simd),
            2 => self.add::<S, 2>(simd),
            4 => self.add::<S, 4>(simd),
            _ => self.add::<S, LANES>(simd),
        }
    }
}

impl Job<'_, f32> {
    /// With vectors of which `V` hold the sums of a row.
    #[inline(always)]
    fn add<S: Simd, const V: usize>(&mut self, simd: S) {
        let whole = self.rows / ROWS * ROWS;
        for row in (0..whole).step_by(ROWS) {
            self.add_rows::<S, V, ROWS>(simd, row);
        }
        for row in whole..self.rows {
            self.add_rows::<S, V, 1>(simd, row);
        }
    }

    #[inline(always)]
    fn add_rows<S: Simd, const V: usize, const R: usize>(&mut self, simd: S, row: usize) {
        let inputs = self.panel.len();
        let mut x = [self.x; R];
        for r in 0..R {
            x[r] = &self.x[(row + r) * self.stride..][..inputs];
        }
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for input in 0..inputs {
            let weights = S::as_simd_f32s(&self.panel[input]).0;
            for r in 0..R {
                let value = simd.splat_f32s(x[r][input]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_f32s(value, weights[v], sums[r][v]);
                }
            }
        }
        for r in 0..R {
            let mut of_row = [0.0f32; LANES];
            S::as_mut_simd_f32s(&mut of_row).0.copy_from_slice(&sums[r]);
            let out = &mut self.out[(row + r) * self.out_stride..][..self.lanes];
            for lane in 0..out.len() {
                out[lane] += of_row[lane];
            }
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

    /// However wide the processor's vectors are, every sum is taken in the order of the inputs, each step rounded once.
    #[test]
    fn sums_are_those_of_one_output_at_a_time() {
        let (rows, n, k) = (9, 21, 600);
        let a: Vec<f32> = (0..rows * k).map(number).collect();
        let b: Vec<f32> = (0..n * k).map(|i| number(i + 3)).collect();
        let mut out = vec![0.25f32; rows * n];
        let view = View::rows(&a, rows, k, k);
        multiply_by_row(ViewMut::rows(&mut out, rows, n, n), view, View::rows(&b, n, k, k).transposed(), true);
        for (at, found) in out.into_iter().enumerate() {
            let (x, w) = (&a[at / n * k..][..k], &b[at % n * k..][..k]);
            let part = |x: &[f32], w: &[f32]| x.iter().zip(w).fold(0.0f32, |sum, (x, w)| x.mul_add(*w, sum));
            let expected = 0.25 + part(&x[..INPUTS], &w[..INPUTS]) + part(&x[INPUTS..], &w[INPUTS..]);
            assert_eq!(found.to_bits(), expected.to_bits(), "{at}");
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
