//! Files that are written whole or not at all, with errors that name the file and the way out.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::error::{Error, Problem, Result};

/// The file that [`atomic_write`] hands out.
pub type AtomicFile = BufWriter<File>;

/// Writes `path` whole or not at all; on an error whatever was there stays.
pub fn atomic_write<T>(path: &Path, write: impl FnOnce(&mut AtomicFile) -> Result<T>) -> Result<T> {
    crate::files::write_atomically(path, write).map_err(|error| advise(error).in_file(path.display()))
}

/// Adds the way out of an error of the operating system, unless there is one already.
fn advise(error: Error) -> Error {
    match error.problem() {
        Problem::Io(io) if error.advice().is_none() => {
            let advice = crate::files::way_out_of_writing(io.kind());
            if advice.is_empty() { error } else { error.way_out(advice) }
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_names_the_file_and_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let full = std::io::ErrorKind::StorageFull;
        let failed: Result<()> =
            atomic_write(&folder.path().join("out.txt"), |_| Err(std::io::Error::from(full).into()));
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("out.txt") && message.contains("free some space"), "{message}");
        let message = atomic_write(&folder.path().join("no/out.txt"), |_| Ok(())).unwrap_err().to_string();
        assert!(message.contains("no/out.txt") && message.contains("make the folder first"), "{message}");
    }
}
