//! What can go wrong.

use std::path::{Path, PathBuf};

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// libtorch refused.
    #[error("libtorch: {0}")]
    Torch(#[from] tch::TchError),
    /// The CUDA card or its library refused.
    #[error("CUDA: {0}")]
    Cuda(String),
    /// The method refused.
    #[error(transparent)]
    Method(#[from] cmrm::Error),
    /// The data cannot be read.
    #[error(transparent)]
    Data(#[from] cmrm_data::Error),
    /// The run's folder or its report was refused.
    #[error(transparent)]
    Run(#[from] cmrm_run::Error),
    /// A file cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Settings that do not fit together.
    #[error("{0}")]
    Settings(String),
    /// What no input can cause.
    #[error("a bug in cmrm, please report it: {0}")]
    Internal(String),
    /// Stopped from outside; nothing was written.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let (kind, error) = (error.kind(), cmrm_data::Error::from(error));
        match cmrm_data::files::way_out_of_writing(kind) {
            "" => Error::Data(error),
            way_out => Error::Data(error.way_out(way_out)),
        }
    }
}

impl Error {
    /// Whether this is a bug in cmrm rather than bad input.
    pub fn is_internal(&self) -> bool {
        match self {
            Error::Internal(_) => true,
            Error::Data(error) => error.is_internal(),
            Error::Run(error) => error.is_internal(),
            _ => false,
        }
    }

    /// An error that names the file.
    pub fn in_file(path: &Path, reason: impl ToString) -> Self {
        Error::File { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Settings that do not fit together.
    pub fn settings(reason: impl Into<String>) -> Self {
        Error::Settings(reason.into())
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
