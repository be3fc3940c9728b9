//! What can go wrong with a fit.

/// What can go wrong with a fit.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The method refused.
    #[error(transparent)]
    Method(#[from] cmrm::Error),
    /// The engine refused, or a training diverged.
    #[error(transparent)]
    Train(#[from] cmrm_train::Error),
    /// The data was refused.
    #[error(transparent)]
    Data(#[from] cmrm_data::Error),
    /// The summary or the report could not be made.
    #[error(transparent)]
    Run(#[from] cmrm_run::Error),
    /// Settings or rows that cannot work, and the way out.
    #[error("{0}")]
    Refused(String),
    /// What no input can cause.
    #[error("a bug in cmrm, please report it: {0}")]
    Internal(String),
}

impl Error {
    /// Whether this is a bug in cmrm rather than bad input.
    pub fn is_internal(&self) -> bool {
        match self {
            Error::Internal(_) => true,
            Error::Train(error) => error.is_internal(),
            Error::Data(error) => error.is_internal(),
            Error::Run(error) => error.is_internal(),
            _ => false,
        }
    }

    /// A refusal in words.
    pub(crate) fn refused(words: impl Into<String>) -> Self {
        Error::Refused(words.into())
    }

    /// Names the data that a refusal is about; other errors name it themselves.
    #[must_use]
    pub fn in_data(self, source: &str) -> Self {
        match self {
            Error::Refused(words) => Error::Refused(format!("{source}: {words}")),
            other => other,
        }
    }
}

/// Shorthand for a result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
