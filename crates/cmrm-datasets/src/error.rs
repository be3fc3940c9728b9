//! What can go wrong with a named data set, each with the way out.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Shorthand for a result with this module's [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a named data set.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such entry.
    #[error("unknown data set '{name}'{hint}; `cmrm data list` shows all names", hint = did_you_mean(.suggestion))]
    UnknownName {
        /// What was asked for.
        name: String,
        /// The nearest name, when one is near.
        suggestion: Option<String>,
    },
    /// There is no such set of labels in the data set.
    #[error("data set {dataset} has no labels '{labels}'; it has {}", .known.join(", "))]
    UnknownLabels {
        /// The data set.
        dataset: &'static str,
        /// The labels that were asked for.
        labels: String,
        /// The labels it has.
        known: Vec<String>,
    },
    /// Nobody said where the cache is.
    #[error("no cache folder: neither CMRM_CACHE, XDG_CACHE_HOME nor a home folder is set; give one with --cache DIR")]
    NoCacheFolder,
    /// The files are not in the cache.
    #[error("{dataset} is not in the cache {}: {file} is missing; get it with `cmrm data fetch {dataset}`, \
             or with `cmrm data fetch {dataset} --from DIR` if a folder has it", .folder.display())]
    NotCached {
        /// The data set.
        dataset: &'static str,
        /// The first missing file.
        file: &'static str,
        /// The folder that was looked in.
        folder: PathBuf,
    },
    /// The folder given for offline use lacks a file.
    #[error("{}: the folder contains none of {}; add one of them", .folder.display(), .names.join(", "))]
    NotInFolder {
        /// The folder that was given.
        folder: PathBuf,
        /// The names that would have done.
        names: Vec<String>,
    },
    /// Every address failed.
    #[error(
        "{file} could not be downloaded: {reason}; get it by other means and run \
             `cmrm data fetch {dataset} --from DIR`, or try again: partial downloads are kept"
    )]
    Download {
        /// The data set.
        dataset: &'static str,
        /// The file at its makers.
        file: &'static str,
        /// One sentence per address.
        reason: String,
    },
    /// The program was built without the feature that this needs.
    #[error("this build has no {what} (cargo feature `{feature}`); {way_out}")]
    NotBuiltIn {
        /// What is missing.
        what: &'static str,
        /// The feature.
        feature: &'static str,
        /// What to do instead.
        way_out: String,
    },
    /// A file is not what the catalogue says it is.
    #[error("{}: {what} is {found}, expected {expected}; nothing was cached. {way_out}", .path.display())]
    Checksum {
        /// The file or address.
        path: PathBuf,
        /// What was compared.
        what: &'static str,
        /// What the catalogue says.
        expected: String,
        /// What the file has.
        found: String,
        /// What to do.
        way_out: &'static str,
    },
    /// An archive is damaged, lacks a file or holds too much.
    #[error("{}: {reason}", .path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file has the right name but not the expected content.
    #[error("{}: {reason}", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the place and both numbers.
        reason: String,
    },
    /// The user stopped the transfer.
    #[error("stopped; partial downloads are kept, and the same command continues")]
    Cancelled,
    /// The data could not be put together.
    #[error(transparent)]
    Data(#[from] cmrm_data::Error),
    /// The file system refused.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
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
            _ => false,
        }
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

/// Adds the path and the action to a file system error.
pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { path, action, source }
}

/// An [`Error::Content`].
pub(crate) fn content(path: &Path, reason: impl Into<String>) -> Error {
    Error::Content { path: path.to_path_buf(), reason: reason.into() }
}
