//! The two passes over the matrix, row by row. Rows are independent, so a caller may split them into chunks and run
//! those on threads; the result does not depend on the split.

use super::config::ScoreMethod;
use super::entropy::weighted_entropy_score;
use crate::conformal::{SUM_SLACK, check_row};
use crate::envelope::wide::{LEAST_CLASSES, MOST_CLASSES, Peak, ROWS_TOGETHER, Row};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// Numbers handled side by side: one 512-bit register of `f32`, two of 256 bits.
pub(super) const LANES: usize = 16;

/// How far the model may prefer another class and still count as predicting the label; cleanlab's constant.
pub(super) const CLOSE: f64 = 1e-6;

/// Marks a row without a confident class.
pub(super) const NO_CLASS: u32 = u32::MAX;

/// First pass: what each row says of its label. Slices of one chunk of rows, of equal length.
pub(super) struct Scan<'a, T> {
    pub method: ScoreMethod,
    pub classes: usize,
    /// Row of the whole matrix at which the chunk starts, for error messages.
    pub first_row: usize,
    pub probabilities: &'a [T],
    pub labels: &'a [u32],
    /// Probability of the label.
    pub self_confidence: &'a mut [T],
    pub score: &'a mut [f32],
    pub margin: &'a mut [f32],
    /// The most likely class, the lowest index on ties.
    pub predicted: &'a mut [u32],
    /// The most likely class other than the label, the lowest index on ties.
    pub rival: &'a mut [u32],
    /// Whether the prediction differs from the label by more than [`CLOSE`].
    pub doubted: &'a mut [bool],
}

impl<T: Scalar + Into<f64>> Scan<'_, T> {
    /// Runs the pass with the processor's widest vectors.
    pub fn run(self) -> Result<()> {
        pulp::Arch::new().dispatch(self)
    }
}

impl<T: Scalar + Into<f64>> pulp::WithSimd for Scan<'_, T> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) -> Result<()> {
        let (classes, rows) = (self.classes, self.labels.len());
        if let Some(i) = self.labels.iter().position(|&label| label as usize >= classes) {
            return Err(Error::Label { row: self.first_row + i, label: self.labels[i], classes });
        }
        for start in (0..rows).step_by(ROWS_TOGETHER) {
            let end = rows.min(start + ROWS_TOGETHER);
            let found = if (LEAST_CLASSES..=MOST_CLASSES).contains(&classes) {
                look_along(simd, self.probabilities, self.labels, classes, start)
            } else {
                [start, start + 1, start + 2, start + 3].map(|i| {
                    let i = i.min(rows - 1);
                    look(&self.probabilities[i * classes..][..classes], self.labels[i] as usize)
                })
            };
            for (i, found) in (start..end).zip(&found) {
                self.note(i, found)?;
            }
        }
        Ok(())
    }
}

impl<T: Scalar + Into<f64>> Scan<'_, T> {
    /// Fills the columns of a row.
    #[inline(always)]
    fn note(&mut self, i: usize, found: &Look<T>) -> Result<()> {
        let row = &self.probabilities[i * self.classes..][..self.classes];
        let (label, &Look { low, sum, p_rival, rival }) = (self.labels[i], found);
        let p_label = row[label as usize];
        // NaN fails the comparisons too. Near a limit the exact check decides, so that it is the only judge.
        let plausible =
            low >= T::ZERO && p_label.larger(p_rival) <= T::ONE && (sum.to_f64() - 1.0).abs() <= 0.9 * SUM_SLACK;
        if !plausible {
            check_row(self.first_row + i, row)?;
        }
        let label_first = label < rival;
        let wins = |p: T| p > p_rival || (p == p_rival && label_first);
        let margin = p_label - p_rival;
        self.self_confidence[i] = p_label;
        self.margin[i] = margin.to_f64() as f32;
        self.predicted[i] = if wins(p_label) { label } else { rival };
        self.rival[i] = rival;
        self.doubted[i] = !wins(p_label + T::from_f64(CLOSE));
        let score = match self.method {
            ScoreMethod::SelfConfidence => p_label.to_f64(),
            ScoreMethod::NormalizedMargin => normalised_margin(margin.to_f64()),
            ScoreMethod::ConfidenceWeightedEntropy => weighted_entropy_score(row, p_label.to_f64(), wins(p_label)),
        };
        // A probability may exceed 1 by rounding.
        self.score[i] = score.clamp(0.0, 1.0) as f32;
        Ok(())
    }
}

