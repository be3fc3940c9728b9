//! The training of kernel machines: ridge regression of one-hot labels on Nyström's features of the kernel.

use cmrm::Rows;
use cmrm::error::check_parameter;
use cmrm::rng::Rng;
use rayon::prelude::*;

use super::machine::{CHUNK_ROWS, KernelMachine, Landmarks, soften};
use crate::error::{Error, Result};
use crate::matmul::{View, ViewMut, inverse_factor, multiply};
use crate::stop::Stop;
use crate::train::Examples;

/// Stream of the generator that landmarks are drawn from.
const LANDMARK_STREAM: u64 = 0x1a9d;
/// Most numbers of the kernel's features: 512 MiB of them. With more rows there are fewer landmarks.
const MOST_FEATURES: usize = 1 << 27;
/// Rows whose products are summed in single precision before they are added up in double.
const GRAM_ROWS: usize = 4 * CHUNK_ROWS;
/// Grams held at a time.
const GRAMS: usize = 8;
/// Blocks of columns of a product with a triangle: more of them leave out more zeros, in smaller products.
const TRIANGLE_BLOCKS: usize = 4;
/// What is added to the diagonal of the landmarks' kernel, first the least: rows may be there twice.
const JITTERS: [f64; 3] = [1e-5, 1e-4, 1e-3];
/// Temperatures to choose from, by the observed log loss of left-out rows.
const TEMPERATURES: [f32; 8] = [0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8];
/// A probability of the observed label below this costs no more than this.
const LEAST_PROBABILITY: f32 = 1e-6;

/// Which kernel machines to train; all combinations of widths and ridges.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelConfig {
    /// Values of γ, as multiples of one over the variance of a row: scikit-learn's `scale` is 1.
    pub gammas: Vec<f64>,
    /// Penalties on the weights, against the sum of squares over the rows.
    pub ridges: Vec<f64>,
    /// Most rows that others are compared with.
    pub landmarks: usize,
    /// Seed of the landmarks.
    pub seed: u64,
}

/// Place of a kernel machine in its grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelGrid {
    /// γ, as a multiple of one over the variance of a row.
    pub gamma: f64,
    /// The penalty.
    pub ridge: f64,
}

/// A trained kernel machine.
#[derive(Debug, Clone)]
pub struct KernelFitted {
    /// Its settings.
    pub grid: KernelGrid,
    /// The machine.
    pub machine: KernelMachine,
    /// Probabilities of every training row by the machine trained without it, `[rows, classes]`.
    pub left_out: Vec<f32>,
}

impl KernelConfig {
    /// How many of so many rows, at least one, the others are compared with.
    pub fn landmarks_of(&self, rows: usize) -> usize {
        self.landmarks.min(rows).min((MOST_FEATURES / rows).max(1))
    }

    /// Trains all machines. `weights` of the examples count in the sum of squares.
    pub fn fit(&self, examples: Examples<'_, f32>, classes: usize, stop: &Stop) -> Result<Vec<KernelFitted>> {
        examples.check(classes)?;
        for &value in self.gammas.iter().chain(&self.ridges) {
            check_parameter("gamma or ridge", value, value > 0.0 && value.is_finite(), "a finite positive number")?;
        }
        check_parameter("landmarks", self.landmarks as f64, self.landmarks > 0, "at least 1")?;
        let (rows, inputs) = (examples.rows(), examples.x.columns());
        let count = self.landmarks_of(rows);
        let mut chosen = Rng::new(self.seed, LANDMARK_STREAM).choose(rows, count);
        chosen.sort_unstable();
        let landmarks = examples.x.gather(&chosen);
        let targets = Targets::new(&examples, classes);
        let scale = 1.0 / row_variance(examples.x);
        let mut found = Vec::with_capacity(self.gammas.len() * self.ridges.len());
        for &gamma in &self.gammas {
            stop.check()?;
            let features = Features::new(&examples, landmarks.view()?, (gamma * scale) as f32, stop)?;
            let moments = features.moments(&targets, stop)?;
            let one = |&ridge: &f64| -> Result<KernelFitted> {
                stop.check()?;
                let solved = features.solve(&moments, &targets, ridge)?;
                let machine = KernelMachine {
                    inputs,
                    classes,
                    gamma: features.gamma,
                    temperature: solved.temperature,
                    landmarks: landmarks.clone(),
                    weights: solved.weights,
                    bias: targets.bias.clone(),
                };
                Ok(KernelFitted { grid: KernelGrid { gamma, ridge }, machine, left_out: solved.left_out })
            };
            found.extend(self.ridges.par_iter().map(one).collect::<Result<Vec<_>>>()?);
        }
        Ok(found)
    }
}

/// Variance of a row's numbers about their common mean, times how many there are; one where all numbers are equal.
fn row_variance(x: Rows<'_, f32>) -> f64 {
    let values = x.values();
    let count = x.rows() as f64 * x.columns() as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / count;
    // The zeros of sparse rows are numbers as any other.
    let zeros = (count - values.len() as f64) * mean * mean;
    let variance = (values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() + zeros) / count;
    if variance > 0.0 { variance * x.columns() as f64 } else { 1.0 }
}

