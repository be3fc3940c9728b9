//! `cmrm audit RUN NEWDATA`: labels of new rows, judged by the models of an old run.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::customers::{Customers, cells, write_lines};
use common::{cmrm, json, refuse, succeed};
use serde_json::Value;

/// A run on rows with ids, a tenth of them with the wrong label.
fn fit(folder: &Path) {
    Customers::new(1, 1200, 0.1).with_ids(0).write(&folder.join("train.csv"));
    let fit = ["fit", "train.csv", "--label", "churned", "--id", "customer", "--model", "forest", "--out", "run"];
    succeed(folder, &[&fit[..], &["--quiet"]].concat());
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn wrong_labels_of_new_rows_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fit(folder.path());
    let wrong = Customers::new(2, 800, 0.15).with_ids(5000).write(&at("new.csv"));
    let audit = json(folder.path(), &["audit", "run", "new.csv", "--out", "suspects.csv", "--precision", "0.9"]);
    assert_eq!((audit["schema"].as_str(), audit["rows"].as_u64()), (Some("cmrm/audit/1"), Some(800)));
    assert_eq!((&audit["warning"], &audit["new_rows"]["trained_on"]), (&Value::Null, &0.into()));
    let rate = wrong.len() as f64 / 800.0;
    let ends = [number(&audit["noise_rate_interval"][0]), number(&audit["noise_rate_interval"][1])];
    assert!((number(&audit["noise_rate"]) - rate).abs() < 0.04, "{} for {rate}", audit["noise_rate"]);
    assert!(ends[0] - 0.01 < rate && rate < ends[1] + 0.01, "{ends:?} for {rate}");

    let table = cells(&at("suspects.csv"));
    let columns = [
        "row",
        "id",
        "is_label_issue",
        "label_score",
        "given_label",
        "predicted_label",
        "suggested_label",
        "margin",
        "wrong_probability",
        "rank",
    ];
    assert_eq!(table[0], columns);
    let flagged: Vec<usize> = table.iter().filter(|row| row[2] == "true").map(|row| row[0].parse().unwrap()).collect();
    let found = flagged.iter().filter(|row| wrong.contains(row)).count() as f64;
    assert!(found > 0.8 * flagged.len() as f64 && found > 0.7 * wrong.len() as f64, "{found} of {}", flagged.len());
    // Every row belongs to its id and label.
    let new = cells(&at("new.csv"));
    for row in &table[1..] {
        let data = &new[1 + row[0].parse::<usize>().unwrap()];
        assert_eq!((&row[1], &row[4]), (&data[0], &data[4]));
    }

    // Neither threads nor a pipe change a byte, and the data's columns come beside them.
    succeed(folder.path(), &["audit", "run", "new.csv", "--precision", "0.9", "--threads", "1", "--out", "one.csv"]);
    assert_eq!(fs::read(at("one.csv")).unwrap(), fs::read(at("suspects.csv")).unwrap());
    let piped = format!(
        "cat new.csv | {} audit run - --label churned --id customer --precision 0.9 --columns --out piped.csv",
        env!("CARGO_BIN_EXE_cmrm")
    );
    let piped = Command::new("sh").args(["-c", &piped]).current_dir(folder.path()).output().unwrap();
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    let piped = cells(&at("piped.csv"));
    assert_eq!(piped[0][columns.len()..], ["age", "income", "plan"]);
    for (row, beside) in table.iter().zip(&piped).skip(1) {
        assert_eq!(beside[..columns.len()], row[..]);
        // The reader writes 45.10 as 45.1.
        assert_eq!(beside[columns.len() + 2], new[1 + row[0].parse::<usize>().unwrap()][3]);
    }

    // The share of suspects is above a tenth, and not above a half; the share of wrong labels by estimate too.
    let with = |more: &[&str]| cmrm(folder.path(), &[&["audit", "run", "new.csv"], more].concat());
    for (rule, code) in [("0.1", 1), ("0.5", 0)] {
        assert_eq!(with(&["--fail-above", rule]).status.code(), Some(code));
        assert_eq!(with(&["--fail-on", &format!("noise-above:{rule}")]).status.code(), Some(code));
    }
    let output = with(&["--fail-on", "noise-above:0.1", "--json"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((object["failed"].as_bool(), &object["failed_on"][0]), (Some(true), &"noise-above:0.1".into()));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("exceeds 0.1 (--fail-on noise-above:0.1)"), "{words}");
}

#[test]
fn labels_that_are_missing_or_unknown_are_refused_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path());
    let customers = Customers::new(3, 100, 0.1).with_ids(9000);
    let (mut lines, _) = customers.lines();
    for (row, label) in [(7, "maybe"), (30, ""), (60, "maybe")] {
        let (cells, _) = lines[row].rsplit_once(',').unwrap();
        lines[row] = format!("{cells},{label}");
    }
    write_lines(&folder.path().join("new.csv"), customers.header(), &lines);
    let audit = ["audit", "run", "new.csv"];
    let with = |more: &[&'static str]| [&audit[..], more].concat();
    let words = refuse(folder.path(), &audit);
    assert!(words.contains("row 30") && words.contains("--hold-out-unlabelled"), "{words}");
    let words = refuse(folder.path(), &with(&["--hold-out-unlabelled"]));
    for part in
        ["new.csv, row 7, column 'churned'", "'maybe' is not one of the 2 known classes", "(--hold-out-unknown)"]
    {
        assert!(words.contains(part), "{words}");
    }
    let found = json(folder.path(), &with(&["--hold-out-unknown", "--hold-out-unlabelled"]));
    assert_eq!((found["rows"].as_u64(), &found["new_rows"]["unlabelled"]), (Some(97), &1.into()));
    assert_eq!(found["new_rows"]["unknown_labels"], serde_json::json!({ "maybe": 2 }));
    let text = succeed(folder.path(), &with(&["--hold-out-unknown", "--hold-out-unlabelled"]));
    assert!(text.contains("left out: 2 rows with labels that the run does not know: 'maybe' (2)"), "{text}");

    assert!(refuse(folder.path(), &with(&["--epochs", "3"])).contains("nothing is trained"));
    assert!(refuse(folder.path(), &with(&["--score", "self_confidence"])).contains("leave them out"));
    assert!(refuse(folder.path(), &with(&["--fail-on", "new-suspects"])).contains("add --since PREVIOUS"));
    assert!(refuse(folder.path(), &with(&["--out", "new.csv"])).contains("write to another file"));
    assert!(refuse(folder.path(), &with(&["--folds", "3"])).contains("cannot be used with"));
}

