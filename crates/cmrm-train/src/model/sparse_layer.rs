//! The first layer on sparse rows.
//!
//! Outputs are sums of the weights' columns, gradients sums of the deltas' rows: both are one kernel, which adds up rows
//! of a table. Weights lie output by output; for all but small batches they are turned first, so that what a number is
//! multiplied with lies side by side. Every sum runs over the numbers in their order, whichever way is taken: neither the
//! way nor the number of threads changes a bit.

use cmrm::{Scalar, SparseMatrix, SparseRow};
use rayon::prelude::*;

use crate::aligned::Aligned;

/// Sums that stay in registers while the numbers of a row go by.
const LANES: usize = 32;
/// Outputs up to which a row is gone through once for every [`LANES`] of them; with more, sums are kept in memory.
const MOST_IN_REGISTERS: usize = 2 * LANES;
/// Columns of weights that one thread turns or sums at a time.
const TILE: usize = 512;
/// Numbers of a column that are summed before they are added to the others: long sums round too often.
const SUMMED: usize = 256;
/// Weights are turned if a batch has at least one number for so many columns; else they are read where they lie.
const COLUMNS_A_NUMBER: usize = 2;

/// The weights of the first layer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Weights<'a, T> {
    /// Output by output.
    AsTheyLie(&'a [T]),
    /// Input by input.
    Turned(&'a [T]),
}

impl<'a, T: Scalar> Weights<'a, T> {
    /// `weights` are `[width, inputs]`; `buffer` is for the turned ones.
    pub fn of(weights: &'a [T], width: usize, x: SparseMatrix<'_, T>, buffer: &'a mut Aligned<T>) -> Self {
        let inputs = x.columns();
        if x.kept() * COLUMNS_A_NUMBER < inputs {
            return Weights::AsTheyLie(weights);
        }
        buffer.resize(inputs * width);
        buffer.par_chunks_mut(TILE * width).enumerate().for_each(|(tile, to)| {
            let columns = to.len() / width;
            for (output, weights) in weights.chunks_exact(inputs).enumerate() {
                let places = to[output..].iter_mut().step_by(width);
                places.zip(&weights[tile * TILE..][..columns]).for_each(|(place, &weight)| *place = weight);
            }
        });
        Weights::Turned(buffer)
    }
}

/// `out ← out + x · weightsᵀ`, where `out` is `[rows, width]`.
pub(super) fn add_product<T: Scalar>(out: &mut [T], width: usize, x: SparseMatrix<'_, T>, weights: Weights<'_, T>) {
    match weights {
        Weights::Turned(table) => vectorised(
            #[inline(always)]
            || {
                for (i, out) in out.chunks_exact_mut(width).enumerate() {
                    add_rows(out, x.row(i), table);
                }
            },
        ),
        Weights::AsTheyLie(weights) => {
            let inputs = x.columns();
            for (i, out) in out.chunks_exact_mut(width).enumerate() {
                for (sum, weights) in out.iter_mut().zip(weights.chunks_exact(inputs)) {
                    for (column, value) in x.row(i).iter() {
                        *sum += value * weights[column];
                    }
                }
            }
        }
    }
}

/// `out ← deltaᵀ · x`, where `out` is `[width, inputs]` and `columns` are those of `x`, as rows. Where `shared` is given,
/// threads share the work and that buffer is used.
pub(super) fn gradient<T: Scalar>(
    out: &mut [T],
    width: usize,
    columns: SparseMatrix<'_, T>,
    delta: &[T],
    shared: Option<&mut Aligned<T>>,
) {
    let inputs = columns.rows();
    let Some(buffer) = shared else {
        out.fill(T::ZERO);
        let (mut sums, mut part) = (vec![T::ZERO; width], vec![T::ZERO; width]);
        return vectorised(
            #[inline(always)]
            || {
                for (j, column) in columns.iter_rows().enumerate().filter(|(_, column)| !column.columns.is_empty()) {
                    sum_rows(&mut sums, &mut part, column, delta);
                    out[j..].iter_mut().step_by(inputs).zip(&sums).for_each(|(out, &sum)| *out = sum);
                }
            },
        );
    };
    buffer.resize(inputs * width);
    buffer.par_chunks_mut(TILE * width).enumerate().for_each(|(tile, sums)| {
        let mut part = vec![T::ZERO; width];
        vectorised(
            #[inline(always)]
            || {
                for (j, sums) in sums.chunks_exact_mut(width).enumerate() {
                    sum_rows(sums, &mut part, columns.row(tile * TILE + j), delta);
                }
            },
        );
    });
    let turned: &[T] = buffer;
    out.par_chunks_mut(inputs).enumerate().for_each(|(output, out)| {
        let sums = turned[output..].iter().step_by(width);
        out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = sum);
    });
}

