//! Noise that depends on the features.

use super::{NoisyLabels, Rate, STREAM, check_input, check_two_classes};
use crate::error::{Error, Result, check_length};
use crate::matrix::Matrix;
use crate::rng::Rng;
use crate::rows::Rows;
use crate::sparse::SparseMatrix;

/// Size of the random projection: one direction says how easily a row is mislabelled, the others as what.
const DIRECTIONS: usize = 16;

/// Flips `⌊ρn⌋` rows, some more readily than others, by a seeded random projection of their features (method, "Noise",
/// instance-dependent; the method leaves the form open, this is ours).
///
/// The features are standardised and projected on 16 Gaussian directions, each standardised over the rows: `h_i`.
/// - Which rows: drawn one by one without replacement with probability proportional to `exp(h_i[0])` among those left
///   (by the largest `h_i[0]` + Gumbel noise). So the count is exact and every row can be chosen, but a row one
///   standard deviation up is `e` times as likely as the average one.
/// - New label: every class has a Gaussian vector `c_k` of 15 numbers with variance 1/15; the label is drawn from the
///   softmax of `h_i[1..]·c_k` over the classes other than the row's own. Rows alike in features go wrong alike.
///
/// Features that do not vary leave a uniform choice. Cost: `16·n·d` multiplications, of sparse rows sixteen for each number that
/// is kept, and `16·n` numbers of memory.
pub fn instance_dependent<'a, T: Copy + Into<f64> + 'a>(
    labels: &[u32],
    classes: usize,
    features: impl Into<Rows<'a, T>>,
    rate: Rate,
    seed: u64,
) -> Result<NoisyLabels> {
    check_input(labels, classes)?;
    check_two_classes(labels, classes, rate)?;
    let features = features.into();
    check_length("rows of features for the labels", labels.len(), features.rows())?;
    let mut rng = Rng::new(seed, STREAM);
    let mut projected = match features {
        Rows::Dense(features) => project(features, &mut rng)?,
        Rows::Sparse(features) => project_sparse(features, &mut rng)?,
    };
    standardise_directions(&mut projected);
    let prototypes: Vec<f64> = (0..classes * (DIRECTIONS - 1)).map(|_| rng.normal()).collect();

    let mut by_readiness: Vec<(f64, usize)> =
        projected.chunks_exact(DIRECTIONS).enumerate().map(|(row, h)| (h[0] + gumbel(&mut rng), row)).collect();
    by_readiness.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut flipped: Vec<usize> = by_readiness[..rate.count(labels.len())].iter().map(|&(_, row)| row).collect();
    flipped.sort_unstable();

    let mut noisy = labels.to_vec();
    for &row in &flipped {
        let h = &projected[row * DIRECTIONS + 1..(row + 1) * DIRECTIONS];
        noisy[row] = draw_other_class(h, &prototypes, labels[row], &mut rng);
    }
    Ok(NoisyLabels { labels: noisy, flipped })
}

/// Projections of the standardised features; `DIRECTIONS` numbers a row.
fn project<T: Copy + Into<f64>>(features: Matrix<'_, T>, rng: &mut Rng) -> Result<Vec<f64>> {
    let columns = features.columns();
    // Dividing by the largest magnitude first keeps sums and squares of any finite features finite.
    let mut largest = vec![0.0f64; columns];
    for (row, values) in features.iter_rows().enumerate() {
        for (column, &value) in values.iter().enumerate() {
            let value: f64 = value.into();
            if !value.is_finite() {
                return Err(Error::non_finite("feature", row, column, value));
            }
            largest[column] = largest[column].max(value.abs());
        }
    }
    for scale in &mut largest {
        if *scale == 0.0 {
            *scale = 1.0;
        }
    }
    let scaled = |values: &[T], column: usize| -> f64 { values[column].into() / largest[column] };
    let rows = features.rows() as f64;
    let mut mean = vec![0.0; columns];
    for values in features.iter_rows() {
        for column in 0..columns {
            mean[column] += scaled(values, column) / rows;
        }
    }
    let mut variance = vec![0.0; columns];
    for values in features.iter_rows() {
        for column in 0..columns {
            variance[column] += (scaled(values, column) - mean[column]).powi(2) / rows;
        }
    }
    let inverse: Vec<f64> = variance.iter().map(|&v| inverse_deviation(v)).collect();
    let directions: Vec<f64> = (0..columns * DIRECTIONS).map(|_| rng.normal()).collect();
    let mut projected = vec![0.0; features.rows() * DIRECTIONS];
    for (values, h) in features.iter_rows().zip(projected.chunks_exact_mut(DIRECTIONS)) {
        for (column, direction) in directions.chunks_exact(DIRECTIONS).enumerate() {
            let standard = (scaled(values, column) - mean[column]) * inverse[column];
            for (h, d) in h.iter_mut().zip(direction) {
                *h += standard * d;
            }
        }
    }
    Ok(projected)
}

