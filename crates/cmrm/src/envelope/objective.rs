//! The fused function: loss, risk, threshold, weights and gradient of one batch in one call.

use super::base_filter::{faded, shares, soften, weigh};
use super::config::{Envelope, MarginKind};
use super::group::{Group, ROWS};
use super::memory::{FrozenFilter, RowMemory};
use super::multi_objective::{PlacedObjective, evaluate_many};
use super::risk::couple;
use super::wide;
use crate::error::{Error, Result, check_length, check_parameter, check_row_weights};
use crate::loss::{Loss, Row};
use crate::matrix::Matrix;
use crate::scalar::{Scalar, sum_in_lanes, sum_pairs_in_lanes};

/// Logits and observed labels of a batch, and optional row weights.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a, T> {
    pub(super) logits: &'a [T],
    pub(super) classes: usize,
    pub(super) stride: usize,
    pub(super) labels: &'a [u32],
    pub(super) row_weights: Option<&'a [T]>,
    pub(super) identities: Option<&'a [u32]>,
}

impl<'a, T: Scalar> Batch<'a, T> {
    /// A batch without row weights.
    pub fn new(logits: Matrix<'a, T>, labels: &'a [u32]) -> Self {
        let classes = logits.columns();
        Batch { logits: logits.values(), classes, stride: classes, labels, row_weights: None, identities: None }
    }

    /// A batch whose rows start `stride` numbers apart: one model's columns in a matrix that several models share.
    /// The gradient has the same layout; the numbers between the rows are neither read nor written.
    pub fn strided(logits: &'a [T], classes: usize, stride: usize, labels: &'a [u32]) -> Self {
        Batch { logits, classes, stride, labels, row_weights: None, identities: None }
    }

    /// Weighs each row in the base loss and in the risk.
    pub fn with_row_weights(self, row_weights: Option<&'a [T]>) -> Self {
        Batch { row_weights, ..self }
    }

    /// Names each row among those of a training set, so that a [`RowMemory`] knows it again in the next epoch.
    pub fn with_identities(self, identities: Option<&'a [u32]>) -> Self {
        Batch { identities, ..self }
    }

    pub(super) fn rows(&self) -> usize {
        if self.stride == self.classes { self.logits.len() / self.classes.max(1) } else { self.labels.len() }
    }

    /// Refuses an empty batch, shapes that disagree, and bad row weights. Returns the sum of the weights.
    pub(super) fn check(&self, grad: &[T]) -> Result<f64> {
        let rows = self.rows();
        if rows == 0 {
            return Err(Error::Empty { what: "the batch" });
        }
        let classes = self.classes as f64;
        check_parameter("classes", classes, self.classes >= 2, "at least two classes")?;
        check_parameter("classes", classes, self.classes <= wide::MOST_CLASSES, "at most 16777216 classes")?;
        check_parameter("stride", self.stride as f64, self.stride >= self.classes, "at least the number of classes")?;
        check_length("labels against rows of logits", rows, self.labels.len())?;
        // Before any block of rows is looked at, so that the same error is reported however rows are cut into blocks.
        if let Some(row) = self.labels.iter().position(|&label| label as usize >= self.classes) {
            return Err(Error::Label { row, label: self.labels[row], classes: self.classes });
        }
        let needed = (rows - 1).saturating_mul(self.stride).saturating_add(self.classes);
        if self.logits.len() < needed {
            return Err(Error::Shape { what: "numbers in strided logits", expected: needed, found: self.logits.len() });
        }
        check_length("gradient against logits", self.logits.len(), grad.len())?;
        if let Some(identities) = self.identities {
            check_length("row identities against rows", rows, identities.len())?;
        }
        check_row_weights(self.row_weights, rows)
    }
}

/// Buffers that one call after another reuses, and the per-row results of the last call.
#[derive(Debug, Clone, Default)]
pub struct Scratch<T> {
    pub(super) groups: Vec<Group<T>>,
    pub(super) losses: Vec<T>,
    pub(super) margins: Vec<T>,
    weights: Vec<T>,
    slopes: Vec<T>,
    selection: Vec<T>,
    /// Running margins of the rows, where they are remembered.
    running: Vec<T>,
    thresholds: Vec<T>,
    /// The share of each row in the base loss.
    pub(super) factors: Vec<T>,
    /// What the slopes are multiplied by.
    lambda: T,
    /// Targets of the rows, side by side, where the loss reads any; else empty.
    pub(super) targets: Vec<T>,
    /// What they keep of themselves when they meet the batch.
    pub(super) target_momentum: f64,
}

impl<T: Scalar> Scratch<T> {
    pub(super) fn resize(&mut self, rows: usize) {
        self.groups.resize(rows.div_ceil(ROWS), Group::default());
        self.losses.resize(rows, T::ZERO);
        self.margins.resize(rows, T::ZERO);
        self.weights.resize(rows, T::ONE);
        self.slopes.resize(rows, T::ZERO);
        self.factors.resize(rows, T::ZERO);
    }

