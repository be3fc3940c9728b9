//! The folder of a run: killed writers, resumed runs, several processes at once.

#[path = "../common/mod.rs"]
mod common;
mod kill;
mod lock;
mod resume;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Every file under a folder, byte for byte.
fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        for entry in std::fs::read_dir(inside).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The same of a run, but where it stood: two runs in two folders differ in that alone, and so in the checksum of `run.json`.
fn anywhere(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = bytes_of(run);
    let text = found.get_mut(Path::new("run.json")).unwrap();
    let mut info: serde_json::Value = serde_json::from_slice(text).unwrap();
    let fields = info.as_object_mut().unwrap();
    assert!(fields.remove("data_root").is_some() && fields.remove("checksum").is_some());
    *text = info.to_string().into_bytes();
    found
}

/// Insists on the same files with the same bytes, and says which differ.
fn assert_same(one: &BTreeMap<PathBuf, Vec<u8>>, other: &BTreeMap<PathBuf, Vec<u8>>, about: &str) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "{about}");
    for (path, bytes) in one {
        assert!(*bytes == other[path], "{about}: {} differs", path.display());
    }
}

/// Starts the command and does not wait for it.
fn start(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cmrm"))
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a file is there.
fn wait_for(path: &Path) {
    let started = Instant::now();
    while !path.exists() {
        assert!(started.elapsed() < Duration::from_secs(120), "{} never came", path.display());
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Ends a process without a chance to tidy up.
fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}