/// The same of sparse rows, but for what all rows have in common, which the standardisation of the directions takes off: the
/// projection of the means.
fn project_sparse<T: Copy + Into<f64>>(features: SparseMatrix<'_, T>, rng: &mut Rng) -> Result<Vec<f64>> {
    let mut largest = vec![0.0f64; features.columns()];
    for (row, values) in features.iter_rows().enumerate() {
        for (column, value) in values.iter() {
            let value: f64 = value.into();
            if !value.is_finite() {
                return Err(Error::non_finite("feature", row, column, value));
            }
            largest[column] = largest[column].max(value.abs());
        }
    }
    let rows = features.rows() as f64;
    let (mut mean, mut square) = (vec![0.0; features.columns()], vec![0.0; features.columns()]);
    // A number that is kept is not zero, and neither is the largest of its column; if it is after all, it counts nothing.
    let scaled = |column: usize, value: T| if largest[column] > 0.0 { value.into() / largest[column] } else { 0.0 };
    for (column, value) in features.iter_rows().flat_map(|row| row.iter()) {
        mean[column] += scaled(column, value) / rows;
        square[column] += scaled(column, value).powi(2) / rows;
    }
    let directions: Vec<f64> = (0..features.columns() * DIRECTIONS).map(|_| rng.normal()).collect();
    let mut projected = vec![0.0; features.rows() * DIRECTIONS];
    for (values, h) in features.iter_rows().zip(projected.chunks_exact_mut(DIRECTIONS)) {
        for (column, value) in values.iter() {
            let standard = scaled(column, value) * inverse_deviation(square[column] - mean[column].powi(2));
            for (h, d) in h.iter_mut().zip(&directions[column * DIRECTIONS..]) {
                *h += standard * d;
            }
        }
    }
    Ok(projected)
}

fn standardise_directions(projected: &mut [f64]) {
    let rows = (projected.len() / DIRECTIONS) as f64;
    for direction in 0..DIRECTIONS {
        let mean = projected.iter().skip(direction).step_by(DIRECTIONS).sum::<f64>() / rows;
        let variance =
            projected.iter().skip(direction).step_by(DIRECTIONS).map(|h| (h - mean).powi(2)).sum::<f64>() / rows;
        let inverse = inverse_deviation(variance);
        for h in projected.iter_mut().skip(direction).step_by(DIRECTIONS) {
            *h = (*h - mean) * inverse;
        }
    }
}

/// `1/σ`, or 0 where the spread is rounding only: a constant carries no information and must not be blown up.
fn inverse_deviation(variance: f64) -> f64 {
    if variance.sqrt() > 1e-12 { 1.0 / variance.sqrt() } else { 0.0 }
}

/// Standard Gumbel noise; the largest of `log weight + Gumbel` is a draw in proportion to the weights.
fn gumbel(rng: &mut Rng) -> f64 {
    -(-rng.uniform().ln()).ln()
}

fn draw_other_class(h: &[f64], prototypes: &[f64], label: u32, rng: &mut Rng) -> u32 {
    let scale = ((DIRECTIONS - 1) as f64).sqrt().recip();
    let mut best: Option<(f64, u32)> = None;
    for (class, prototype) in prototypes.chunks_exact(DIRECTIONS - 1).enumerate() {
        if class as u32 == label {
            continue;
        }
        let score = h.iter().zip(prototype).map(|(a, b)| a * b).sum::<f64>() * scale + gumbel(rng);
        if best.is_none_or(|(highest, _)| score > highest) {
            best = Some((score, class as u32));
        }
    }
    best.map_or(label, |(_, class)| class) // there is another class: two were checked
}