    /// Lays out the targets that a loss with this momentum reads: what is remembered of the rows, or else nothing, so that
    /// the batch's own probabilities become the target.
    pub(super) fn lay_out_targets(
        &mut self,
        momentum: Option<f64>,
        batch: &Batch<'_, T>,
        memory: Option<&RowMemory<T>>,
    ) {
        self.targets.clear();
        let Some(momentum) = momentum else { return };
        match (batch.identities, memory.and_then(|memory| memory.targets.as_ref())) {
            (Some(identities), Some(remembered)) => {
                remembered.gather(identities, &mut self.targets);
                self.target_momentum = momentum;
            }
            _ => {
                self.targets.resize(batch.rows() * batch.classes, T::ZERO);
                self.target_momentum = 0.0;
            }
        }
    }

    /// The target of a row; empty where the loss reads none.
    pub(super) fn target(&self, row: usize, classes: usize) -> &[T] {
        if self.targets.is_empty() { &[] } else { &self.targets[row * classes..][..classes] }
    }

    /// Margin of each row (of probabilities, when there is no envelope to say otherwise).
    pub fn margins(&self) -> &[T] {
        &self.margins
    }

    /// Weight of each row: in the base loss if the filter acts on it, else in the risk; all one without an envelope.
    pub fn weights(&self) -> &[T] {
        &self.weights
    }

    /// Share of each row in the mean base loss, as its gradient has it.
    pub fn shares(&self) -> &[T] {
        &self.factors
    }

    /// Base loss of each row.
    pub fn row_losses(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        self.losses.iter().copied()
    }

    /// What the losses see of each row: the probabilities of label and rival, and which class the rival is.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<T>> + '_ {
        (0..self.losses.len()).map(|i| self.groups[i / ROWS].row(i % ROWS))
    }
}

/// The scalars of one evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome<T> {
    /// Mean base loss, by the filter's weights if it acts on the base loss.
    pub base: f64,
    /// The risk `R`; 0 without an envelope.
    pub risk: f64,
    /// λ as it counted, faded and limited; 0 without an envelope.
    pub lambda: f64,
    /// `base + λ·risk`.
    pub total: f64,
    /// The threshold `τ`; `None` without an envelope.
    pub tau: Option<T>,
}

/// A base loss with or without the envelope: `L = mean base loss + λ R`.
#[derive(Debug, Clone, Copy)]
pub struct Objective<L> {
    /// The base loss.
    pub loss: L,
    /// The envelope, if it is on.
    pub envelope: Option<Envelope>,
}

impl<L> Objective<L> {
    /// The base loss alone.
    pub fn base(loss: L) -> Self {
        Objective { loss, envelope: None }
    }

    /// The base loss inside an envelope.
    pub fn with_envelope(loss: L, envelope: Envelope) -> Self {
        Objective { loss, envelope: Some(envelope) }
    }

    /// What the margins are measured on.
    pub fn margin_kind(&self) -> MarginKind {
        self.envelope.map_or(MarginKind::Probability, |e| e.config().margin)
    }

