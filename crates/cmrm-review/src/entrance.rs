//! A file that leads the browser to the page.
//!
//! The address has the secret in it, and what a program is called with can be read by everyone on the machine. So the
//! browser is called with the name of a file that only its owner can read, and the file has the address.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

/// The file, gone once the page has been opened. Clones are the same file.
#[derive(Debug, Clone, Default)]
pub struct Entrance(Arc<Mutex<Option<TempPath>>>);

impl Entrance {
    /// Makes the file in a folder and gives its path.
    pub(crate) fn open(&self, folder: &Path, address: &str) -> io::Result<PathBuf> {
        // Made for its owner alone (on Unix mode 0600), under a name that nothing else has.
        let mut file = tempfile::Builder::new().prefix("review-").suffix(".html").tempfile_in(folder)?;
        write!(
            file,
            "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>cmrm review</title>\n\
             <p><a href=\"{address}\">Open the review</a></p>\n"
        )?;
        let path = file.into_temp_path();
        let name = std::path::absolute(&path)?;
        *self.file() = Some(path);
        Ok(name)
    }

    /// Removes the file.
    pub fn close(&self) {
        *self.file() = None;
    }

    fn file(&self) -> MutexGuard<'_, Option<TempPath>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
