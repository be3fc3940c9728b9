//! One writer at a time in a folder, and what writers that were killed have left there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The file that is locked. It stays when the lock goes: removing it would let two writers lock two files of this name.
const LOCK_FILE: &str = ".lock";

/// The right to write into a folder. The operating system takes it back when the process ends, however it ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the lock of an existing folder; `None` if somebody else has it. On a file system that has no locks it is
    /// granted to everyone: a folder there must stay usable.
    pub fn take(folder: &Path) -> io::Result<Option<Self>> {
        // Not truncated: nothing is ever written to it.
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(LOCK_FILE))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            _ => Ok(Some(FolderLock { _file: file })),
        }
    }
}

/// Whether a folder has been locked before.
pub fn has_lock_file(folder: &Path) -> bool {
    folder.join(LOCK_FILE).is_file()
}

/// Whether a folder holds nothing but its lock and what killed writers have left.
pub fn is_unused(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name != LOCK_FILE && !is_sibling(&name.to_string_lossy()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the temporary siblings that killed writers have left in a folder. Those of living writers are locked
/// ([`write_atomically`](crate::files::write_atomically) sees to that) and stay.
pub fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_sibling(&entry.file_name().to_string_lossy()) || !entry.file_type()?.is_file() {
            continue;
        }
        match OpenOptions::new().write(true).open(entry.path()) {
            // The lock is held while the file is removed, so that no writer takes it up in between.
            Ok(file) if file.try_lock().is_ok() => fs::remove_file(entry.path())?,
            // Written to by somebody else, or whole and renamed by now.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a file has the name of a temporary sibling: `.NAME.PROCESS-COUNT.part`.
fn is_sibling(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = name.strip_prefix('.').and_then(|name| name.strip_suffix(".part"));
    numbered.and_then(|name| name.rsplit_once('.')).is_some_and(|(name, numbers)| {
        !name.is_empty() && numbers.split_once('-').is_some_and(|(process, count)| digits(process) && digits(count))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::files::write_atomically;

    #[test]
    fn one_at_a_time_has_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_lock_file(folder.path()));
        let lock = FolderLock::take(folder.path()).unwrap();
        assert!(lock.is_some() && has_lock_file(folder.path()));
        assert!(FolderLock::take(folder.path()).unwrap().is_none());
        drop(lock);
        assert!(FolderLock::take(folder.path()).unwrap().is_some());
        assert!(is_unused(folder.path()).unwrap());
    }

    #[test]
    fn leftovers_go_and_the_files_of_living_writers_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let leftover = ".model.safetensors.4711-3.part";
        let others =
            [".part", ".x.part", "x.4711-3.part", ".x.4711-3.parts", "..4711-3.part", ".x.a-3.part", ".x.-3.part"];
        for name in others.iter().chain(&[leftover]) {
            fs::write(path(name), "").unwrap();
        }
        write_atomically(&path("out.txt"), |file| {
            file.write_all(b"half")?;
            remove_leftovers(folder.path())?;
            file.write_all(b" and half")
        })
        .unwrap();
        assert_eq!(fs::read_to_string(path("out.txt")).unwrap(), "half and half");
        assert!(!path(leftover).exists());
        assert!(others.iter().all(|name| path(name).exists()));
        assert!(!is_unused(folder.path()).unwrap());
    }
}
