//! What can go wrong with a run's folder.

use std::io;
use std::path::Path;

use cmrm_data::files::{way_out_of_reading, way_out_of_writing};

/// What can go wrong with a run's folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The method refused.
    #[error(transparent)]
    Method(#[from] cmrm::Error),
    /// A table cannot be made, written or read.
    #[error(transparent)]
    Data(#[from] cmrm_data::Error),
    /// A model cannot be read or applied, or somebody asked it to stop.
    #[error(transparent)]
    Train(#[from] cmrm_train::Error),
    /// A file that is missing, cannot be written, or does not belong to the others, and the way out.
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
            Error::Data(error) => error.is_internal(),
            Error::Train(error) => error.is_internal(),
            _ => false,
        }
    }

    /// A refusal.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Error::Refused(message.into())
    }

    /// What is wrong with the contents of a file.
    pub fn in_file(path: &Path, error: impl std::fmt::Display) -> Self {
        Error::Refused(format!("{}: {error}", path.display()))
    }

    /// A file of a finished run that is gone.
    pub(crate) fn lost(path: &Path) -> Self {
        Error::in_file(path, "missing, though run.json lists it; copy the folder again or fit again")
    }

    /// A file of a finished run that is not what was written.
    pub(crate) fn altered(path: &Path) -> Self {
        Error::in_file(
            path,
            "altered since the run was written: its checksum is not the one in run.json; copy the folder again or fit again",
        )
    }

    /// A file that cannot be read, and what to do where there is advice to give.
    pub fn reading(path: &Path, error: &io::Error) -> Self {
        with_advice(path, error, way_out_of_reading(error.kind()))
    }

    /// A file or folder that cannot be written, and what to do where there is advice to give.
    pub fn writing(path: &Path, error: &io::Error) -> Self {
        with_advice(path, error, way_out_of_writing(error.kind()))
    }
}

fn with_advice(path: &Path, error: &io::Error, advice: &str) -> Error {
    let separator = if advice.is_empty() { "" } else { "; " };
    Error::Refused(format!("{}: {error}{separator}{advice}", path.display()))
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
