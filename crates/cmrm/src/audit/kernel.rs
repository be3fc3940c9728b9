//! The two passes over the matrix, row by row. Rows are independent, so a caller may split them into chunks and run
//! those on threads; the result does not depend on the split.

use super::config::ScoreMethod;
use super::entropy::weighted_entropy_score;
use crate::conformal::{SUM_SLACK, check_row};
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
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> Result<()> {
        let classes = self.classes;
        let close = T::from_f64(CLOSE);
        for (i, row) in self.probabilities.chunks_exact(classes).enumerate() {
            let label = self.labels[i];
            if label as usize >= classes {
                return Err(Error::Label { row: self.first_row + i, label, classes });
            }
            let Extremes { low, sum, first, second } = extremes(row);
            let p_label = row[label as usize];
            let p_rival = if p_label < first { first } else { second };
            let rival = first_equal_but(row, p_rival, label as usize) as u32;
            // NaN fails the comparisons too. Near a limit the exact check decides, so that it is the only judge.
            let plausible = low >= T::ZERO && first <= T::ONE && (sum.to_f64() - 1.0).abs() <= 0.9 * SUM_SLACK;
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
            self.doubted[i] = !wins(p_label + close);
            let score = match self.method {
                ScoreMethod::SelfConfidence => p_label.to_f64(),
                ScoreMethod::NormalizedMargin => normalised_margin(margin.to_f64()),
                ScoreMethod::ConfidenceWeightedEntropy => weighted_entropy_score(row, p_label.to_f64(), wins(p_label)),
            };
            // A probability may exceed 1 by rounding.
            self.score[i] = score.clamp(0.0, 1.0) as f32;
        }
        Ok(())
    }
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

/// Lowest number, sum, and the two highest numbers of a row (equal if the highest occurs twice).
struct Extremes<T> {
    low: T,
    sum: T,
    first: T,
    second: T,
}

/// One [`Extremes`] a lane, folded at the end. NaN spoils the sum and nothing else.
#[inline(always)]
fn extremes<T: Scalar>(row: &[T]) -> Extremes<T> {
    let (mut low, mut sum) = ([T::ZERO; LANES], [T::ZERO; LANES]);
    let (mut first, mut second) = ([T::NEG_INFINITY; LANES], [T::NEG_INFINITY; LANES]);
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for l in 0..LANES {
            let v = chunk[l];
            low[l] = smaller(low[l], v);
            sum[l] += v;
            second[l] = second[l].larger(smaller(first[l], v));
            first[l] = first[l].larger(v);
        }
    }
    for l in 0..rest.len() {
        let v = rest[l];
        low[l] = smaller(low[l], v);
        sum[l] += v;
        second[l] = second[l].larger(smaller(first[l], v));
        first[l] = first[l].larger(v);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            low[l] = smaller(low[l], low[l + width]);
            sum[l] += sum[l + width];
            // The runner-up is the better runner-up or the worse winner.
            second[l] = second[l].larger(second[l + width]).larger(smaller(first[l], first[l + width]));
            first[l] = first[l].larger(first[l + width]);
        }
        width /= 2;
    }
    Extremes { low: low[0], sum: sum[0], first: first[0], second: second[0] }
}

#[inline(always)]
fn smaller<T: Scalar>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

/// Lowest index of `value` other than `but`; 0 if it is not there (only for rows that are refused).
#[inline(always)]
fn first_equal_but<T: Scalar>(row: &[T], value: T, but: usize) -> usize {
    let (chunks, rest) = row.as_chunks::<LANES>();
    for (c, chunk) in chunks.iter().enumerate() {
        let mut found = false;
        for l in 0..LANES {
            found |= chunk[l] == value;
        }
        if found && let Some(l) = (0..LANES).find(|&l| chunk[l] == value && c * LANES + l != but) {
            return c * LANES + l;
        }
    }
    let start = chunks.len() * LANES;
    (0..rest.len()).find(|&l| rest[l] == value && start + l != but).map_or(0, |l| start + l)
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
