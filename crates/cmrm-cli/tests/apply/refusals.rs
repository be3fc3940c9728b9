//! What `predict` and `evaluate` refuse beyond the table in `tests/bad_input`.

use crate::run::{copy, refuse, run, write};

fn check(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
}

fn on(text: &str, name: &str, more: &[&str]) -> String {
    let run = run();
    write(&run.path(name), text);
    refuse(&[&["predict", &run.name("run"), &run.name(name), "--quiet"], more].concat())
}

#[test]
fn no_calibration_rows() {
    let (folder, name) = copy();
    crate::common::unseal(folder.path());
    std::fs::remove_file(folder.path().join("calibration.safetensors")).unwrap();
    let message = refuse(&["predict", &name, &run().name("test.csv"), "--coverage", "0.9", "--quiet"]);
    check(&message, &["calibration.safetensors: missing", "--validation-share", "leave out --coverage"]);
}

#[test]
fn labels_that_are_not_there() {
    let run = run();
    let (folder, test) = (run.name("run"), run.name("test.csv"));
    // The run knows the name of the column, but the data may lack it.
    let bare = std::fs::read_to_string(run.path("test.csv")).unwrap().replacen("label", "kind", 1);
    write(&run.path("bare.csv"), &bare);
    let message = refuse(&["evaluate", &folder, &run.name("bare.csv"), "--quiet"]);
    check(&message, &["bare.csv", "no labels", "--label"]);
    write(&run.path("short.csv"), "y\ncat\n");
    let message = refuse(&["evaluate", &folder, &test, "--labels", &run.name("short.csv"), "--quiet"]);
    check(&message, &["short.csv", "1 labels for the 90 rows"]);
}

#[test]
fn wishes_that_cannot_be_granted() {
    let run = run();
    let (folder, test) = (run.name("run"), run.name("test.csv"));
    let predict = |more: &[&str]| refuse(&[&["predict", &folder, &test, "--quiet"], more].concat());
    check(&predict(&["--arm", "robsut"]), &["no arm 'robsut', did you mean 'robust'?", "base, robust"]);
    check(&predict(&["--coverage", "1.5"]), &["coverage", "1.5", "between 0 and 1"]);
    check(&predict(&["--score", "lca", "--coverage", "0.9"]), &["unknown score 'lca'"]);
    check(&predict(&["--out", "x.xlsx"]), &["x.xlsx", ".parquet"]);
    check(&predict(&["--out", "x.npy", "--coverage", "0.9"]), &["without prediction sets", "leave out --coverage"]);
    let nowhere = run.name("nowhere/x.csv");
    check(&predict(&["--out", &nowhere]), &[&nowhere, "make the folder first"]);
}

#[test]
fn a_failed_prediction_leaves_the_old_file_alone() {
    let run = run();
    write(&run.path("kept.csv"), "old");
    on("a,b,c,d\n1,2,3,4\n1,2,nan,4\n", "late.csv", &["--out", &run.name("kept.csv")]);
    assert_eq!(std::fs::read_to_string(run.path("kept.csv")).unwrap(), "old");
}