/// `sums ← Σ value · table[place]` over the numbers of a column, [`SUMMED`] at a time.
#[inline(always)]
fn sum_rows<T: Scalar>(sums: &mut [T], part: &mut [T], numbers: SparseRow<'_, T>, table: &[T]) {
    sums.fill(T::ZERO);
    let pieces = numbers.columns.chunks(SUMMED).zip(numbers.values.chunks(SUMMED));
    for (at, (columns, values)) in pieces.enumerate() {
        let piece = SparseRow { columns, values };
        if at == 0 {
            add_rows(sums, piece, table);
        } else {
            part.fill(T::ZERO);
            add_rows(part, piece, table);
            sums.iter_mut().zip(&*part).for_each(|(sum, &part)| *sum += part);
        }
    }
}

/// `sums ← sums + Σ value · table[column]` over the numbers of a row; `table` has rows as long as `sums`.
#[inline(always)]
fn add_rows<T: Scalar>(sums: &mut [T], numbers: SparseRow<'_, T>, table: &[T]) {
    let stride = sums.len();
    if stride > MOST_IN_REGISTERS {
        for (column, value) in numbers.iter() {
            let row = &table[column * stride..][..stride];
            for (sum, &number) in sums.iter_mut().zip(row) {
                *sum += value * number;
            }
        }
        return;
    }
    for (piece, sums) in sums.chunks_mut(LANES).enumerate() {
        let offset = piece * LANES;
        match sums.len() {
            0..=4 => add_lanes::<T, 4>(sums, numbers, table, stride, offset),
            5..=8 => add_lanes::<T, 8>(sums, numbers, table, stride, offset),
            9..=16 => add_lanes::<T, 16>(sums, numbers, table, stride, offset),
            17..=24 => add_lanes::<T, 24>(sums, numbers, table, stride, offset),
            _ => add_lanes::<T, LANES>(sums, numbers, table, stride, offset),
        }
    }
}

/// [`add_rows`] for the outputs from `offset` on, at most `L`, in registers. A few numbers behind them are read along
/// and forgotten.
#[inline(always)]
fn add_lanes<T: Scalar, const L: usize>(
    sums: &mut [T],
    numbers: SparseRow<'_, T>,
    table: &[T],
    stride: usize,
    offset: usize,
) {
    let mut lanes = [T::ZERO; L];
    lanes[..sums.len()].copy_from_slice(sums);
    for (column, value) in numbers.iter() {
        let from = &table[column * stride + offset..];
        match from.first_chunk::<L>() {
            Some(row) => {
                for lane in 0..L {
                    lanes[lane] += value * row[lane];
                }
            }
            // The end of the table.
            None => lanes.iter_mut().zip(from).for_each(|(lane, &number)| *lane += value * number),
        }
    }
    sums.copy_from_slice(&lanes[..sums.len()]);
}

