//! What can go wrong.

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The method refused.
    #[error(transparent)]
    Method(#[from] cmrm::Error),
    /// A table cannot be made or written.
    #[error(transparent)]
    Data(#[from] cmrm_data::Error),
    /// Files of a run that do not belong together.
    #[error("{0}")]
    Mismatch(String),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
