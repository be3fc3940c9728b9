//! What is known of the curvature of a linear model before the first step.
//!
//! The Hessian of its loss is a sum over rows of `x·xᵀ`, times numbers that depend on classes and scores. Features that go
//! together make it stretched, which the memory of L-BFGS takes many iterations to find out; the second moments of a few
//! rows tell beforehand. Later, rows that are fitted well hardly count in the Hessian while they still do in the moments, which
//! would mislead: a share of a sphere is mixed in. research/README.md has the evaluations that this saves.
//!
//! Sparse rows have too many features for moments of pairs; those of single features tell at least how common each is.

use cmrm::{Matrix, Rows, Scalar, SparseMatrix};

use crate::matmul::{View, ViewMut, inverse, multiply};

/// Sphere in the mixture, as a share of the mean variance.
const SPHERE: f64 = 0.3;

/// Rows that the moments are taken over, for every feature. With fewer than the least there is no preconditioner: applied
/// once or twice an iteration, it would then cost more than a quarter of an evaluation.
const LEAST_ROWS: usize = 4;
const MOST_ROWS: usize = 16;

/// Evaluations of the loss that taking the moments may cost. Inverting them costs about as much again.
const EVALUATIONS: usize = 4;

/// Most features: the moments are a square of numbers in double precision.
const MOST_FEATURES: usize = 2048;

/// An approximate inverse Hessian for a layer of weights `[outputs, features]` and, behind them, a bias for each output.
#[derive(Debug, Clone)]
pub struct Preconditioner<T> {
    outputs: usize,
    features: usize,
    inverse: Inverse<T>,
    size: usize,
}

/// The inverse for one output; the bias comes last.
#[derive(Debug, Clone)]
enum Inverse<T> {
    /// `[size, size]`.
    Full(Vec<T>),
    /// Its diagonal, for sparse rows.
    Diagonal(Vec<T>),
}

