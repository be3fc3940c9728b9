//! The error type of the training engine.

use cmrm::{Matrix, Rows};
use thiserror::Error;

/// What can go wrong while training.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument was refused: a parameter out of range, sizes that disagree, a number that is not finite.
    #[error(transparent)]
    Method(#[from] cmrm::Error),
    /// A saved optimiser does not belong to the one that should continue from it.
    #[error(
        "saved optimiser state: {what}: expected {expected}, found {found}; resume with the settings of the saved run, or start a new run"
    )]
    Snapshot {
        /// What was compared.
        what: String,
        /// What the optimiser needs.
        expected: String,
        /// What the saved state holds.
        found: String,
    },
    /// Training met a number that is not finite.
    #[error("arm '{arm}' stopped in epoch {epoch}, batch {batch}: {source}. Likely cause: {cause}")]
    Diverged {
        /// Name of the arm.
        arm: String,
        /// Epoch, from zero.
        epoch: usize,
        /// Batch of the epoch, from zero.
        batch: usize,
        /// The number.
        source: Box<cmrm::Error>,
        /// What it likely comes from and what to do.
        cause: String,
    },
    /// Somebody asked to stop, by a [`crate::Stop`].
    #[error("stopped on request")]
    Stopped,
    /// A file is not a checkpoint or a model of this program, or belongs to another run.
    #[error("{what}: {reason}")]
    Stored {
        /// What was read.
        what: String,
        /// Why it is refused, and the way out.
        reason: String,
    },
    /// A [`crate::train::Observer`] failed, while it saved a checkpoint for instance.
    #[error(transparent)]
    Observer(Box<dyn std::error::Error + Send + Sync>),
    /// What no input can cause.
    #[error("a bug in cmrm, please report it: {0}")]
    Internal(String),
}

impl Error {
    /// Whether this is a bug in cmrm rather than bad input.
    pub fn is_internal(&self) -> bool {
        matches!(self, Error::Internal(_))
    }
}

/// The rows as a matrix, for what does not take sparse rows.
pub(crate) fn dense_only<'a, T: Copy>(what: &'static str, x: Rows<'a, T>) -> Result<Matrix<'a, T>> {
    x.dense().ok_or_else(|| {
        let reason = "takes dense rows only; choose another learner, or make the rows dense".to_string();
        cmrm::Error::Invalid { what, reason }.into()
    })
}

/// Shorthand for a result with this crate's [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
