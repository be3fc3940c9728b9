//! Files that are either written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Problem, Result};

/// The file that [`atomic_write`] hands out.
pub type AtomicFile = BufWriter<File>;

/// Writes `path` through a temporary sibling that is synced and renamed over it, and syncs the folder, so that a
/// reader, or a machine that loses power, sees the old file or the new one and never half of it. On an error the
/// sibling is removed and whatever was at `path` stays.
pub fn atomic_write<T>(path: &Path, write: impl FnOnce(&mut AtomicFile) -> Result<T>) -> Result<T> {
    let in_file = |error: Error| error.in_file(path.display());
    let (sibling, file) = create_sibling(path).map_err(|error| in_file(advise(error)))?;
    let mut file = BufWriter::new(file);
    let written = write(&mut file).and_then(|value| {
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&sibling, path)?;
        Ok(value)
    });
    match written {
        Ok(value) => {
            sync_folder(folder_of(path)).map_err(|error| in_file(error.into()))?;
            Ok(value)
        }
        Err(error) => {
            // What remains in the buffer must not be written to the file that is about to go.
            drop(file.into_parts());
            // The write has failed already; that the sibling cannot be removed either is not worth a second error.
            let _ = fs::remove_file(&sibling);
            Err(in_file(match error.problem() {
                Problem::Io(io) if error.advice().is_none() => {
                    let advice = way_out(io.kind());
                    if advice.is_empty() { error } else { error.way_out(advice) }
                }
                _ => error,
            }))
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file in the same folder, since a rename does not cross file systems. Never an existing one.
fn create_sibling(path: &Path) -> std::io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| std::io::Error::new(ErrorKind::InvalidInput, "not a file name"))?;
    loop {
        let mut sibling = std::ffi::OsString::from(".");
        sibling.push(name);
        sibling.push(format!(".{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let sibling = folder_of(path).join(sibling);
        match OpenOptions::new().write(true).create_new(true).open(&sibling) {
            Ok(file) => return Ok((sibling, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file, and the rename is as durable as the system makes it.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

fn advise(error: std::io::Error) -> Error {
    let advice = way_out(error.kind());
    let error = Error::from(error);
    if advice.is_empty() { error } else { error.way_out(advice) }
}

fn way_out(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "choose a folder that can be written to",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space or choose another folder",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make the folder first",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        for text in ["old", "new"] {
            atomic_write(&path, |file| Ok(file.write_all(text.as_bytes())?)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_sibling() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let failed: Result<()> = atomic_write(&path, |file| {
            file.write_all(&[0; 100_000])?;
            Err(Error::from(std::io::Error::from(ErrorKind::StorageFull)))
        });
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("out.txt") && message.contains("free some space"), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/out.txt");
        let message = atomic_write(&path, |_| Ok(())).unwrap_err().to_string();
        assert!(message.contains("no/out.txt") && message.contains("make the folder first"), "{message}");
        assert!(atomic_write(Path::new(".."), |_| Ok(())).is_err());
    }
}
