//! `--method` and `--transition`, as a user runs them.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

mod common;

use std::fs;

use common::{json, refuse, succeed, write_table};
use serde_json::Value;

const CUSTOMERS: [&str; 4] = ["customers.csv", "--label", "churned", "--no-base"];

fn accuracy(summary: &Value) -> f64 {
    let metrics = summary["arms"][0]["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == "accuracy").unwrap()["value"].as_f64().unwrap()
}

#[test]
fn every_method_that_is_listed_trains_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("customers.csv"), 300);
    fs::write(folder.path().join("T.csv"), ",yes,no\nno,0.05,0.95\nyes,0.95,0.05\n").unwrap();
    let listed = json(folder.path(), &["methods"]);
    let text = succeed(folder.path(), &["methods"]);
    for method in listed["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        assert!(text.contains(&format!("\n{name}")) && text.contains(method["idea"].as_str().unwrap()), "{name}");
        let mut arguments = [&["fit"], &CUSTOMERS[..], &["--method", name, "--epochs", "30"]].concat();
        if method["needs"].as_str().unwrap().contains("transition matrix") {
            arguments.extend(["--transition", "T.csv"]);
        }
        if name == "ldam" {
            arguments.extend(["--model", "cosine", "--learning-rate", "0.03"]);
        }
        let summary = json(folder.path(), &arguments);
        assert!(accuracy(&summary) > 0.8, "{name}: {summary}");
        let settings = fs::read_to_string(folder.path().join(summary["run"].as_str().unwrap()).join("config.toml"));
        assert!(settings.unwrap().contains(&format!("name = \"{name}\"")), "{name}");
    }
}

#[test]
fn a_misspelt_method_is_refused_with_the_one_that_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (vec!["fit", "digits", "--method", "forwrad"], "unknown method 'forwrad', did you mean 'forward'?"),
        (vec!["fit", "digits", "--loss", "cors:0.1"], "unknown method 'cors', did you mean 'cores'?"),
        (
            vec!["tune", "digits", "--methods", "gce,bootstrap_sof"],
            "unknown method 'bootstrap_sof', did you mean 'bootstrap-soft'?",
        ),
        (vec!["fit", "digits", "--method", "noise2noise"], "unknown method 'noise2noise' (`cmrm methods` lists all)"),
        (vec!["fit", "digits", "--method", "lnl:0.2"], "the loss lnl takes no parameter"),
        (
            vec!["fit", "digits", "--model", "linear", "--optimiser", "lbfgs", "--method", "bootstrap-soft"],
            "bootstrap-soft is not supported by L-BFGS",
        ),
    ] {
        let message = refuse(folder.path(), &arguments);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_transition_matrix_is_estimated_shown_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let fit = ["fit", "digits", "--noise", "symmetric:0.3", "--model", "linear", "--method", "forward", "--out", "run"];
    let summary = json(path, &fit);
    let found = &summary["transition"];
    assert_eq!(found["estimated"], true);
    assert_eq!(found["rows"].as_array().unwrap().len(), 10);
    for kept in found["kept"].as_array().unwrap() {
        assert!((kept.as_f64().unwrap() - 0.7).abs() < 0.06, "{found}");
    }
    assert!(accuracy(&summary) > 0.85, "{summary}");
    // What it says of the noise speaks of the labels, though the model speaks of true classes.
    assert!((summary["noise"]["rate"].as_f64().unwrap() - 0.3).abs() < 0.08, "{}", summary["noise"]);
    assert!(succeed(path, &["report", "run"]).contains("Transition matrix (estimated from the labels)"));

    // Given what was found, the same comes out.
    let again = json(path, &["fit", "--config", "run/config.toml", "--out", "again"]);
    assert_eq!(again["arms"], summary["arms"]);
    assert_eq!(again["transition"], *found);
    // A finished run is the one that was asked for.
    assert_eq!(json(path, &[&fit[..], &["--resume"]].concat())["arms"], summary["arms"]);
}

#[test]
fn a_transition_matrix_is_read_and_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_table(&path.join("customers.csv"), 200);
    let fit = [&["fit"], &CUSTOMERS[..], &["--epochs", "5", "--method", "lnl", "--transition", "T.csv"]].concat();
    let missing = refuse(path, &fit);
    assert!(missing.contains("T.csv"), "{missing}");
    fs::write(path.join("T.csv"), ",no,yes\nno,0.9,0.2\nyes,0.3,0.7\n").unwrap();
    let message = refuse(path, &fit);
    assert!(message.contains("T.csv") && message.contains("row 2 (class 'no') sums to 1.1"), "{message}");
    fs::write(path.join("T.csv"), "0.9,0.1\n0.3,0.7\n").unwrap();
    let summary = json(path, &fit);
    assert_eq!(summary["transition"]["estimated"], false);
    assert_eq!(summary["transition"]["rows"], serde_json::json!([[0.9, 0.1], [0.3, 0.7]]));
    assert_eq!(summary["transition"]["confusions"][0], serde_json::json!(["yes", "no", 0.3]));
    // A run keeps the matrix that it began with, whatever becomes of the file.
    let run = summary["run"].as_str().unwrap();
    fs::remove_file(path.join("T.csv")).unwrap();
    assert_eq!(json(path, &[&fit[..], &["--out", run, "--resume"]].concat())["arms"], summary["arms"]);
    fs::write(path.join("three.toml"), "data = \"customers.csv\"\nlabel = \"churned\"\nloss.name = \"forward\"\ntransition = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n").unwrap();
    let message = refuse(path, &["fit", "--config", "three.toml"]);
    assert!(message.contains("the transition matrix has 3 classes, the data has 2"), "{message}");
    fs::write(path.join("sums.toml"), "data = \"customers.csv\"\ntransition = [[1, 0.5], [0, 1]]\n").unwrap();
    let message = refuse(path, &["fit", "--config", "sums.toml"]);
    assert!(message.contains("sums.toml") && message.contains("row 0 sums to 1.5"), "{message}");
}

#[test]
fn a_search_tries_methods_with_one_estimate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let search = [
        "tune",
        "breast-cancer",
        "--noise",
        "binary-flip:0.2",
        "--model",
        "linear",
        "--methods",
        "cross-entropy,forward",
    ];
    let more = [
        "--presets",
        "robust",
        "--lambdas",
        "1",
        "--alphas",
        "0.5",
        "--temperatures",
        "0.2",
        "--folds",
        "2",
        "--out",
        "search",
    ];
    let found = json(path, &[&search[..], &more].concat());
    let trials = fs::read_to_string(path.join("search/trials.jsonl")).unwrap();
    assert!(trials.contains("forward") && trials.contains("cross-entropy"), "{trials}");
    let best = fs::read_to_string(path.join("search/best.toml")).unwrap();
    // Only a method that reads the matrix takes it along.
    assert_eq!(best.contains("estimated = "), best.contains("name = \"forward\""), "{best}");
    assert!(found["trials"].as_u64().unwrap() > 0);
}
