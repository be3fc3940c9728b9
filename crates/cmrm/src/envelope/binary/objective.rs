//! Loss and gradient of a batch of scores, one number per row, with or without the binary envelope.

use super::config::BinaryEnvelope;
use super::risk::risk;
use super::threshold::Thresholds;
use crate::envelope::memory::move_target;
use crate::error::{Error, Result, check_labels, check_length, check_parameter, check_row_weights};
use crate::loss::{Loss, Row, WholeRow};
use crate::scalar::Scalar;

/// Buffers that one call after another reuses, and the per-row results of the last call.
#[derive(Debug, Clone, Default)]
pub struct BinaryScratch<T> {
    probabilities: Vec<T>,
    losses: Vec<T>,
    slopes: Vec<T>,
    selection: Vec<T>,
}

impl<T: Scalar> BinaryScratch<T> {
    /// Probability of class 1 of each row.
    pub fn probabilities(&self) -> &[T] {
        &self.probabilities
    }

    /// Base loss of each row.
    pub fn row_losses(&self) -> &[T] {
        &self.losses
    }
}

/// The scalars of one evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BinaryOutcome<T> {
    /// Mean base loss.
    pub base: f64,
    /// Risk of the envelope, λ± included; 0 without one.
    pub risk: f64,
    /// `base + risk`.
    pub total: f64,
    /// `τ±`; `None` without an envelope.
    pub thresholds: Option<Thresholds<T>>,
}

/// A base loss on one score a row (`p = σ(score)`), with or without the binary envelope.
///
/// Any [`Loss`] serves: the row is given to it as the two logits `(0, score)`. A model with two logits `z` has the
/// score `z[1] − z[0]` and the gradient `(−g, g)`.
#[derive(Debug, Clone, Copy)]
pub struct BinaryObjective<L> {
    /// The base loss.
    pub loss: L,
    /// The envelope, if it is on.
    pub envelope: Option<BinaryEnvelope>,
}

impl<L> BinaryObjective<L> {
    /// Evaluates `scores` and writes the gradient of the total by the scores into `grad`.
    ///
    /// A row weight counts in the base loss only: the thresholds and tails are counts of rows.
    pub fn evaluate<T: Scalar>(
        &self,
        scores: &[T],
        labels: &[u32],
        row_weights: Option<&[T]>,
        grad: &mut [T],
        scratch: &mut BinaryScratch<T>,
    ) -> Result<BinaryOutcome<T>>
    where
        L: Loss<T>,
    {
        // Exponentials are fast where the processor's widest vectors are enabled around them.
        pulp::Arch::new().dispatch(|| self.evaluate_inline(scores, labels, row_weights, grad, scratch))
    }

    #[inline(always)]
    fn evaluate_inline<T: Scalar>(
        &self,
        scores: &[T],
        labels: &[u32],
        row_weights: Option<&[T]>,
        grad: &mut [T],
        scratch: &mut BinaryScratch<T>,
    ) -> Result<BinaryOutcome<T>>
    where
        L: Loss<T>,
    {
        let rows = scores.len();
        if rows == 0 {
            return Err(Error::Empty { what: "the batch" });
        }
        check_length("labels against scores", rows, labels.len())?;
        check_length("gradient against scores", rows, grad.len())?;
        check_labels(labels, 2)?;
        self.loss.check_classes(2)?;
        let weight_sum = check_row_weights(row_weights, rows)?;
        let scale = self.loss.scale();
        scratch.probabilities.resize(rows, T::ZERO);
        scratch.losses.resize(rows, T::ZERO);
        scratch.slopes.resize(rows, T::ZERO);
        let mut base = 0.0;
        for i in 0..rows {
            let score = scores[i] * scale;
            let row = two_class_row(score, labels[i] as usize);
            let mut answer = self.loss.row(row);
            let mut dense = [T::ZERO; 2];
            if self.loss.is_dense() {
                let (p1, p0) = if labels[i] == 1 { (row.p_label, row.p_rival) } else { (row.p_rival, row.p_label) };
                let (scaled, probs, mut target) = ([T::ZERO, score], [p0, p1], [T::ZERO; 2]);
                // Nothing is remembered of the rows.
                move_target(0.0, &probs, &mut target);
                let whole = WholeRow { scaled: &scaled, probs: &probs, target: &target };
                answer.value += self.loss.dense_value(&row, whole);
                self.loss.add_dense(&row, whole, T::ONE, &mut dense);
            }
            if !(score.is_finite() && answer.value.is_finite()) {
                return Err(explain(i, scores[i], score, answer.value));
            }
            let share = row_weights.map_or(1.0, |w| w[i].to_f64()) / weight_sum;
            // The score is the logit of class 1; the other logit is fixed at zero.
            let slope = if labels[i] == 1 { answer.at_label } else { answer.on_probs * row.p_rival + answer.on_rival };
            grad[i] = T::from_f64(share) * scale * (slope + dense[1]);
            scratch.losses[i] = answer.value;
            scratch.probabilities[i] = if labels[i] == 1 { row.p_label } else { row.p_others };
            base += share * answer.value.to_f64();
        }
        let Some(envelope) = &self.envelope else {
            check_gradient(grad)?;
            return Ok(BinaryOutcome { base, risk: 0.0, total: base, thresholds: None });
        };
        let BinaryScratch { probabilities, slopes, selection, .. } = scratch;
        let found = risk(envelope, probabilities, labels, slopes, selection);
        for i in 0..rows {
            // ∂p/∂score = scale · p (1 − p), with 1 − p taken from the score so that it does not cancel.
            let other = (-(scores[i] * scale)).sigmoid();
            grad[i] += slopes[i] * scale * probabilities[i] * other;
        }
        check_gradient(grad)?;
        let total = base + found.risk;
        check_parameter("base loss + risk", total, total.is_finite(), "a finite number; lower the lambdas")?;
        Ok(BinaryOutcome { base, risk: found.risk, total, thresholds: Some(found.thresholds) })
    }
}

/// Names the number that is not finite: the score, the score times the loss's scale, or the loss.
#[cold]
fn explain<T: Scalar>(row: usize, score: T, scaled: T, loss: T) -> Error {
    let (what, value) = match (score.is_finite(), scaled.is_finite()) {
        (false, _) => ("score", score),
        (true, false) => ("scaled score", scaled),
        (true, true) => ("loss", loss),
    };
    Error::non_finite(what, row, 0, value.to_f64())
}

/// Refuses a gradient that left the range of the number type.
fn check_gradient<T: Scalar>(grad: &[T]) -> Result<()> {
    match grad.iter().position(|g| !g.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::non_finite("gradient", row, 0, grad[row].to_f64())),
    }
}

/// The row `(0, score)` as a loss sees it.
#[inline(always)]
fn two_class_row<T: Scalar>(score: T, label: usize) -> Row<T> {
    let gap = if label == 1 { score } else { -score };
    let p_label = gap.sigmoid();
    let p_others = (-gap).sigmoid();
    let tail = (-gap.abs()).exp_of_nonpositive().ln_1p();
    let log_p_label = if gap < T::ZERO { gap - tail } else { -tail };
    Row { label, rival: 1 - label, p_label, p_rival: p_others, p_others, log_p_label, logit_gap: gap }
}
