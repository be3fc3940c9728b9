//! What boosting descends: gradients and curvatures by the logits.

use cmrm::Matrix;
use cmrm::envelope::{Batch, Objective, RowMemory, Scratch};
use cmrm::error::{check_labels, check_length, check_parameter, check_row_weights};
use cmrm::loss::Loss;
use cmrm::scalar::Scalar;
use cmrm::scores::softmax;
use rayon::prelude::*;

use super::wide::with_wide_vectors;
use crate::error::Result;

/// Rows whose gradients are one thread's work.
const CHUNK_ROWS: usize = 4096;
/// A class that no row has starts as if it had this share.
const LEAST_SHARE: f64 = 1e-6;
/// A gradient is at most so many times its curvature: no leaf moves a logit further, before the rate.
const LONGEST_STEP: f32 = 10.0;

/// What boosting descends. Two classes have one logit a row, that of the second class; more classes have one each.
pub trait BoostingObjective: Send {
    /// Number of classes.
    fn classes(&self) -> usize;
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Weights of the rows. Rows of weight zero are in no tree.
    fn row_weights(&self) -> Option<&[f32]>;
    /// Where every row's logits start.
    fn start(&self) -> Vec<f32>;
    /// Writes gradient and curvature of every row by each of its logits.
    fn gradients(&mut self, logits: &[f32], gradients: &mut [f32], hessians: &mut [f32]) -> Result<()>;
}

/// Logits of a row: one for two classes.
pub(crate) fn outputs(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// Labels and weights that have passed their checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    labels: &'a [u32],
    classes: usize,
    weights: Option<&'a [f32]>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(labels: &'a [u32], classes: usize, weights: Option<&'a [f32]>) -> Result<Self> {
        check_parameter(
            "classes",
            classes as f64,
            (1..=1 << 24).contains(&classes),
            "at least one class, at most 2^24",
        )?;
        check_labels(labels, classes)?;
        if labels.is_empty() {
            return Err(cmrm::Error::Empty { what: "the training set" }.into());
        }
        check_row_weights(weights, labels.len())?;
        Ok(Rows { labels, classes, weights })
    }

    fn weight(&self, row: usize) -> f32 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The logits at which every row has the classes' shares.
    fn start(&self) -> Vec<f32> {
        let shares = class_shares(self.labels, self.classes, self.weights);
        let log = |share: f64| share.max(LEAST_SHARE).ln();
        if self.classes == 2 {
            vec![(log(shares[1]) - log(shares[0])) as f32]
        } else {
            shares.into_iter().map(|share| log(share) as f32).collect()
        }
    }

    /// The softmax's curvature is this many times p (1 − p) for three classes and more, as LightGBM has it: the logits of a
    /// row have one direction too many.
    fn curvature_factor(&self) -> f32 {
        if self.classes > 2 { self.classes as f32 / (self.classes as f32 - 1.0) } else { 1.0 }
    }
}

/// The share of every class in the weights.
pub(crate) fn class_shares(labels: &[u32], classes: usize, weights: Option<&[f32]>) -> Vec<f64> {
    let mut sums = vec![0.0; classes];
    for (row, &label) in labels.iter().enumerate() {
        sums[label as usize] += weights.map_or(1.0, |weights| f64::from(weights[row]));
    }
    let total: f64 = sums.iter().sum();
    sums.iter_mut().for_each(|sum| *sum /= total);
    sums
}

/// Cross-entropy with the labels, every row by its weight.
#[derive(Debug, Clone)]
pub struct CrossEntropy<'a> {
    rows: Rows<'a>,
}

impl<'a> CrossEntropy<'a> {
    /// Refuses labels that are not below `classes` and weights that are negative or sum to zero.
    pub fn new(labels: &'a [u32], classes: usize, weights: Option<&'a [f32]>) -> Result<Self> {
        Ok(CrossEntropy { rows: Rows::new(labels, classes, weights)? })
    }
}

impl BoostingObjective for CrossEntropy<'_> {
    fn classes(&self) -> usize {
        self.rows.classes
    }

    fn rows(&self) -> usize {
        self.rows.labels.len()
    }

    fn row_weights(&self) -> Option<&[f32]> {
        self.rows.weights
    }

    fn start(&self) -> Vec<f32> {
        self.rows.start()
    }

    fn gradients(&mut self, logits: &[f32], gradients: &mut [f32], hessians: &mut [f32]) -> Result<()> {
        let rows = self.rows;
        let width = outputs(rows.classes);
        check_length("logits against rows", rows.labels.len() * width, logits.len())?;
        let chunk = CHUNK_ROWS * width;
        let chunks = logits.par_chunks(chunk).zip(gradients.par_chunks_mut(chunk)).zip(hessians.par_chunks_mut(chunk));
        chunks.enumerate().for_each(|(at, ((logits, gradients), hessians))| {
            with_wide_vectors(
                #[inline(always)]
                || {
                    let first = at * CHUNK_ROWS;
                    if width == 1 {
                        binary_gradients(&rows, first, logits, gradients, hessians);
                    } else {
                        softmax_gradients(&rows, first, logits, gradients, hessians);
                    }
                },
            );
        });
        Ok(())
    }
}