    /// Evaluates the batch and writes the gradient of the total by the logits into `grad`.
    ///
    /// One pass over the logits, one selection for `τ`, one pass over the gradient. Nothing that grows with the batch is
    /// allocated once `scratch` has seen one of this size (with threads: a few words for each of their tasks).
    ///
    /// ```
    /// use cmrm::envelope::{Batch, Objective, Preset, Scratch};
    /// use cmrm::loss::{CrossEntropy, LossConfig};
    /// use cmrm::Matrix;
    ///
    /// let logits = [2.0, 0.5, -1.0, 0.1, 1.5, 0.3];
    /// let batch = Batch::new(Matrix::new(&logits, 3)?, &[0, 2]);
    /// let envelope = Preset::Robust.config(&LossConfig::CrossEntropy).validate()?;
    /// let mut grad = [0.0; 6];
    /// let mut scratch = Scratch::default();
    /// let outcome = Objective::with_envelope(CrossEntropy, envelope).evaluate(&batch, &mut grad, &mut scratch)?;
    /// assert!(outcome.total.is_finite());
    /// assert!(scratch.weights()[1] < scratch.weights()[0]); // the second label is the less likely one
    /// # Ok::<(), cmrm::Error>(())
    /// ```
    pub fn evaluate<T: Scalar>(
        &self,
        batch: &Batch<'_, T>,
        grad: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<Outcome<T>>
    where
        L: Loss<T>,
    {
        self.evaluate_remembering(batch, None, grad, scratch)
    }

    /// [`Objective::evaluate`] with what is remembered of the rows, which the batch must name
    /// ([`Batch::with_identities`]). The memory takes in the batch's margins whether the envelope is on or not.
    pub fn evaluate_remembering<T: Scalar>(
        &self,
        batch: &Batch<'_, T>,
        memory: Option<&mut RowMemory<T>>,
        grad: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<Outcome<T>>
    where
        L: Loss<T>,
    {
        let objective = Objective { loss: &self.loss, envelope: self.envelope };
        let outcome = evaluate_many(&mut [PlacedObjective { objective, offset: 0, scratch, memory }], batch, grad);
        let outcomes = outcome.map_err(|(_, error)| error)?;
        // One objective, one outcome.
        outcomes.into_iter().next().ok_or(Error::Empty { what: "the list of objectives" })
    }

    pub(super) fn slopes<'s, T: Scalar>(&self, scratch: &'s Scratch<T>) -> Option<(&'s [T], T)> {
        self.envelope.map(|_| (&scratch.slopes[..], scratch.lambda))
    }

    /// What needs all rows, between the two halves of the kernel. `sizes` measures the gradients of base loss and risk, by the
    /// shares and slopes of the rows; it is asked only if there is a limit.
    pub(super) fn couple<T: Scalar>(
        &self,
        batch: &Batch<'_, T>,
        weight_sum: f64,
        memory: Option<&mut RowMemory<T>>,
        scratch: &mut Scratch<T>,
        sizes: impl FnOnce(&Scratch<T>) -> (f64, f64),
    ) -> Result<Outcome<T>> {
        let Batch { labels, row_weights, identities, .. } = *batch;
        scratch.running.clear();
        let mut memory = memory;
        if let (Some(memory), Some(identities)) = (memory.as_deref_mut(), identities) {
            if let Some(running) = &mut memory.running {
                running.meet(identities, &scratch.margins, &mut scratch.running);
            }
            // Empty for a loss that reads none.
            if let Some(targets) = &mut memory.targets {
                targets.store(identities, &scratch.targets);
            }
        }
        let frozen = memory.and_then(|memory| memory.frozen.as_ref());
        plain_shares(row_weights, weight_sum, &mut scratch.factors);
        let Some(envelope) = &self.envelope else {
            scratch.weights.fill(T::ONE);
            let base = plain_mean(&scratch.losses, row_weights, weight_sum);
            return Ok(Outcome { base, risk: 0.0, lambda: 0.0, total: base, tau: None });
        };
        let Scratch { margins, weights, slopes, selection, .. } = scratch;
        let (tau, risk) = couple(envelope, margins, labels, row_weights, weights, slopes, selection);
        let (fade, mut lambda) = match frozen {
            Some(FrozenFilter { weights, lambda }) => {
                check_length("frozen weights against rows", weights.len(), scratch.weights.len())?;
                scratch.weights.copy_from_slice(weights);
                (0.0, lambda.to_f64())
            }
            None => {
                let fade = scratch.filter(envelope, labels, row_weights);
                (fade, envelope.config().lambda * (1.0 - fade))
            }
        };
        // Where no label is in doubt the step is the base's to the last bit.
        let base = if envelope.config().filter_base && fade < 1.0 {
            shares(&scratch.weights, row_weights, &mut scratch.factors);
            sum_pairs_in_lanes(&scratch.losses, &scratch.factors, |_, loss, share| loss * share)
        } else {
            plain_mean(&scratch.losses, row_weights, weight_sum)
        };
        if let (Some(rho), None) = (envelope.config().limit, frozen) {
            let (of_base, of_risk) = sizes(scratch);
            // Where the risk has no gradient there is nothing to limit.
            if lambda * of_risk > rho * of_base {
                lambda = rho * of_base / of_risk;
            }
        }
        scratch.lambda = T::from_f64(lambda);
        let total = base + lambda * risk;
        check_parameter("base loss + lambda · risk", total, total.is_finite(), "a finite number; lower lambda")?;
        Ok(Outcome { base, risk, lambda, total, tau: Some(tau) })
    }
}

impl<T: Scalar> Scratch<T> {
    /// Turns the weights of the risk into those of the base loss, if the filter acts on it. Returns the fade.
    fn filter(&mut self, envelope: &Envelope, labels: &[u32], row_weights: Option<&[T]>) -> f64 {
        let Scratch { margins, weights, selection, running, thresholds, .. } = self;
        let remembered = !running.is_empty();
        let doubted = if remembered { &running[..] } else { &margins[..] };
        let fade = faded(envelope.config().fade, doubted, row_weights);
        match (envelope.config().filter_base, remembered) {
            (false, _) => {}
            // Without a memory these are the weights that the risk has already found.
            (true, false) => soften(fade, weights),
            (true, true) => {
                thresholds.resize(doubted.len(), T::ZERO);
                weigh(envelope, doubted, labels, fade, weights, thresholds, selection);
            }
        }
        fade
    }
}

/// The mean of the base loss. A mean of shares, unlike a sum that is divided at the end, stays within the range of its terms.
fn plain_mean<T: Scalar>(losses: &[T], row_weights: Option<&[T]>, weight_sum: f64) -> f64 {
    sum_in_lanes(losses.len(), |i| {
        losses[i].to_f64() * (row_weights.map_or(1.0, |weights| weights[i].to_f64()) / weight_sum)
    })
}

/// The share of each row in the mean of the base loss. A weight is divided by the sum directly: one over a tiny sum would
/// overflow.
fn plain_shares<T: Scalar>(row_weights: Option<&[T]>, weight_sum: f64, factors: &mut [T]) {
    match row_weights {
        None => factors.fill(T::from_f64(1.0 / weight_sum)),
        Some(weights) => {
            for (factor, weight) in factors.iter_mut().zip(weights) {
                *factor = T::from_f64(weight.to_f64() / weight_sum);
            }
        }
    }
}
