//! Bad input: exit code 2, and a message with the place and the way out.

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
fn features_that_do_not_match_the_model_s() {
    check(&on("a,b,c\n1,2,3\n", "three.csv", &[]), &["three.csv", "1 of the model's columns missing: 'd'"]);
    check(&on("a,b,c,d\n1,2,3,4\n1,x,3,4\n", "word.csv", &[]), &["word.csv", "row 1", "'b'", "'x'"]);
    check(&on("a,b,c,d\n1,2,3,4\n1,,3,4\n", "gap-cell.csv", &[]), &["gap-cell.csv", "row 1", "'b'", "missing"]);
    check(&on("a,b,c,d\n1,2,3,4\n1,2,inf,4\n", "infinite.csv", &[]), &["infinite.csv", "row 1", "'c'", "inf"]);
    check(&on("a,b,c,d\n1,2,3,4\n1,2\n", "ragged.csv", &[]), &["ragged.csv", "row 1", "2 cells where 4"]);
    let run = run();
    let mut writer = cmrm_data::write::NpyWriter::new(std::fs::File::create(run.path("wide.npy")).unwrap(), 5).unwrap();
    writer.write(&[0.0; 10]).unwrap();
    writer.finish().unwrap();
    let message = refuse(&["predict", &run.name("run"), &run.name("wide.npy"), "--quiet"]);
    check(&message, &["wide.npy", "expected 4, found 5"]);
}

#[test]
fn a_run_of_another_format_version() {
    let (folder, name) = copy();
    let path = folder.path().join("run.json");
    let stored = std::fs::read_to_string(&path).unwrap();
    write(&path, &stored.replace("\"format\": 1", "\"format\": 7"));
    let test = run().name("test.csv");
    for verb in [&["predict", &name, &test][..], &["evaluate", &name, &test, "--label", "label"], &["report", &name]] {
        check(&refuse(verb), &[&name, "format 7, this version reads 1", "fit again"]);
    }
}

#[test]
fn files_of_another_run() {
    let (folder, name) = copy();
    let path = folder.path().join("run.json");
    let stored = std::fs::read_to_string(&path).unwrap();
    write(&path, &stored.replace("\"dog\"", "\"dog\",\n    \"eel\""));
    check(&refuse(&["predict", &name, &run().name("test.csv")]), &["model.safetensors", "3 classes", "4", "fit again"]);
}

#[test]
fn no_calibration_rows() {
    let (folder, name) = copy();
    std::fs::remove_file(folder.path().join("calibration.safetensors")).unwrap();
    let message = refuse(&["predict", &name, &run().name("test.csv"), "--coverage", "0.9", "--quiet"]);
    check(&message, &["calibration.safetensors: missing", "--validation-share", "leave --coverage out"]);
}

#[test]
fn a_damaged_or_absent_model() {
    let (folder, name) = copy();
    let path = folder.path().join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    check(&refuse(&["predict", &name, &run().name("test.csv")]), &["model.safetensors"]);
    check(&refuse(&["predict", "no-such-run", &run().name("test.csv")]), &["no-such-run", "not a folder", "cmrm fit"]);
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    check(&refuse(&["report", empty]), &["run.json: missing", "--resume"]);
}

#[test]
fn a_wrong_label_column_and_unknown_labels() {
    let run = run();
    let (folder, test) = (run.name("run"), run.name("test.csv"));
    let message = refuse(&["evaluate", &folder, &test, "--label", "lable", "--quiet"]);
    check(&message, &["test.csv", "no column 'lable', did you mean 'label'?"]);
    check(&refuse(&["evaluate", &folder, &test, "--quiet"]), &["test.csv", "no labels", "--label"]);
    write(&run.path("typo.csv"), "a,b,c,d,label\n1,2,3,4,cat\n1,2,3,4,dgo\n");
    let message = refuse(&["evaluate", &folder, &run.name("typo.csv"), "--label", "label", "--quiet"]);
    check(&message, &["typo.csv, row 1", "'label'", "'dgo'", "did you mean 'dog'?"]);
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
    check(&predict(&["--coverage", "1.5"]), &["coverage", "1.5", "below 1"]);
    check(&predict(&["--score", "lca", "--coverage", "0.9"]), &["unknown score 'lca'"]);
    check(&predict(&["--out", "x.xlsx"]), &["x.xlsx", ".parquet"]);
    check(&predict(&["--out", "x.npy", "--coverage", "0.9"]), &["no prediction sets", "leave --coverage out"]);
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
