//! `cmrm tune` and `cmrm fit --auto`, as a user runs them.

mod common;

use std::fs;
use std::path::Path;

use common::{refuse, succeed, write_table};
use serde_json::Value;

const QUICK: [&str; 8] = ["--hidden", "16", "--epochs", "12", "--epoch-counts", "12", "--losses", "cross-entropy"];

fn tune(folder: &Path, more: &[&str]) -> Value {
    let arguments = [&["tune", "--json", "--quiet"], more, &QUICK[..]].concat();
    serde_json::from_str(&succeed(folder, &arguments)).unwrap()
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

#[test]
fn a_search_ends_in_settings_that_fit_takes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags =
        ["digits", "--noise", "symmetric:0.4", "--learning-rates", "0.001,0.01", "--folds", "3", "--out", "search"];
    let found = tune(path, &flags);
    assert_eq!(found["schema"], "cmrm/tune/1");
    assert_eq!(found["by_criterion"].as_array().unwrap().len(), 5);
    // Twelve short epochs at the lower rate have learned little: the search sees that without a clean label.
    assert!(found["chosen"]["setting"].as_str().unwrap().contains("rate 0.01"), "{found}");
    let toml = read(path, "search/best.toml");
    assert!(toml.contains("learning-rate = 0.01"), "{toml}");
    let trials = read(path, "search/trials.jsonl");
    assert_eq!(trials.lines().count() as u64, found["trials"].as_u64().unwrap());
    for line in trials.lines() {
        let trial: Value = serde_json::from_str(line).unwrap();
        assert!(trial["values"]["lambda"].is_number() && trial["verdict"]["observed"].is_number(), "{line}");
    }
    assert!(read(path, "search/report.md").contains("Choice of each criterion"));
    let fitted = succeed(path, &["fit", "--config", "search/best.toml", "--json", "--quiet", "--out", "run"]);
    let fitted: Value = serde_json::from_str(&fitted).unwrap();
    assert_eq!(fitted["judged_by"], "clean");
    assert_eq!(read(path, "run/config.toml"), toml);
}

#[test]
fn a_search_that_goes_on_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags = ["breast-cancer", "--noise", "binary-flip:0.3", "--lambdas", "1,5", "--folds", "3", "--out", "search"];
    let whole = tune(path, &flags);
    let trials = read(path, "search/trials.jsonl");
    let first_fold: String =
        trials.lines().filter(|line| line.contains("\"fold\":0")).map(|line| line.to_owned() + "\n").collect();
    assert!(first_fold.len() < trials.len());
    fs::write(path.join("search/trials.jsonl"), first_fold).unwrap();
    fs::remove_file(path.join("search/best.toml")).unwrap();
    // The folder knows settings and lists; nothing has to be said again.
    let resumed = succeed(path, &["tune", "--resume", "--out", "search", "--json", "--quiet"]);
    assert_eq!(serde_json::from_str::<Value>(&resumed).unwrap(), whole);
    assert_eq!(read(path, "search/trials.jsonl"), trials);
    assert!(path.join("search/best.toml").is_file());

    let words = refuse(path, &["tune", "--resume", "--out", "search", "--folds", "3", "--lambdas", "2"]);
    assert!(words.contains("other settings"), "{words}");
    let words = refuse(path, &["tune", "breast-cancer", "--out", "search"]);
    assert!(words.contains("not empty"), "{words}");
}

/// Labels of the rows in a test file change nothing.
#[test]
fn poisoned_test_labels_change_no_trial() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [honest, poisoned] = folders.each_ref().map(|folder| folder.path());
    for path in [honest, poisoned] {
        write_table(&path.join("train.csv"), 300);
    }
    write_table(&honest.join("test.csv"), 60);
    let text = read(honest, "test.csv");
    fs::write(poisoned.join("test.csv"), text.replace(",yes", ",NO").replace(",no", ",yes").replace(",NO", ",no"))
        .unwrap();
    assert_ne!(text, read(poisoned, "test.csv"));
    let flags = ["train.csv", "--label", "churned", "--test", "test.csv", "--folds", "2", "--out", "search"];
    assert_eq!(tune(honest, &flags), tune(poisoned, &flags));
    for file in ["search/trials.jsonl", "search/best.toml"] {
        assert_eq!(read(honest, file), read(poisoned, file), "{file}");
    }
    // The settings that are written still name the test file, for `fit` to judge by.
    assert!(read(honest, "search/best.toml").contains("test = \"test.csv\""));
}

#[test]
fn auto_searches_then_fits_with_what_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags = ["--noise", "symmetric:0.4", "--epochs", "12", "--hidden", "32", "--learning-rate", "0.01"];
    let run = |more: &[&str]| {
        let summary = succeed(path, &[&["fit", "digits", "--json", "--quiet"], more, &flags[..]].concat());
        serde_json::from_str::<Value>(&summary).unwrap()
    };
    let accuracy = |summary: &Value| summary["arms"][1]["metrics"][0]["value"].as_f64().unwrap();
    let auto = run(&["--auto", "--out", "auto"]);
    // A second search finds the same, and the run's settings say what it was.
    assert_eq!(run(&["--auto", "--out", "again"])["arms"], auto["arms"]);
    let again = succeed(path, &["fit", "--config", "auto/config.toml", "--json", "--quiet", "--out", "by-config"]);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["arms"], auto["arms"]);
    assert!(accuracy(&auto) >= accuracy(&run(&["--out", "plain"])) - 0.02);
}

#[test]
fn what_cannot_be_searched_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    assert!(refuse(path, &["tune", "digits", "--patience", "3"]).contains("leave out --patience"));
    assert!(refuse(path, &["tune", "digits", "--auto"]).contains("cmrm fit"));
    assert!(refuse(path, &["tune", "digits", "--hold-out", "0.3"]).contains("add --folds 1"));
    assert!(refuse(path, &["tune", "digits", "--lambdas=-1"]).contains("lambda"));
    assert!(refuse(path, &["tune", "digits", "--criterion", "luck"]).contains("expected observed"));
    let listed = succeed(path, &["tune", "digits", "--dry-run", "--lambdas", "1,2", "--presets", "robust"]);
    assert!(listed.lines().count() > 4 && listed.contains("base, cross-entropy"), "{listed}");
}