/// One-hot labels less the shares of the classes, and the weights of the rows.
struct Targets<'a> {
    labels: &'a [u32],
    weights: Option<&'a [f32]>,
    bias: Vec<f32>,
}

impl<'a> Targets<'a> {
    fn new(examples: &Examples<'a, f32>, classes: usize) -> Self {
        let mut sums = vec![0.0f64; classes];
        for (row, &label) in examples.labels.iter().enumerate() {
            sums[label as usize] += examples.row_weights.map_or(1.0, |weights| f64::from(weights[row]));
        }
        let all: f64 = sums.iter().sum();
        let bias = sums.iter().map(|sum| if all > 0.0 { (sum / all) as f32 } else { 1.0 / classes as f32 }).collect();
        Targets { labels: examples.labels, weights: examples.row_weights, bias }
    }

    fn weight(&self, row: usize) -> f32 {
        self.weights.map_or(1.0, |weights| weights[row])
    }
}

/// The kernel's features of all rows: their products are the kernel, as far as the landmarks span it.
struct Features {
    gamma: f32,
    /// Inverse of the factor of the landmarks' kernel, `[size, size]`.
    root: Vec<f64>,
    size: usize,
    /// `[rows, size]`.
    values: Vec<f32>,
}

/// Weighted sums over the rows.
struct Moments {
    /// `ΦᵀWΦ`.
    gram: Vec<f64>,
    /// `ΦᵀW(Y − bias)`.
    targets: Vec<f64>,
}

struct Solved {
    weights: Vec<f32>,
    temperature: f32,
    left_out: Vec<f32>,
}

impl Features {
    fn new(examples: &Examples<'_, f32>, landmarks: Rows<'_, f32>, gamma: f32, stop: &Stop) -> Result<Self> {
        let compared = Landmarks::new(landmarks, gamma);
        let size = compared.len();
        let mut kernel = Vec::new();
        compared.kernel(landmarks, false, &mut kernel);
        let jittered = |jitter: f64| {
            let at = |(i, &v): (usize, &f32)| f64::from(v) + if i % (size + 1) == 0 { jitter } else { 0.0 };
            inverse_factor(&kernel.iter().enumerate().map(at).collect::<Vec<f64>>(), size)
        };
        let root = JITTERS.iter().find_map(|&jitter| jittered(jitter));
        let root = root.ok_or_else(|| Error::Internal("a kernel that is not positive definite".into()))?;
        let single: Vec<f32> = root.iter().map(|&v| v as f32).collect();
        let mut values = vec![0.0; examples.rows() * size];
        values.par_chunks_mut(CHUNK_ROWS * size).enumerate().try_for_each(|(chunk, out)| {
            stop.check()?;
            let (first, rows, mut kernel) = (chunk * CHUNK_ROWS, out.len() / size, Vec::new());
            compared.kernel(examples.x.slice(first..first + rows), false, &mut kernel);
            multiply(
                ViewMut::rows(out, rows, size, size),
                View::rows(&kernel, rows, size, size),
                View::rows(&single, size, size, size).transposed(),
                false,
            );
            Ok::<(), Error>(())
        })?;
        Ok(Features { gamma, root, size, values })
    }

    /// Chunks are summed in order, so that the number of threads does not matter.
    fn moments(&self, targets: &Targets<'_>, stop: &Stop) -> Result<Moments> {
        let (size, classes) = (self.size, targets.bias.len());
        let mut moments = Moments { gram: vec![0.0; size * size], targets: vec![0.0; size * classes] };
        let chunks: Vec<&[f32]> = self.values.chunks(GRAM_ROWS * size).collect();
        for (group, chunks) in chunks.chunks(GRAMS).enumerate() {
            stop.check()?;
            let sums = |(at, chunk): (usize, &&[f32])| self.sums(chunk, (group * GRAMS + at) * GRAM_ROWS, targets);
            let found: Vec<(Vec<f32>, Vec<f32>)> = chunks.par_iter().enumerate().map(sums).collect();
            for (gram, labels) in found {
                moments.gram.iter_mut().zip(gram).for_each(|(sum, v)| *sum += f64::from(v));
                moments.targets.iter_mut().zip(labels).for_each(|(sum, v)| *sum += f64::from(v));
            }
        }
        Ok(moments)
    }

    /// The sums over a chunk of rows that begins at `first`.
    fn sums(&self, chunk: &[f32], first: usize, targets: &Targets<'_>) -> (Vec<f32>, Vec<f32>) {
        let (size, classes, rows) = (self.size, targets.bias.len(), chunk.len() / self.size);
        let weighted: Vec<f32> = chunk
            .chunks_exact(size)
            .enumerate()
            .flat_map(|(at, row)| {
                let weight = targets.weight(first + at);
                row.iter().map(move |v| v * weight)
            })
            .collect();
        let labels: Vec<f32> = (first..first + rows)
            .flat_map(|row| {
                let label = targets.labels[row] as usize;
                let one = move |(class, bias): (usize, &f32)| f32::from(u8::from(class == label)) - bias;
                targets.bias.iter().enumerate().map(one)
            })
            .collect();
        let (mut gram, mut sums) = (vec![0.0; size * size], vec![0.0; size * classes]);
        let turned = View::rows(&weighted, rows, size, size).transposed();
        multiply(ViewMut::rows(&mut gram, size, size, size), turned, View::rows(chunk, rows, size, size), false);
        let labels = View::rows(&labels, rows, classes, classes);
        multiply(ViewMut::rows(&mut sums, size, classes, classes), turned, labels, false);
        (gram, sums)
    }

