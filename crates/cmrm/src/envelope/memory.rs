//! What an objective remembers of every row from one epoch to the next.

use crate::error::{Result, check_length, check_parameter};
use crate::scalar::Scalar;

/// The memory of one objective over the rows of a training set, which batches name by their identities
/// ([`Batch::with_identities`](super::Batch::with_identities)).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowMemory<T> {
    /// Running margins, if the envelope reads any.
    pub running: Option<RunningMargins<T>>,
    /// Running targets, if the loss reads any.
    pub targets: Option<RunningTargets<T>>,
    /// The filter as it was at some point. While it is here, nothing of the filter moves with the margins: what a line search
    /// needs, which compares values of one function.
    pub frozen: Option<FrozenFilter<T>>,
}

/// The margin of every row, averaged over the times it was met: `M̄ ← β M̄ + (1−β) M`, at first `M̄ = M`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningMargins<T> {
    beta: f64,
    /// NaN until a row is met.
    margins: Vec<T>,
}

/// The weights of the base loss and the weight of the risk, held fixed.
#[derive(Debug, Clone, PartialEq)]
pub struct FrozenFilter<T> {
    /// `ŵ` of every row of the batch.
    pub weights: Vec<T>,
    /// λ, faded and limited.
    pub lambda: T,
}

impl<T: Scalar> RowMemory<T> {
    /// Refuses rows that are not held here, and a number of classes other than the targets'.
    pub(super) fn check(&self, identities: &[u32], classes: usize) -> Result<()> {
        if let Some(running) = &self.running {
            running.check(identities)?;
        }
        match &self.targets {
            Some(targets) => targets.check(identities, classes),
            None => Ok(()),
        }
    }
}

fn check_identities(identities: &[u32], rows: usize) -> Result<()> {
    match identities.iter().find(|&&row| row as usize >= rows) {
        Some(&row) => check_parameter("row identity", f64::from(row), false, "below the number of remembered rows"),
        None => Ok(()),
    }
}

impl<T: Scalar> RunningMargins<T> {
    /// No row has been met yet.
    pub fn new(rows: usize, beta: f64) -> Self {
        RunningMargins { beta, margins: vec![T::from_f64(f64::NAN); rows] }
    }

    /// The running margins of all rows; NaN where a row has not been met.
    pub fn margins(&self) -> &[T] {
        &self.margins
    }

    /// The same to write to, for whoever restores them.
    pub fn margins_mut(&mut self) -> &mut [T] {
        &mut self.margins
    }

    /// Refuses a row that is not held here.
    fn check(&self, identities: &[u32]) -> Result<()> {
        check_identities(identities, self.margins.len())
    }

    /// Takes in the margins of a batch; `averaged` becomes the running margin of each of its rows.
    pub(super) fn meet(&mut self, identities: &[u32], margins: &[T], averaged: &mut Vec<T>) {
        let (beta, rest) = (T::from_f64(self.beta), T::from_f64(1.0 - self.beta));
        averaged.clear();
        averaged.extend(identities.iter().zip(margins).map(|(&row, &margin)| {
            let kept = &mut self.margins[row as usize];
            *kept = if kept.is_finite() { beta * *kept + rest * margin } else { margin };
            *kept
        }));
    }
}

/// The targets of a loss such as [`Elr`](crate::loss::Elr): for every row its softmax, averaged over the times it was met.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTargets<T> {
    classes: usize,
    /// Row after row; zero until a row is met.
    targets: Vec<T>,
}

impl<T: Scalar> RunningTargets<T> {
    /// No row has been met yet.
    pub fn new(rows: usize, classes: usize) -> Self {
        RunningTargets { classes, targets: vec![T::ZERO; rows * classes] }
    }

    /// The targets of all rows, one number a class.
    pub fn targets(&self) -> &[T] {
        &self.targets
    }

    /// The same to write to, for whoever restores them.
    pub fn targets_mut(&mut self) -> &mut [T] {
        &mut self.targets
    }

    fn check(&self, identities: &[u32], classes: usize) -> Result<()> {
        check_length("classes against those of the remembered targets", self.classes, classes)?;
        check_identities(identities, self.targets.len() / self.classes.max(1))
    }

    /// Copies the targets of a batch's rows side by side into `gathered`.
    pub(super) fn gather(&self, identities: &[u32], gathered: &mut Vec<T>) {
        for &row in identities {
            gathered.extend_from_slice(&self.targets[row as usize * self.classes..][..self.classes]);
        }
    }

    /// Takes back what [`RunningTargets::gather`] gave.
    pub(super) fn store(&mut self, identities: &[u32], gathered: &[T]) {
        for (&row, target) in identities.iter().zip(gathered.chunks_exact(self.classes)) {
            self.targets[row as usize * self.classes..][..self.classes].copy_from_slice(target);
        }
    }
}

/// How near to zero and one a probability comes in a target.
const TARGET_EDGE: f64 = 1e-4;

/// `t ← β t + (1−β) ŝ`, with `ŝ` the probabilities kept off zero and one and divided by their sum.
pub(super) fn move_target<T: Scalar>(momentum: f64, probs: &[T], target: &mut [T]) {
    let kept = |p: T| p.to_f64().clamp(TARGET_EDGE, 1.0 - TARGET_EDGE);
    let share = (1.0 - momentum) / probs.iter().map(|&p| kept(p)).sum::<f64>();
    for (t, &p) in target.iter_mut().zip(probs) {
        *t = T::from_f64(momentum * t.to_f64() + share * kept(p));
    }
}