/// Runs `work`, compiled for the best instruction set that this processor has.
#[inline(always)]
fn vectorised(work: impl FnOnce()) {
    pulp::Arch::new().dispatch(work);
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm::SparseRows;
    use cmrm::rng::Rng;

    /// Every `gap`-th column of each row on average, some rows and columns empty.
    fn rows(count: usize, width: usize, gap: usize, rng: &mut Rng) -> SparseRows<f32> {
        let mut rows = SparseRows::empty(width).unwrap();
        for i in 0..count {
            let columns = (0..width as u32).filter(|column| i % 7 != 3 && column % 5 != 2 && rng.below(gap) == 0);
            let cells: Vec<u32> = columns.collect();
            rows.push(&cells.iter().map(|&column| (column, rng.normal() as f32)).collect::<Vec<_>>()).unwrap();
        }
        rows
    }

    #[test]
    fn every_way_gives_the_same_bits_and_agrees_with_the_definition() {
        let mut rng = Rng::new(5, 0);
        for (count, inputs, width) in [(9, 40, 1), (30, 1100, 5), (40, 700, 20), (25, 600, 33), (20, 90, 70)] {
            let x = rows(count, inputs, 6, &mut rng);
            let x = x.view();
            let weights: Vec<f32> = (0..inputs * width).map(|_| rng.normal() as f32).collect();
            let delta: Vec<f32> = (0..count * width).map(|_| rng.normal() as f32).collect();
            let mut buffer = Aligned::default();
            let turned = Weights::of(&weights, width, x, &mut buffer);
            assert!(matches!(turned, Weights::Turned(_)));
            let (mut one, mut other) = (vec![0.5f32; count * width], vec![0.5f32; count * width]);
            add_product(&mut one, width, x, turned);
            add_product(&mut other, width, x, Weights::AsTheyLie(&weights));
            assert_eq!(one, other, "{count}×{inputs}×{width}");
            let columns = x.transposed();
            let (mut alone, mut shared) = (vec![f32::NAN; inputs * width], vec![f32::NAN; inputs * width]);
            gradient(&mut alone, width, columns.view(), &delta, None);
            gradient(&mut shared, width, columns.view(), &delta, Some(&mut Aligned::default()));
            assert_eq!(alone, shared, "{count}×{inputs}×{width}");
            let (mut outputs, mut slopes) = (vec![0.5f64; count * width], vec![0.0f64; inputs * width]);
            for (i, row) in x.iter_rows().enumerate() {
                for (j, value) in row.iter() {
                    for k in 0..width {
                        outputs[i * width + k] += f64::from(value) * f64::from(weights[k * inputs + j]);
                        slopes[k * inputs + j] += f64::from(value) * f64::from(delta[i * width + k]);
                    }
                }
            }
            let near = |found: &[f32], wanted: &[f64]| {
                found.iter().zip(wanted).all(|(&found, wanted)| (f64::from(found) - wanted).abs() < 1e-3)
            };
            assert!(near(&one, &outputs) && near(&alone, &slopes), "{count}×{inputs}×{width}");
        }
    }

    #[test]
    fn long_columns_are_summed_in_pieces_and_few_numbers_read_the_weights_where_they_lie() {
        let count = 12_293;
        let mut x = SparseRows::empty(2).unwrap();
        (0..count).for_each(|_| x.push(&[(1, 0.1f32)]).unwrap());
        let mut sums = [f32::NAN; 2];
        gradient(&mut sums, 1, x.view().transposed().view(), &vec![1.0; count], None);
        let exact = count as f64 * f64::from(0.1f32);
        let error = |sum: f32| (f64::from(sum) / exact - 1.0).abs();
        let one_by_one = (0..count).fold(0.0f32, |sum, _| sum + 0.1);
        assert!(sums[0] == 0.0 && 10.0 * error(sums[1]) < error(one_by_one), "{sums:?} {one_by_one} {exact}");
        let few = SparseRows::new(vec![0, 1], vec![3], vec![1.0f32], 100).unwrap();
        assert!(matches!(Weights::of(&[0.0; 100], 1, few.view(), &mut Aligned::default()), Weights::AsTheyLie(_)));
    }
}