#[test]
fn rows_that_the_run_was_trained_on_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fit(folder.path());
    let trained_on = |arguments: &[&str]| json(folder.path(), arguments)["new_rows"]["trained_on"].as_u64().unwrap();
    // By their ids, in another file.
    let text = fs::read_to_string(at("train.csv")).unwrap();
    let some: Vec<String> = text.lines().skip(1).take(40).map(str::to_owned).collect();
    let customers = Customers::new(4, 60, 0.1).with_ids(9000);
    write_lines(&at("mixed.csv"), customers.header(), &[some, customers.lines().0].concat());
    assert_eq!(trained_on(&["audit", "run", "mixed.csv"]), 40);
    let text = succeed(folder.path(), &["audit", "run", "mixed.csv"]);
    assert!(text.starts_with("Warning: run was trained on 40 of these 100 rows"), "{text}");

    // Without ids by the file itself, or by what it holds under another name; one row more or less is other data.
    let plain = Customers::new(5, 300, 0.1);
    plain.write(&at("plain.csv"));
    let fit = ["fit", "plain.csv", "--label", "churned", "--model", "forest", "--out", "plain", "--quiet"];
    succeed(folder.path(), &fit);
    fs::copy(at("plain.csv"), at("copy.csv")).unwrap();
    let (lines, _) = plain.lines();
    write_lines(&at("less.csv"), plain.header(), &lines[1..]);
    let of = |data: &str| trained_on(&["audit", "plain", data, "--label", "churned"]);
    assert_eq!((of("plain.csv"), of("copy.csv"), of("less.csv")), (300, 300, 0));

    // A file of the same name elsewhere is another one; the one that was trained on is known from there too.
    fs::create_dir(at("elsewhere")).unwrap();
    let other = Customers::new(6, 100, 0.1);
    other.write(&at("elsewhere/plain.csv"));
    let of = |data: &str| {
        let audit = json(&at("elsewhere"), &["audit", "../plain", data, "--label", "churned"]);
        audit["new_rows"]["trained_on"].as_u64().unwrap()
    };
    assert_eq!((of("plain.csv"), of("../plain.csv")), (0, 300));
}

