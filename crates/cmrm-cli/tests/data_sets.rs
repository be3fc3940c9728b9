//! `cmrm data`, offline.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn data(cache: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cmrm")).arg("data").args(args).arg("--cache").arg(cache).output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_list_names_every_set_with_its_licence_and_state() {
    let cache = tempfile::tempdir().unwrap();
    let output = data(cache.path(), &["list", "--json"]);
    assert!(output.status.success(), "{}", words(&output));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list["schema"], "cmrm/data-list/1");
    let sets = list["datasets"].as_array().unwrap();
    let state = |name: &str| sets.iter().find(|set| set["name"] == name).unwrap()["state"]["kind"].clone();
    assert_eq!(
        (state("digits"), state("adult"), state("cifar-10n")),
        ("embedded".into(), "absent".into(), "absent".into())
    );
    assert!(
        sets.iter()
            .all(|set| !set["licence"].as_str().unwrap().is_empty() && !set["citation"].as_str().unwrap().is_empty())
    );
    let text = data(cache.path(), &["list"]);
    assert_eq!(String::from_utf8_lossy(&text.stdout).lines().count(), sets.len() + 3);
}

#[test]
fn an_embedded_set_needs_no_fetching() {
    let cache = tempfile::tempdir().unwrap();
    let output = data(cache.path(), &["fetch", "digits"]);
    assert!(output.status.success(), "{}", words(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("digits: built in"));
    assert!(words(&output).contains("licence: CC BY 4.0") && words(&output).contains("cite: Alpaydin"));
}

#[test]
fn a_folder_without_the_right_files_is_refused_and_nothing_placed() {
    let (cache, from) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = from.path().to_str().unwrap();
    let output = data(cache.path(), &["fetch", "spambase", "--from", folder]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        words(&output).contains("spambase.data") && words(&output).contains("add one of them"),
        "{}",
        words(&output)
    );
    fs::write(from.path().join("spambase.data"), "0,0,1\n").unwrap();
    let output = data(cache.path(), &["fetch", "spambase", "--from", folder]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("expected") && words(&output).contains("nothing was cached"), "{}", words(&output));
    let output = data(cache.path(), &["verify", "spambase", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let verified: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(verified["files"].as_array().unwrap().iter().any(|file| file["outcome"] == "missing"));
}

#[test]
fn names_and_folders_that_are_not_there_are_refused() {
    let cache = tempfile::tempdir().unwrap();
    let output = data(cache.path(), &["fetch", "spambas"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("did you mean 'spambase'?"), "{}", words(&output));
    let output = data(cache.path(), &["fetch", "adult", "--from", "no/such/folder"]);
    assert!(output.status.code() == Some(2) && words(&output).contains("no/such/folder: not a folder"));
    let output = data(cache.path(), &["verify"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("no downloaded data sets"));
}
