//! From the outputs of one copy of the network to loss, risk and the gradient by the outputs.

use cmrm::Scalar;
use cmrm::envelope::binary::{BinaryObjective, BinaryScratch, Thresholds};
use cmrm::envelope::{Batch, Objective, Outcome, PlacedObjective, Scratch, evaluate_many};

use super::arm::{ArmState, CheckedTerm};
use crate::error::{Error, Result};
use crate::model::{Head, Layout};

/// The scalars of one evaluation of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ArmOutcome {
    pub base: f64,
    pub risk: f64,
    pub total: f64,
    /// λ as it counted.
    pub lambda: f64,
    pub tau: Option<f64>,
    pub tau_plus: Option<f64>,
    pub tau_minus: Option<f64>,
}

/// What one row looked like to an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RowView {
    /// `s[y] − max_{k≠y} s[k]`, whatever the envelope measures.
    pub margin: f32,
    /// Weight in the envelope; 1 without one.
    pub weight: f32,
    /// The strongest class other than the label.
    pub rival: u32,
}

/// Buffers of one arm.
#[derive(Debug)]
pub(crate) struct ArmScratch<T> {
    margins: Scratch<T>,
    binary: BinaryScratch<T>,
    scores: Vec<T>,
    pair_logits: Vec<T>,
    pair_grad: Vec<T>,
    /// Rows in the order they were evaluated. Evaluations add to it; whoever opens an epoch clears it.
    pub seen: Vec<RowView>,
}

impl<T: Scalar> Default for ArmScratch<T> {
    fn default() -> Self {
        ArmScratch {
            margins: Scratch::default(),
            binary: BinaryScratch::default(),
            scores: Vec::new(),
            pair_logits: Vec::new(),
            pair_grad: Vec::new(),
            seen: Vec::new(),
        }
    }
}

/// Labels and weights of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Targets<'a, T> {
    pub labels: &'a [u32],
    pub row_weights: Option<&'a [T]>,
    /// Which training row each of them is, where that is to be remembered.
    pub identities: Option<&'a [u32]>,
}

impl<'a, T: Scalar> Targets<'a, T> {
    /// The batch of these rows.
    fn batch(&self, logits: &'a [T], classes: usize, stride: usize) -> Batch<'a, T> {
        Batch::strided(logits, classes, stride, self.labels)
            .with_row_weights(self.row_weights)
            .with_identities(self.identities)
    }
}

/// Evaluates all arms on a network's `outputs`, one copy each, and writes the gradients by them into the same places of
/// `delta`. An error comes with the index of the arm that met it.
pub(super) fn evaluate_arms<T: Scalar>(
    arms: &mut [ArmState<T>],
    epoch: usize,
    layout: &Layout,
    outputs: &[T],
    targets: Targets<'_, T>,
    delta: &mut [T],
) -> std::result::Result<Vec<ArmOutcome>, (usize, Error)> {
    let mut outcomes = vec![ArmOutcome::default(); arms.len()];
    let (mut members, mut places) = (Vec::with_capacity(arms.len()), Vec::with_capacity(arms.len()));
    for (copy, arm) in arms.iter_mut().enumerate() {
        let on = arm.is_on(epoch);
        if stands_alone(arm, on, layout) {
            outcomes[copy] =
                evaluate_arm(arm, on, layout, copy, outputs, targets, delta).map_err(|error| (copy, error))?;
        } else {
            let objective = Objective { loss: &arm.loss, envelope: arm.term.envelope(on) };
            members.push(PlacedObjective {
                objective,
                offset: copy * layout.outputs(),
                scratch: &mut arm.scratch.margins,
                memory: arm.memory.as_mut(),
            });
            places.push(copy);
        }
    }
    if members.is_empty() {
        return Ok(outcomes);
    }
    let batch = targets.batch(outputs, layout.classes, layout.output_width());
    let found = evaluate_many(&mut members, &batch, delta).map_err(|(member, error)| (places[member], error.into()))?;
    for (&copy, outcome) in places.iter().zip(found) {
        arms[copy].scratch.note_margins();
        outcomes[copy] = outcome.into();
    }
    Ok(outcomes)
}

/// Whether an arm is not evaluated beside others: a score is no row of logits, and the binary envelope reads scores.
fn stands_alone<T: Scalar>(arm: &ArmState<T>, on: bool, layout: &Layout) -> bool {
    layout.head == Head::Score || (on && matches!(arm.term, CheckedTerm::Binary(_)))
}

/// Evaluates copy `copy` of a network's `outputs` and writes the gradient by them into the same places of `delta`.
pub(super) fn evaluate_arm<T: Scalar>(
    arm: &mut ArmState<T>,
    on: bool,
    layout: &Layout,
    copy: usize,
    outputs: &[T],
    targets: Targets<'_, T>,
    delta: &mut [T],
) -> Result<ArmOutcome> {
    let stride = layout.output_width();
    let offset = copy * layout.outputs();
    let (outputs, delta) = (&outputs[offset..], &mut delta[offset..]);
    match (arm.term, layout.head, on) {
        (CheckedTerm::Binary(_), _, true) => binary(arm, layout.head, stride, outputs, targets, delta),
        (_, Head::Score, _) => score(arm, on, stride, outputs, targets, delta),
        _ => objective(arm, on, &targets.batch(outputs, layout.classes, stride), delta),
    }
}

fn objective<T: Scalar>(arm: &mut ArmState<T>, on: bool, batch: &Batch<'_, T>, delta: &mut [T]) -> Result<ArmOutcome> {
    let ArmState { loss, term, scratch, memory, .. } = arm;
    let objective = Objective { loss: &*loss, envelope: term.envelope(on) };
    let outcome = objective.evaluate_remembering(batch, memory.as_mut(), delta, &mut scratch.margins)?;
    scratch.note_margins();
    Ok(outcome.into())
}

impl<T: Scalar> ArmScratch<T> {
    /// The weights of the rows in the last evaluation by margins.
    pub fn weights(&self) -> &[T] {
        self.margins.weights()
    }

