//! What an objective remembers of every row from one epoch to the next.

use crate::error::{Result, check_parameter};
use crate::scalar::Scalar;

/// The memory of one objective over the rows of a training set, which batches name by their identities
/// ([`Batch::with_identities`](super::Batch::with_identities)).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowMemory<T> {
    /// Running margins, if the envelope reads any.
    pub running: Option<RunningMargins<T>>,
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
    pub(super) fn check(&self, identities: &[u32]) -> Result<()> {
        let rows = self.margins.len();
        match identities.iter().find(|&&row| row as usize >= rows) {
            Some(&row) => check_parameter("row identity", f64::from(row), false, "below the number of remembered rows"),
            None => Ok(()),
        }
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