impl<T: Scalar> Preconditioner<T> {
    /// The one for these rows, weighted if they have weights, and a penalty of `l2 / 2` times the squared weights of the
    /// layer. None where it would cost more than a few evaluations, or where the moments are not finite.
    pub fn of_rows<'x>(
        x: impl Into<Rows<'x, T>>,
        row_weights: Option<&[T]>,
        outputs: usize,
        bias: bool,
        l2: f64,
    ) -> Option<Self>
    where
        T: 'x,
    {
        match x.into() {
            Rows::Dense(x) => Self::full(x, row_weights, outputs, bias, l2),
            Rows::Sparse(x) => Self::diagonal(x, row_weights, outputs, bias, l2),
        }
    }

    fn diagonal(
        x: SparseMatrix<'_, T>,
        row_weights: Option<&[T]>,
        outputs: usize,
        bias: bool,
        l2: f64,
    ) -> Option<Self> {
        let features = x.columns();
        let size = features + usize::from(bias);
        let mut hessian = vec![0.0f64; size];
        let mut all = 0.0;
        for (i, row) in x.iter_rows().enumerate() {
            let weight = row_weights.map_or(1.0, |weights| weights[i].to_f64());
            all += weight;
            for (column, value) in row.iter() {
                hessian[column] += weight * value.to_f64() * value.to_f64();
            }
        }
        if let Some(bias) = hessian.get_mut(features) {
            *bias = all;
        }
        let scale = bend(outputs) / x.rows().max(1) as f64;
        hessian.iter_mut().for_each(|value| *value *= scale);
        let sphere = SPHERE * hessian.iter().sum::<f64>() / size as f64;
        for (i, value) in hessian.iter_mut().enumerate() {
            *value += sphere + if i < features { l2 } else { 0.0 };
        }
        let sound = hessian.iter().all(|value| *value > 0.0 && value.is_finite());
        let inverse = Inverse::Diagonal(hessian.into_iter().map(|value| T::from_f64(1.0 / value)).collect());
        sound.then_some(Preconditioner { outputs, features, inverse, size })
    }

    fn full(x: Matrix<'_, T>, row_weights: Option<&[T]>, outputs: usize, bias: bool, l2: f64) -> Option<Self> {
        let (rows, features) = (x.rows(), x.columns());
        let size = features + usize::from(bias);
        // A row takes 2·size² operations here, and 4·size·outputs in an evaluation.
        let affordable = (EVALUATIONS * 2 * outputs).checked_mul(rows)? / size;
        let seen = rows.min(MOST_ROWS * size).min(affordable);
        if size > MOST_FEATURES || seen < LEAST_ROWS * size {
            return None;
        }
        let mut sample = vec![T::ONE; seen * size];
        for (i, to) in sample.chunks_exact_mut(size).enumerate() {
            let row = (i as u64 * rows as u64 / seen as u64) as usize;
            to[..features].copy_from_slice(x.row(row));
            if let Some(weights) = row_weights {
                let root = weights[row].sqrt();
                to.iter_mut().for_each(|value| *value *= root);
            }
        }
        let sample = View::rows(&sample, seen, size, size);
        let mut moments = vec![T::ZERO; size * size];
        multiply(ViewMut::rows(&mut moments, size, size, size), sample.transposed(), sample, false);
        let scale = bend(outputs) / seen as f64;
        let mut hessian: Vec<f64> = moments.iter().map(|value| scale * value.to_f64()).collect();
        let sphere = SPHERE * hessian.iter().step_by(size + 1).sum::<f64>() / size as f64;
        for (i, value) in hessian.iter_mut().step_by(size + 1).enumerate() {
            *value += sphere + if i < features { l2 } else { 0.0 };
        }
        let inverse = Inverse::Full(inverse(&hessian, size)?.into_iter().map(T::from_f64).collect());
        Some(Preconditioner { outputs, features, inverse, size })
    }

    /// Numbers in a vector of parameters.
    pub fn length(&self) -> usize {
        self.outputs * self.size
    }

    /// `values ← P · values`, with `work` for buffers.
    pub(super) fn apply(&self, values: &mut [T], work: &mut Vec<T>) {
        match &self.inverse {
            Inverse::Full(inverse) => self.apply_full(inverse, values, work),
            Inverse::Diagonal(inverse) => {
                let (weights, biases) = values.split_at_mut(self.outputs * self.features);
                let (of_features, of_bias) = inverse.split_at(self.features);
                for weights in weights.chunks_exact_mut(self.features) {
                    weights.iter_mut().zip(of_features).for_each(|(value, &factor)| *value *= factor);
                }
                for &factor in of_bias {
                    biases.iter_mut().for_each(|value| *value *= factor);
                }
            }
        }
    }

    fn apply_full(&self, inverse: &[T], values: &mut [T], work: &mut Vec<T>) {
        let Preconditioner { outputs, features, size, .. } = *self;
        work.resize(2 * outputs * size, T::ZERO);
        let (rows, product) = work.split_at_mut(outputs * size);
        let (weights, biases) = values.split_at_mut(outputs * features);
        for (k, row) in rows.chunks_exact_mut(size).enumerate() {
            row[..features].copy_from_slice(&weights[k * features..][..features]);
            if let Some(bias) = row.get_mut(features) {
                *bias = biases[k];
            }
        }
        multiply(
            ViewMut::rows(product, outputs, size, size),
            View::rows(rows, outputs, size, size),
            View::rows(inverse, size, size, size),
            false,
        );
        for (k, row) in product.chunks_exact(size).enumerate() {
            weights[k * features..][..features].copy_from_slice(&row[..features]);
            if let Some(&bias) = row.get(features) {
                biases[k] = bias;
            }
        }
    }
}

