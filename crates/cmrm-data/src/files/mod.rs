//! Files that are either written whole or not at all, the one way the project writes a file; folders that one process at
//! a time writes into; and [`text`] from data, made safe for people.

pub mod text;

mod checksum;
mod lock;
mod named;

pub use checksum::{checksum, checksum_of_file};
pub use lock::{FolderLock, has_lock_file, is_unused, remove_leftovers};
pub use named::{AtomicFile, atomic_write};

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `path` through a temporary sibling that is synced and renamed over it, then syncs the folder: a reader, or a
/// machine that loses power, sees the old file or the new one and never half of it. On an error the sibling is removed
/// and whatever was at `path` stays.
pub fn write_atomically<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, E>,
) -> Result<T, E> {
    let (sibling, file) = create_sibling(path)?;
    let mut file = BufWriter::new(file);
    let written = write(&mut file).and_then(|value| {
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&sibling, path)?;
        Ok(value)
    });
    match written {
        Ok(value) => {
            sync_folder(folder_of(path))?;
            Ok(value)
        }
        Err(error) => {
            // What remains in the buffer must not be written to the file that is about to go.
            drop(file.into_parts());
            // The write has failed already; that the sibling cannot be removed either is not worth a second error.
            let _ = fs::remove_file(&sibling);
            Err(error)
        }
    }
}

/// What to do about a file that could not be read, in words; empty where there is no advice to give.
pub fn way_out_of_reading(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "check the name",
        ErrorKind::PermissionDenied => "make the file readable",
        ErrorKind::IsADirectory => "name a file, not a folder",
        _ => "",
    }
}

/// What to do about a file or folder that could not be written, in words; empty where there is no advice to give.
pub fn way_out_of_writing(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "choose a folder that can be written to",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space or choose another folder",
        ErrorKind::FileTooLarge => "raise the limit on the size of files (ulimit -f) or choose another folder",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make the folder first",
        _ => "",
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file in the same folder, since a rename does not cross file systems. Never an existing one.
fn create_sibling(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "not a file name"))?;
    loop {
        let mut sibling = std::ffi::OsString::from(".");
        sibling.push(name);
        sibling.push(format!(".{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let sibling = folder_of(path).join(sibling);
        match OpenOptions::new().write(true).create_new(true).open(&sibling) {
            // The lock says that the writer lives: `remove_leftovers` lets the file be. One that it met before the lock
            // was there is gone, or about to go. Where there are no locks, nothing is removed either.
            Ok(file) => match file.try_lock() {
                Err(TryLockError::WouldBlock) => {}
                _ if sibling.exists() => return Ok((sibling, file)),
                _ => {}
            },
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file, and the rename is as durable as the system makes it.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        for text in ["old", "new"] {
            write_atomically(&path, |file| file.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_sibling() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        fs::write(&path, "old").unwrap();
        let failed: io::Result<()> = write_atomically(&path, |file| {
            file.write_all(&[0; 100_000])?;
            Err(io::Error::from(ErrorKind::StorageFull))
        });
        assert_eq!(way_out_of_writing(failed.unwrap_err().kind()), "free some space or choose another folder");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_and_a_path_without_a_name_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let missing = write_atomically(&folder.path().join("no/out.txt"), |_| io::Result::Ok(()));
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
        assert!(write_atomically(Path::new(".."), |_| io::Result::Ok(())).is_err());
    }
}
