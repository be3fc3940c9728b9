//! The command as a test runs it.
#![allow(dead_code)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

pub fn cmrm(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cmrm")).current_dir(folder).args(args).output().unwrap()
}

pub fn json(folder: &Path, args: &[&str]) -> Value {
    let output = cmrm(folder, &[args, &["--json", "--quiet"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub fn refused(folder: &Path, args: &[&str]) -> String {
    let output = cmrm(folder, args);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {words}");
    words
}