/// Cross-entropy's second derivative by a score, where all classes are equally likely.
fn bend(outputs: usize) -> f64 {
    if outputs == 1 { 0.25 } else { (outputs - 1) as f64 / (outputs * outputs) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm::SparseRows;

    /// Rows whose second feature follows the first, and whose third is small.
    fn rows(count: usize) -> Vec<f64> {
        let row = |i: usize| {
            let (a, b, c) = ((i as f64 * 0.37).sin(), (i as f64 * 1.7).cos(), (i as f64 * 2.9).sin());
            [2.0 * a + 0.5, 2.0 * a + 0.1 * b, 0.1 * c]
        };
        (0..count).flat_map(row).collect()
    }

    #[test]
    fn it_is_the_inverse_of_the_mixture_for_every_output() {
        let (x, features, outputs, l2) = (rows(40), 3, 2, 0.01);
        let uneven: Vec<f64> = (0..40).map(|i| f64::from(i % 3)).collect();
        for (bias, weights) in [(false, None), (true, None), (true, Some(&uneven[..]))] {
            let preconditioner =
                Preconditioner::of_rows(Matrix::new(&x, features).unwrap(), weights, outputs, bias, l2).unwrap();
            let size = features + usize::from(bias);
            assert_eq!(preconditioner.length(), outputs * size);
            // The Hessian by its definition, bias last.
            let mut hessian = vec![0.0; size * size];
            for (i, row) in x.chunks_exact(features).enumerate() {
                let at = |i: usize| row.get(i).copied().unwrap_or(1.0);
                let weight = weights.map_or(1.0, |weights| weights[i]);
                for (place, value) in hessian.iter_mut().enumerate() {
                    *value += 0.25 * weight * at(place / size) * at(place % size) / 40.0;
                }
            }
            let mean = (0..size).map(|i| hessian[i * (size + 1)]).sum::<f64>() / size as f64;
            for i in 0..size {
                hessian[i * (size + 1)] += SPHERE * mean + if i < features { l2 } else { 0.0 };
            }
            let parameters: Vec<f64> = (0..preconditioner.length()).map(|i| 1.0 + i as f64).collect();
            let mut found = parameters.clone();
            preconditioner.apply(&mut found, &mut Vec::new());
            let of = |all: &[f64], k: usize, i: usize| {
                if i < features { all[k * features + i] } else { all[outputs * features + k] }
            };
            for k in 0..outputs {
                for i in 0..size {
                    let back: f64 = (0..size).map(|j| hessian[i * size + j] * of(&found, k, j)).sum();
                    assert!((back - of(&parameters, k, i)).abs() < 1e-9, "bias {bias}, output {k}, {i}: {back}");
                }
            }
        }
    }

    #[test]
    fn of_sparse_rows_it_is_the_diagonal() {
        let x = SparseRows::new(vec![0, 2, 3], vec![0, 2, 0], vec![2.0f64, 1.0, 1.0], 3).unwrap();
        let found = Preconditioner::of_rows(x.view(), Some(&[1.0, 3.0]), 2, true, 0.01).unwrap();
        // Second moments 7/2, 0, 1/2 and, of the bias, 4/2; a quarter of them counts.
        let hessian = [0.875, 0.0, 0.125, 0.5].map(|value| value + SPHERE * 1.5 / 4.0);
        let mut values = vec![1.0; found.length()];
        found.apply(&mut values, &mut Vec::new());
        let wanted = |i: usize| 1.0 / (hessian[i] + if i < 3 { 0.01 } else { 0.0 });
        for (place, value) in values.iter().enumerate() {
            assert!((value - wanted(if place < 6 { place % 3 } else { 3 })).abs() < 1e-12, "{place}: {value}");
        }
        let none = SparseRows::<f32>::new(vec![0, 0], vec![], vec![], 3).unwrap();
        assert!(Preconditioner::of_rows(none.view(), None, 2, false, 0.0).is_none());
    }

    #[test]
    fn none_where_it_would_cost_too_much_or_means_nothing() {
        let of = |x: &[f32], features, outputs| {
            Preconditioner::of_rows(Matrix::new(x, features).unwrap(), None, outputs, true, 0.0)
        };
        assert!(of(&[0.5; 200 * 20], 20, 2).is_some());
        // Four evaluations do not pay for it, though there are rows enough; and the other way round.
        assert!(of(&[0.5; 100 * 20], 20, 2).is_none());
        assert!(of(&[0.5; 80 * 20], 20, 100).is_none());
        assert!(of(&[0.5; 100 * 20], 20, 100).is_some());
        assert!(of(&[], 3, 2).is_none());
        assert!(of(&[f32::NAN; 300], 3, 2).is_none());
        assert!(Preconditioner::of_rows(Matrix::new(&[0.0f32; 300], 3).unwrap(), None, 2, false, 0.0).is_none());
    }
}
