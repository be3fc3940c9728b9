//! `cmrm evaluate` and `cmrm report`.

use serde_json::Value;

use crate::run::{CLASSES, cells, copy, features, run, succeed, text, write};

fn evaluate(more: &[&str]) -> Value {
    let run = run();
    let args = ["evaluate", &run.name("run"), &run.name("test.csv"), "--json", "--quiet"];
    serde_json::from_slice(&succeed(&[&args[..], more].concat()).stdout).unwrap()
}

#[test]
fn stored_models_measure_what_the_fit_measured_in_memory() {
    let found = evaluate(&["--label", "label", "--seed", "1"]);
    let fitted: Value =
        serde_json::from_str(&std::fs::read_to_string(run().path("run/summary.json")).unwrap()).unwrap();
    assert_eq!(found["schema"], "cmrm/evaluate/1");
    assert_eq!(found["difference"], fitted["difference"]);
    for (found, fitted) in found["arms"].as_array().unwrap().iter().zip(fitted["arms"].as_array().unwrap()) {
        assert_eq!(found["name"], fitted["name"]);
        assert_eq!(found["metrics"], fitted["metrics"]);
        for number in ["coverage", "mean_size"] {
            assert_eq!(found["sets"][number], fitted["sets"][number], "{}", found["name"]);
        }
    }
    assert!(found["labels"].as_str().unwrap().contains("column 'label'"));
}

#[test]
fn accuracy_is_that_of_the_predictions() {
    let run = run();
    for arm in ["base", "robust"] {
        let found = evaluate(&["--label", "label", "--arm", arm]);
        let arms = found["arms"].as_array().unwrap();
        assert_eq!((arms.len(), &found["difference"]), (1, &Value::Null));
        let args = ["predict", &run.name("run"), &run.name("test.csv"), "--label", "label", "--arm", arm];
        let rows = cells(&text(&succeed(&args).stdout));
        // The run knows the column of row IDs.
        assert_eq!(rows[0][..4], ["row", "id", "given_label", "predicted_label"]);
        let right = rows[1..].iter().filter(|row| row[2] == row[3]).count();
        assert_eq!(arms[0]["metrics"][0]["name"], "accuracy");
        assert_eq!(arms[0]["metrics"][0]["value"].as_f64().unwrap(), right as f64 / 90.0);
        for class in arms[0]["per_class"].as_array().unwrap() {
            let name = class["class"].as_str().unwrap();
            let given = rows[1..].iter().filter(|row| row[2] == name);
            let (all, right) = (given.clone().count(), given.filter(|row| row[2] == row[3]).count());
            assert_eq!(class["rows"].as_u64().unwrap() as usize, all);
            assert_eq!(class["recall"].as_f64().unwrap(), right as f64 / all as f64);
        }
    }
}

#[test]
fn labels_may_have_a_file_of_their_own_and_gaps() {
    let run = run();
    let (_, labels) = features(90, 2);
    let lines = |gap: bool| {
        let cell = |(i, k): (usize, &usize)| if gap && i == 7 { "NA" } else { CLASSES[*k] };
        format!("y\n{}\n", labels.iter().enumerate().map(cell).collect::<Vec<_>>().join("\n"))
    };
    write(&run.path("y.csv"), &lines(false));
    let separate = evaluate(&["--labels", &run.name("y.csv")]);
    let column = evaluate(&["--label", "label"]);
    assert_eq!(separate["arms"], column["arms"]);
    assert!(separate["labels"].as_str().unwrap().contains("y.csv"));
    write(&run.path("gap.csv"), &lines(true));
    let gap = evaluate(&["--labels", &run.name("gap.csv"), "--hold-out-unlabelled"]);
    assert_eq!((gap["rows"].as_u64(), gap["unlabelled_rows"].as_u64()), (Some(89), Some(1)));
    let message = crate::run::refuse(&[
        "evaluate",
        &run.name("run"),
        &run.name("test.csv"),
        "--labels",
        &run.name("gap.csv"),
        "--quiet",
    ]);
    assert!(message.contains("gap.csv, row 7") && message.contains("label is missing"), "{message}");
}

#[test]
fn the_table_says_which_labels_were_used() {
    let run = run();
    let output = succeed(&["evaluate", &run.name("run"), &run.name("test.csv"), "--label", "label"]);
    let words = text(&output.stdout);
    for part in ["90 rows", "labels from column 'label'", "accuracy", "Envelope minus base", "By class, robust", "a|b"]
    {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(text(&output.stderr).contains("observed labels"));
}

#[test]
fn without_calibration_rows_the_sets_are_left_out() {
    let (folder, name) = copy();
    crate::common::unseal(folder.path());
    std::fs::remove_file(folder.path().join("calibration.safetensors")).unwrap();
    let output = succeed(&["evaluate", &name, &run().name("test.csv"), "--label", "label", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["arms"][0]["sets"].is_object() && found["arms"][1]["sets"].is_null());
    assert!(text(&output.stderr).contains("no prediction sets for the arm robust"));
}

#[test]
fn the_report_is_the_run_s_own() {
    let run = run();
    let stored = |name: &str| std::fs::read_to_string(run.path("run").join(name)).unwrap();
    assert_eq!(text(&succeed(&["report", &run.name("run")]).stdout), stored("report.md"));
    let found: Value = serde_json::from_slice(&succeed(&["report", &run.name("run"), "--json"]).stdout).unwrap();
    assert_eq!(found, serde_json::from_str::<Value>(&stored("summary.json")).unwrap());
}

#[test]
fn a_run_named_like_a_data_set_is_not_read_as_data() {
    let folder = tempfile::tempdir().unwrap();
    let fit = ["fit", "digits", "--epochs", "1", "--hidden", "4", "--out", "digits"];
    crate::common::succeed(folder.path(), &fit);
    let found = crate::common::json(folder.path(), &["evaluate", "digits", "digits"]);
    assert_eq!(found["rows"], 1797, "{found}");
}
