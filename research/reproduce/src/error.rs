//! What can go wrong.

use std::path::{Path, PathBuf};

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An experiment that says what cannot be.
    #[error("{experiment}: {reason}")]
    Experiment {
        /// Its file or name.
        experiment: String,
        /// What is wrong, and the way out.
        reason: String,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file that holds something else than results.
    #[error("{}: {reason}", path.display())]
    Stored {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the way out.
        reason: String,
    },
    /// A name that nothing has.
    #[error("{0}")]
    Unknown(String),
    /// The operating system gives no threads.
    #[error("cannot start threads: {0}; try fewer")]
    Threads(String),
    /// What no input can cause.
    #[error("a bug in cmrm, please report it: {0}")]
    Internal(String),
    /// The method refused.
    #[error(transparent)]
    Method(#[from] cmrm::Error),
    /// Training refused or failed.
    #[error(transparent)]
    Train(#[from] cmrm_train::Error),
    /// Records that do not belong together.
    #[error(transparent)]
    Run(#[from] cmrm_run::Error),
    /// Data that cannot be read.
    #[error(transparent)]
    Data(#[from] cmrm_data::Error),
    /// A named data set that is not there.
    #[error(transparent)]
    Catalogue(#[from] cmrm_datasets::Error),
}

impl Error {
    /// An error of the operating system about a file.
    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        Error::File { path: path.to_owned(), source }
    }

    /// An error in an experiment.
    pub(crate) fn experiment(name: &str, reason: impl std::fmt::Display) -> Self {
        Error::Experiment { experiment: name.to_owned(), reason: reason.to_string() }
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
