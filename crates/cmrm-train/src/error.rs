//! The error type of the training engine.

use thiserror::Error;

/// What can go wrong while training.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument was refused: a parameter out of range, sizes that disagree, a number that is not finite.
    #[error(transparent)]
    Method(#[from] cmrm::Error),
    /// A saved optimiser does not belong to the one that should continue from it.
    #[error(
        "saved optimiser state: {what}: expected {expected}, found {found}; resume with the settings of the saved run, or start afresh"
    )]
    Snapshot {
        /// What was compared.
        what: String,
        /// What the optimiser needs.
        expected: String,
        /// What the saved state holds.
        found: String,
    },
}

/// Shorthand for a result with this crate's [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
