//! Running the command in a folder of its own.
#![allow(dead_code)]

pub mod review;
pub mod serving;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `cmrm` in `folder`.
pub fn cmrm(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cmrm")).args(arguments).current_dir(folder).output().unwrap()
}

/// Makes a run what it would be in format 1, without checksums: what is then changed in it is not noticed as such.
pub fn unseal(run: &Path) {
    let file = run.join("run.json");
    let mut info: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let fields = info.as_object_mut().unwrap();
    for name in ["files", "checksum", "data_root"] {
        fields.remove(name);
    }
    fields.insert("format".into(), 1.into());
    std::fs::write(&file, serde_json::to_string_pretty(&info).unwrap()).unwrap();
}

/// Runs it, insists on success, and gives standard output.
pub fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = cmrm(folder, arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cmrm {arguments:?} gave {}:\n{words}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Runs it with `--json`, insists on success, and gives the object.
pub fn json(folder: &Path, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&succeed(folder, &[arguments, &["--json", "--quiet"]].concat())).unwrap()
}

/// Runs it, insists on exit code 2 and an empty standard output, and gives standard error.
pub fn refuse(folder: &Path, arguments: &[&str]) -> String {
    let output = cmrm(folder, arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "cmrm {arguments:?}:\n{words}");
    // With `--json` the error is an object there.
    let silent = output.stdout.is_empty() || arguments.contains(&"--json");
    assert!(silent, "cmrm {arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    words
}

/// A small table with numbers, a category and a yes/no label that depends on them.
pub fn write_table(path: &Path, rows: usize) {
    let mut text = String::from("age,plan,visits,churned\n");
    for i in 0..rows {
        let (age, visits) = (20 + (i * 7) % 50, (i * 13) % 30);
        let plan = ["free", "basic", "gold"][i % 3];
        let churned = if age + 2 * visits + 10 * (i % 3) > 75 { "yes" } else { "no" };
        text += &format!("{age},{plan},{visits},{churned}\n");
    }
    std::fs::write(path, text).unwrap();
}