/// What is seen of a row: its lowest number and sum, and the largest number besides the label's, with the first class
/// that has it. NaN spoils the sum and nothing else.
struct Look<T> {
    low: T,
    sum: T,
    p_rival: T,
    rival: u32,
}

/// At a row of few classes.
#[inline(always)]
fn look<T: Scalar>(row: &[T], label: usize) -> Look<T> {
    let (mut low, mut sum, mut p_rival, mut rival) = (T::ZERO, T::ZERO, T::NEG_INFINITY, 0);
    for (class, &p) in row.iter().enumerate() {
        low = if p < low { p } else { low };
        sum += p;
        if p > p_rival && class != label {
            (p_rival, rival) = (p, class as u32);
        }
    }
    Look { low, sum, p_rival, rival }
}

/// At a few rows of many classes, along each of them; where rows are missing at the end, the last one stands in.
#[inline(always)]
fn look_along<T: Scalar, S: pulp::Simd>(
    simd: S,
    probabilities: &[T],
    labels: &[u32],
    classes: usize,
    start: usize,
) -> [Look<T>; ROWS_TOGETHER] {
    let last = labels.len() - 1;
    let mut rows = [Row { logits: &probabilities[start * classes..][..classes], label: labels[start] }; ROWS_TOGETHER];
    for (k, row) in rows.iter_mut().enumerate() {
        let i = (start + k).min(last);
        *row = Row { logits: &probabilities[i * classes..][..classes], label: labels[i] };
    }
    let [a, b, c, d] = T::peaks(simd, rows);
    [
        look_closer(simd, rows[0], a),
        look_closer(simd, rows[1], b),
        look_closer(simd, rows[2], c),
        look_closer(simd, rows[3], d),
    ]
}

#[inline(always)]
fn look_closer<T: Scalar, S: pulp::Simd>(simd: S, row: Row<'_, T>, peak: Peak<T, T::Vector<S>>) -> Look<T> {
    let Peak { strongest, rival, poison } = peak;
    let (low, sum) = (T::lowest(simd, row.logits), T::add_up(simd, row.logits, poison));
    Look { low, sum, p_rival: strongest, rival }
}

/// Maps a margin in `[-1, 1]` to a score in `[0, 1]`.
pub(super) fn normalised_margin(margin: f64) -> f64 {
    (margin + 1.0) / 2.0
}

/// Second pass: the class each row confidently belongs to.
///
/// A row is confident of every class whose probability reaches the class's threshold. Of several the most likely class
/// of the row counts; of none, [`NO_CLASS`].
pub(super) struct Confide<'a, T> {
    /// One a class, already lowered by [`CLOSE`].
    pub thresholds: &'a [T],
    pub probabilities: &'a [T],
    pub predicted: &'a [u32],
    pub confident: &'a mut [u32],
}

impl<T: Scalar> Confide<'_, T> {
    /// Runs the pass with the processor's widest vectors.
    pub fn run(self) {
        pulp::Arch::new().dispatch(self);
    }
}

impl<T: Scalar> pulp::WithSimd for Confide<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        for (i, row) in self.probabilities.chunks_exact(self.thresholds.len()).enumerate() {
            let reached = count_reached(row, self.thresholds);
            self.confident[i] = if reached == T::ZERO {
                NO_CLASS
            } else if reached == T::ONE {
                first_reached(row, self.thresholds)
            } else {
                self.predicted[i]
            };
        }
    }
}

/// How many classes reach their thresholds, as a number that adds up in vectors.
#[inline(always)]
fn count_reached<T: Scalar>(row: &[T], thresholds: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    let (limits, rest_limits) = thresholds.as_chunks::<LANES>();
    for (p, t) in chunks.iter().zip(limits) {
        for l in 0..LANES {
            lanes[l] += if p[l] >= t[l] { T::ONE } else { T::ZERO };
        }
    }
    for l in 0..rest.len() {
        lanes[l] += if rest[l] >= rest_limits[l] { T::ONE } else { T::ZERO };
    }
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            lanes[l] += lanes[l + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn first_reached<T: Scalar>(row: &[T], thresholds: &[T]) -> u32 {
    row.iter().zip(thresholds).position(|(p, t)| p >= t).map_or(NO_CLASS, |class| class as u32)
}
