//! The half-finished file of a download, and what is needed to go on with it.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::error::{Result, io};

/// A `.part` file with a `.part.from` beside it that says which version of which address it is a piece of.
pub(crate) struct Part {
    path: PathBuf,
    origin: PathBuf,
}

impl Part {
    /// The part file of the download `name` in `folder`.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Part { path: folder.join(format!("{name}.part")), origin: folder.join(format!("{name}.part.from")) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that have arrived; zero when there is no file.
    pub(crate) fn len(&self) -> u64 {
        fs::metadata(&self.path).map(|data| data.len()).unwrap_or(0)
    }

    /// Forgets everything. Failing to is harmless: the next transfer truncates the file.
    pub(crate) fn discard(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.origin);
    }

    /// Whether what has arrived came from `url`.
    pub(crate) fn is_from(&self, url: &str) -> bool {
        fs::read_to_string(&self.origin).is_ok_and(|text| text.split('\n').next() == Some(url))
    }

    /// The version mark (entity tag or date) of the piece, if it came from `url`.
    pub(crate) fn version(&self, url: &str) -> Option<String> {
        let text = fs::read_to_string(&self.origin).ok()?;
        let (address, version) = text.split_once('\n')?;
        (address == url && !version.is_empty()).then(|| version.to_owned())
    }

    /// Opens the file to write from the start, keeping the version mark for a later resumption.
    pub(crate) fn start(&self, url: &str, version: Option<&str>) -> Result<File> {
        let file = File::create(&self.path).map_err(io(&self.path, "create"))?;
        fs::write(&self.origin, format!("{url}\n{}", version.unwrap_or(""))).map_err(io(&self.origin, "write"))?;
        Ok(file)
    }

    /// Opens the file to add to its end.
    pub(crate) fn append(&self) -> Result<File> {
        OpenOptions::new().append(true).open(&self.path).map_err(io(&self.path, "open"))
    }
}