    /// `(ΦᵀWΦ + ridge)⁻¹ ΦᵀW(Y − bias)`, as weights of the landmarks, and what it says of every row when trained without it:
    /// with `h` the weight of a row's own label in its own prediction, `y − (y − f)/(1 − h)`.
    fn solve(&self, moments: &Moments, targets: &Targets<'_>, ridge: f64) -> Result<Solved> {
        let (size, classes) = (self.size, targets.bias.len());
        let with_ridge = |(i, &v): (usize, &f64)| v + if i % (size + 1) == 0 { ridge } else { 0.0 };
        let regularised: Vec<f64> = moments.gram.iter().enumerate().map(with_ridge).collect();
        let factor = inverse_factor(&regularised, size)
            .ok_or_else(|| Error::Internal("a regularised kernel that is not positive definite".into()))?;
        let product = |a: View<'_, f64>, b: &[f64]| {
            let mut out = vec![0.0; size * classes];
            multiply(ViewMut::rows(&mut out, size, classes, classes), a, View::rows(b, size, classes, classes), false);
            out
        };
        let square = View::rows(&factor, size, size, size);
        let coefficients = product(square.transposed(), &product(square, &moments.targets));
        let weights = product(View::rows(&self.root, size, size, size).transposed(), &coefficients);
        let weights: Vec<f32> = weights.iter().map(|&v| v as f32).collect();
        let coefficients: Vec<f32> = coefficients.iter().map(|&v| v as f32).collect();
        let factor: Vec<f32> = factor.iter().map(|&v| v as f32).collect();
        let mut left_out = vec![0.0; targets.labels.len() * classes];
        let chunks = self.values.par_chunks(CHUNK_ROWS * size).zip(left_out.par_chunks_mut(CHUNK_ROWS * classes));
        chunks.enumerate().for_each(|(chunk, (own_features, out))| {
            let rows = own_features.len() / size;
            let features = View::rows(own_features, rows, size, size);
            for row in out.chunks_exact_mut(classes) {
                row.copy_from_slice(&targets.bias);
            }
            let coefficients = View::rows(&coefficients, size, classes, classes);
            multiply(ViewMut::rows(out, rows, classes, classes), features, coefficients, true);
            let spread = times_lower_turned(own_features, &factor, size);
            for (at, (scores, spread)) in out.chunks_exact_mut(classes).zip(spread.chunks_exact(size)).enumerate() {
                let row = chunk * CHUNK_ROWS + at;
                let own = targets.weight(row) * spread.iter().map(|v| v * v).sum::<f32>();
                let rest = (1.0 - own).max(1e-4);
                for (class, score) in scores.iter_mut().enumerate() {
                    let wanted = f32::from(u8::from(class == targets.labels[row] as usize));
                    *score = wanted - (wanted - *score) / rest;
                }
            }
        });
        let temperature = best_temperature(&left_out, targets, classes);
        soften(&mut left_out, classes, temperature);
        Ok(Solved { weights, temperature, left_out })
    }
}

/// `features·factorᵀ` for a lower triangular factor, in blocks of columns, so that most of its zeros are left out.
fn times_lower_turned(features: &[f32], factor: &[f32], size: usize) -> Vec<f32> {
    let rows = features.len() / size;
    let mut out = vec![0.0; rows * size];
    let block = size.div_ceil(TRIANGLE_BLOCKS).max(1);
    for first in (0..size).step_by(block) {
        let end = (first + block).min(size);
        let out = ViewMut::rows(&mut out[first..], rows, end - first, size);
        let features = View::rows(features, rows, end, size);
        let factor = View::rows(&factor[first * size..], end - first, end, size).transposed();
        multiply(out, features, factor, false);
    }
    out
}

/// The temperature with the least observed log loss; the first of equals.
fn best_temperature(scores: &[f32], targets: &Targets<'_>, classes: usize) -> f32 {
    let loss = |temperature: f32| -> f64 {
        let mut softened = scores.to_vec();
        soften(&mut softened, classes, temperature);
        let rows = softened.chunks_exact(classes).zip(targets.labels);
        rows.map(|(row, &label)| -f64::from(row[label as usize].max(LEAST_PROBABILITY).ln())).sum()
    };
    let mut best = (f64::INFINITY, TEMPERATURES[0]);
    for temperature in TEMPERATURES {
        let found = loss(temperature);
        if found < best.0 {
            best = (found, temperature);
        }
    }
    best.1
}