#[inline(always)]
fn binary_gradients(rows: &Rows<'_>, first: usize, logits: &[f32], gradients: &mut [f32], hessians: &mut [f32]) {
    let labels = &rows.labels[first..][..logits.len()];
    // A single class has one logit too, and its probability is one.
    let only = rows.classes == 1;
    for (at, &label) in labels.iter().enumerate() {
        let p = logits[at].sigmoid();
        gradients[at] = if only { 0.0 } else { p - label as f32 };
        hessians[at] = p * (1.0 - p);
    }
    if let Some(weights) = rows.weights {
        for (at, &weight) in weights[first..][..logits.len()].iter().enumerate() {
            gradients[at] *= weight;
            hessians[at] *= weight;
        }
    }
}

#[inline(always)]
fn softmax_gradients(rows: &Rows<'_>, first: usize, logits: &[f32], gradients: &mut [f32], hessians: &mut [f32]) {
    let factor = rows.curvature_factor();
    gradients.copy_from_slice(logits);
    let both = gradients.chunks_exact_mut(rows.classes).zip(hessians.chunks_exact_mut(rows.classes));
    for (row, (gradients, hessians)) in (first..).zip(both) {
        softmax(gradients);
        let weight = rows.weight(row);
        for (gradient, hessian) in gradients.iter_mut().zip(hessians) {
            *hessian = factor * weight * *gradient * (1.0 - *gradient);
            *gradient *= weight;
        }
        gradients[rows.labels[row] as usize] -= weight;
    }
}

/// A base loss with or without the envelope ([`Objective`]): the gradient of the whole, and as its curvature that of the
/// softmax times the row's share in the base loss. Rows are remembered by their number.
#[derive(Debug, Clone)]
pub struct Enveloped<'a, L> {
    rows: Rows<'a>,
    objective: Objective<L>,
    memory: RowMemory<f32>,
    identities: Vec<u32>,
    scratch: Scratch<f32>,
    wide: [Vec<f32>; 2],
    weight_sum: f64,
}

impl<'a, L: Loss<f32>> Enveloped<'a, L> {
    /// Refuses what [`CrossEntropy::new`] does, and fewer than two classes.
    pub fn new(
        objective: Objective<L>,
        labels: &'a [u32],
        classes: usize,
        weights: Option<&'a [f32]>,
        memory: RowMemory<f32>,
    ) -> Result<Self> {
        check_parameter("classes", classes as f64, classes >= 2, "at least two classes")?;
        let rows = Rows::new(labels, classes, weights)?;
        let weight_sum = check_row_weights(weights, labels.len())?;
        let identities = (0..labels.len() as u32).collect();
        let (scratch, wide) = (Scratch::default(), Default::default());
        Ok(Enveloped { rows, objective, memory, identities, scratch, wide, weight_sum })
    }

    /// Margins and weights of the rows in the last round.
    pub fn scratch(&self) -> &Scratch<f32> {
        &self.scratch
    }

    /// What is remembered of the rows.
    pub fn memory(&self) -> &RowMemory<f32> {
        &self.memory
    }
}

impl<L: Loss<f32> + Send> BoostingObjective for Enveloped<'_, L> {
    fn classes(&self) -> usize {
        self.rows.classes
    }

    fn rows(&self) -> usize {
        self.rows.labels.len()
    }

    fn row_weights(&self) -> Option<&[f32]> {
        self.rows.weights
    }

    fn start(&self) -> Vec<f32> {
        self.rows.start()
    }

    fn gradients(&mut self, logits: &[f32], gradients: &mut [f32], hessians: &mut [f32]) -> Result<()> {
        let Enveloped { rows, objective, memory, identities, scratch, wide: [full, slopes], weight_sum } = self;
        let classes = rows.classes;
        let width = outputs(classes);
        check_length("logits against rows", rows.labels.len() * width, logits.len())?;
        full.clear();
        if width == 1 {
            full.extend(logits.iter().flat_map(|&logit| [0.0, logit]));
        } else {
            full.extend_from_slice(logits);
        }
        slopes.resize(full.len(), 0.0);
        let batch = Batch::new(Matrix::new(full, classes)?, rows.labels)
            .with_row_weights(rows.weights)
            .with_identities(Some(identities));
        objective.evaluate_remembering(&batch, Some(memory), slopes, scratch)?;
        // The objective is a mean; trees take sums, so that the bounds on leaves mean the same for any number of rows.
        let factor = rows.curvature_factor();
        let scale = *weight_sum as f32;
        // Exponentials are fast where the processor's widest vectors are enabled around them.
        with_wide_vectors(
            #[inline(always)]
            || full.chunks_exact_mut(classes).for_each(softmax),
        );
        for (row, full) in full.chunks_exact(classes).enumerate() {
            let share = scratch.shares()[row] * scale;
            for output in 0..width {
                // Of two classes, the second.
                let at = if width == 1 { 1 } else { output };
                let gradient = slopes[row * classes + at] * scale;
                let curvature = factor * share * full[at] * (1.0 - full[at]);
                gradients[row * width + output] = gradient;
                // The risk has a gradient where the filter leaves the base loss none.
                hessians[row * width + output] = curvature.max(gradient.abs() / LONGEST_STEP);
            }
        }
        Ok(())
    }
}