    /// Share of the rows seen whose label is the most likely class; nothing if none was seen.
    pub fn accuracy(&self) -> Option<f64> {
        let right = self.seen.iter().filter(|row| row.margin > 0.0).count();
        (!self.seen.is_empty()).then(|| right as f64 / self.seen.len() as f64)
    }

    /// Adds the rows of the last evaluation by margins to those seen.
    fn note_margins(&mut self) {
        let ArmScratch { seen, margins, .. } = self;
        seen.extend(margins.rows().zip(margins.weights()).map(|(row, weight)| RowView {
            margin: (row.p_label - row.p_rival).to_f64() as f32,
            weight: weight.to_f64() as f32,
            rival: row.rival as u32,
        }));
    }
}

impl<T: Scalar> From<Outcome<T>> for ArmOutcome {
    fn from(outcome: Outcome<T>) -> Self {
        ArmOutcome {
            base: outcome.base,
            risk: outcome.risk,
            total: outcome.total,
            lambda: outcome.lambda,
            tau: outcome.tau.map(Scalar::to_f64),
            ..ArmOutcome::default()
        }
    }
}

/// A score head under anything but the binary envelope: the score becomes the logits `(0, score)`.
fn score<T: Scalar>(
    arm: &mut ArmState<T>,
    on: bool,
    stride: usize,
    outputs: &[T],
    targets: Targets<'_, T>,
    delta: &mut [T],
) -> Result<ArmOutcome> {
    let rows = targets.labels.len();
    let mut logits = std::mem::take(&mut arm.scratch.pair_logits);
    let mut grad = std::mem::take(&mut arm.scratch.pair_grad);
    logits.clear();
    logits.extend((0..rows).flat_map(|i| [T::ZERO, outputs[i * stride]]));
    grad.resize(2 * rows, T::ZERO);
    let outcome = objective(arm, on, &targets.batch(&logits, 2, 2), &mut grad);
    for i in 0..rows {
        delta[i * stride] = grad[2 * i + 1];
    }
    (arm.scratch.pair_logits, arm.scratch.pair_grad) = (logits, grad);
    outcome
}

/// The binary envelope on one score or two logits.
fn binary<T: Scalar>(
    arm: &mut ArmState<T>,
    head: Head,
    stride: usize,
    outputs: &[T],
    targets: Targets<'_, T>,
    delta: &mut [T],
) -> Result<ArmOutcome> {
    let rows = targets.labels.len();
    let ArmState { loss, term, scratch, .. } = arm;
    let CheckedTerm::Binary(envelope) = *term else { return Ok(ArmOutcome::default()) };
    let one_score = head == Head::Score;
    scratch.scores.clear();
    scratch.scores.extend((0..rows).map(|i| {
        let row = &outputs[i * stride..];
        if one_score { row[0] } else { row[1] - row[0] }
    }));
    scratch.pair_grad.resize(rows, T::ZERO);
    let objective = BinaryObjective { loss: &*loss, envelope: Some(envelope) };
    let ArmScratch { scores, pair_grad, binary, .. } = scratch;
    let outcome = objective.evaluate(scores, targets.labels, targets.row_weights, &mut pair_grad[..rows], binary)?;
    for i in 0..rows {
        let slope = pair_grad[i];
        if one_score {
            delta[i * stride] = slope;
        } else {
            delta[i * stride] = -slope;
            delta[i * stride + 1] = slope;
        }
    }
    let found = outcome.thresholds.unwrap_or(Thresholds { plus: T::NEG_INFINITY, minus: -T::NEG_INFINITY });
    let ArmScratch { seen, binary, .. } = scratch;
    seen.extend(binary.probabilities().iter().zip(targets.labels).map(|(&p, &label)| {
        let positive = label == 1;
        let margin = (2.0 * p.to_f64() - 1.0) * if positive { 1.0 } else { -1.0 };
        let suspicious = if positive { p < found.plus } else { p > found.minus };
        RowView { margin: margin as f32, weight: if suspicious { 0.0 } else { 1.0 }, rival: 1 - label }
    }));
    Ok(ArmOutcome {
        base: outcome.base,
        risk: outcome.risk,
        total: outcome.total,
        lambda: 0.0,
        tau: None,
        // A side without a threshold has none to report (and JSON has no infinities).
        tau_plus: Some(found.plus.to_f64()).filter(|t| t.is_finite()),
        tau_minus: Some(found.minus.to_f64()).filter(|t| t.is_finite()),
    })
}