#[test]
fn few_rows_are_judged_by_the_noise_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path());
    let wrong = Customers::new(6, 30, 0.2).with_ids(9000).write(&folder.path().join("new.csv"));
    let audit = json(folder.path(), &["audit", "run", "new.csv", "--top", "30", "--out", "s.csv"]);
    let of_run = number(&json(folder.path(), &["audit", "run"])["noise_rate"]);
    assert!((number(&audit["new_rows"]["noise_rate_of_run"]) - of_run).abs() < 1e-9);
    assert_eq!((audit["noise_rate_interval"].is_null(), wrong.is_empty()), (true, false));
    let table = cells(&folder.path().join("s.csv"));
    let probability = |row: &Vec<String>| row[8].parse::<f64>().unwrap();
    assert_eq!(table[0][8], "wrong_probability");
    let of = |is_wrong: bool| {
        let rows = table[1..].iter().filter(|row| wrong.contains(&row[0].parse().unwrap()) == is_wrong);
        let values: Vec<f64> = rows.map(probability).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    assert!(of(true) > 0.5 && of(false) < 0.15, "{} {}", of(true), of(false));
    let words = cmrm(folder.path(), &["audit", "run", "new.csv", "--fail-on", "noise-above:0.01"]);
    assert_eq!(words.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&words.stderr).contains("could not be estimated"));
}

/// The table of docs/routine.md: `cargo test -p cmrm-cli --test new_rows noise -- --nocapture`.
#[test]
fn the_noise_of_new_rows_need_not_be_that_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let wrong = [0, 10, 20, 30];
    let mut flipped = Vec::new();
    for share in wrong {
        let noise = f64::from(share) / 100.0;
        let mild = |seed, rows| Customers { chance: 0.6, ..Customers::new(seed, rows, noise) };
        mild(1, 1500).write(&at(&format!("train-{share}.csv")));
        flipped.push(mild(2, 1000).write(&at(&format!("new-{share}.csv"))).len() as f64 / 10.0);
    }
    println!("{flipped:?} % of the new labels are wrong");
    for run in wrong {
        let (data, out) = (format!("train-{run}.csv"), format!("run-{run}"));
        succeed(folder.path(), &["fit", &data, "--label", "churned", "--model", "forest", "--out", &out, "--quiet"]);
        let mut line = format!("| {run} % |");
        for (new, flipped) in wrong.iter().zip(&flipped) {
            let audit = json(folder.path(), &["audit", &out, &format!("new-{new}.csv")]);
            let rate = 100.0 * number(&audit["noise_rate"]);
            let ends = [0, 1].map(|end| 100.0 * number(&audit["noise_rate_interval"][end]));
            line += &format!(" {rate:.1} ({:.1} to {:.1}) |", ends[0], ends[1]);
            assert!((rate - flipped).abs() < 8.0, "{rate} for {flipped} % with a run of {run} %");
        }
        println!("{line}");
    }
}
