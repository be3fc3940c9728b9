//! `cmrm audit --since`: what is new, what was decided, what has drifted; and the scripts of docs/routine.md.

// Tests write files that they read.
#![allow(clippy::disallowed_methods)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cmrm_review::Store;
use cmrm_run::RunInfo;
use cmrm_run::decision::{Action, Decision};
use common::customers::{Customers, cells, write_lines};
use common::{cmrm, json, refuse, succeed};
use serde_json::Value;

fn fit(folder: &Path, data: &str, more: &[&str], out: &str) {
    let fit = ["fit", data, "--label", "churned", "--model", "forest", "--out", out, "--quiet"];
    succeed(folder, &[&fit[..], more].concat());
}

/// Flips the label at the end of a line.
fn flip(line: &mut String) {
    let (cells, label) = line.rsplit_once(',').unwrap();
    *line = format!("{cells},{}", if label == "yes" { "no" } else { "yes" });
}

fn counts(audit: &Value) -> [u64; 4] {
    ["new", "known", "decided", "gone"].map(|name| audit["since"][name].as_u64().unwrap())
}

/// Lines of an audit of one status: row, id and label.
fn of_status(table: &[Vec<String>], status: &str) -> Vec<[String; 3]> {
    let at = |name: &str| table[0].iter().position(|column| column == name).unwrap();
    let wanted = table[1..].iter().filter(|row| row[at("since")] == status);
    wanted.map(|row| [at("row"), at("id"), at("given_label")].map(|column| row[column].clone())).collect()
}

#[test]
fn suspects_are_new_known_decided_or_gone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    Customers::new(1, 900, 0.1).with_ids(0).write(&at("train.csv"));
    fit(folder.path(), "train.csv", &["--id", "customer"], "run");
    let customers = Customers::new(2, 300, 0.1).with_ids(5000);
    let (mut lines, _) = customers.lines();
    write_lines(&at("first.csv"), customers.header(), &lines);
    let first = json(folder.path(), &["audit", "run", "first.csv", "--out", "first-audit.csv", "--top", "300"]);
    let top: Vec<(usize, String)> = first["top"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["row"].as_u64().unwrap() as usize, row["given_label"].as_str().unwrap().to_owned()))
        .collect();
    assert!(top.len() > 12, "{}", top.len());

    // The same rows: nothing is new.
    let same = json(folder.path(), &["audit", "run", "first.csv", "--since", "first-audit.csv"]);
    assert_eq!((counts(&same), &same["since"]["matched_by"]), ([0, top.len() as u64, 0, 0], &"id".into()));
    assert_eq!((&same["top"], &same["since"]["drift"]["found"]), (&Value::Array(Vec::new()), &Value::Bool(false)));

    // A week later: two labels are put right, two go wrong, one row has gone, and the others are in another order.
    let clean: Vec<usize> = {
        let table = cells(&at("first-audit.csv"));
        table[1..].iter().rev().take(2).map(|row| row[0].parse().unwrap()).collect()
    };
    for &row in [top[0].0, top[1].0].iter().chain(&clean) {
        flip(&mut lines[row]);
    }
    let removed = lines.remove(top[2].0);
    lines.reverse();
    write_lines(&at("second.csv"), customers.header(), &lines);
    // Two were kept, one is to be relabelled, and one was decided on under another label, which holds no more.
    let id = |row: usize| format!("c{}", 5000 + row);
    let decision = |(row, label): &(usize, String), action: &str| format!("{row},{action},{label},{}\n", id(*row));
    let mut decisions = String::from("row,action,given_label,id,label\n");
    for (suspect, action) in [(&top[4], "keep"), (&top[5], "keep")] {
        decisions += &format!("{},\n", decision(suspect, action).trim());
    }
    let other = |label: &str| if label == "yes" { "no" } else { "yes" };
    decisions += &format!("{},{}\n", decision(&top[6], "relabel").trim(), other(&top[6].1));
    decisions += &format!("{},keep,{},{},\n", top[7].0, other(&top[7].1), id(top[7].0));
    fs::write(at("decisions.csv"), &decisions).unwrap();
    let audit = ["audit", "run", "second.csv", "--since", "first-audit.csv", "--decisions", "decisions.csv"];
    let out = ["--out", "second-audit.parquet", "--fail-on", "new-suspects"];
    let found = cmrm(folder.path(), &[&audit[..], &out, &["--json"]].concat());
    assert_eq!(found.status.code(), Some(1), "{}", String::from_utf8_lossy(&found.stderr));
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["failed_on"], serde_json::json!(["new-suspects"]));
    let [new, known, decided, gone] = counts(&found);
    assert_eq!((decided, found["since"]["rows_gone"].as_u64()), (3, Some(1)), "{removed}");
    // What was put right is a suspect no more, what was made wrong is one now, and nothing else is news.
    assert_eq!((new, gone), (2, 2), "{found}");
    let shown: Vec<&str> = found["top"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(shown.len(), new as usize);
    assert!(clean.iter().all(|&row| shown.contains(&id(row).as_str())), "{shown:?}");

    // The week after that nobody has to name the decisions again, and they hold while the labels are what they were.
    let third = ["audit", "run", "second.csv", "--since", "second-audit.parquet", "--out", "third-audit.csv"];
    let found = json(folder.path(), &third);
    assert_eq!((counts(&found)[0], counts(&found)[1], counts(&found)[2]), (0, new + known, 3));
    let decided = of_status(&cells(&at("third-audit.csv")), "decided");
    let mut ids: Vec<&str> = decided.iter().map(|row| row[1].as_str()).collect();
    ids.sort_unstable();
    let mut expected = [4, 5, 6].map(|at| id(top[at].0));
    expected.sort_unstable();
    assert_eq!(ids, expected);

    // By number, decisions are those on the rows of the earlier audit.
    let without_ids = |given: &str| format!("row,action,given_label\n{},keep,{given}\n", top[4].0);
    fs::write(at("by-number.csv"), without_ids(&top[4].1)).unwrap();
    let by_number = [&audit[..5], &["--decisions", "by-number.csv"]].concat();
    assert_eq!(json(folder.path(), &by_number)["since"]["decided"], 1);
    fs::write(at("by-number.csv"), without_ids("nonsense")).unwrap();
    let words = refuse(folder.path(), &by_number);
    assert!(
        words.contains("by-number.csv: decided on row") && words.contains("name the decisions on that audit"),
        "{words}"
    );
    let words = refuse(folder.path(), &["audit", "run", "second.csv", "--since", "second.csv"]);
    assert!(words.contains("no column 'row'") && words.contains("--out FILE"), "{words}");
    let words = refuse(
        folder.path(),
        &["audit", "run", "second.csv", "--since", "first-audit.csv", "--out", "first-audit.csv"],
    );
    assert!(words.contains("this is the earlier audit"), "{words}");
}

#[test]
fn rows_without_an_id_among_others_are_nobodys() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    Customers::new(1, 900, 0.1).with_ids(0).write(&at("train.csv"));
    fit(folder.path(), "train.csv", &["--id", "customer"], "run");
    let customers = Customers::new(2, 200, 0.1).with_ids(5000);
    let (mut lines, _) = customers.lines();
    let first = suspects_of(folder.path(), &at("first.csv"), &customers, &lines);
    for &row in &first[..2] {
        lines[row] = lines[row].split_once(',').map(|(_, rest)| format!(",{rest}")).unwrap();
    }
    write_lines(&at("first.csv"), customers.header(), &lines);
    succeed(folder.path(), &["audit", "run", "first.csv", "--out", "first-audit.csv", "--quiet"]);
    let output = cmrm(folder.path(), &["audit", "run", "first.csv", "--since", "first-audit.csv", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((counts(&found)[0], &found["since"]["matched_by"]), (2, &"id".into()), "{found}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("2 of 200 rows have no id"), "{words}");
}

/// The suspects among these lines, as rows.
fn suspects_of(folder: &Path, file: &Path, customers: &Customers, lines: &[String]) -> Vec<usize> {
    write_lines(file, customers.header(), lines);
    let found = json(folder, &["audit", "run", file.to_str().unwrap(), "--top", "300"]);
    found["top"].as_array().unwrap().iter().map(|row| row["row"].as_u64().unwrap() as usize).collect()
}

#[test]
fn rows_without_ids_are_known_by_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let plain = Customers::new(3, 900, 0.1);
    plain.write(&at("train.csv"));
    fit(folder.path(), "train.csv", &[], "run");
    let customers = Customers::new(4, 200, 0.1);
    let (mut lines, _) = customers.lines();
    write_lines(&at("first.csv"), customers.header(), &lines);
    let first = json(folder.path(), &["audit", "run", "first.csv", "--label", "churned", "--out", "first-audit.csv"]);
    let suspects = first["issues"].as_u64().unwrap();
    lines.reverse();
    write_lines(&at("second.csv"), customers.header(), &lines);
    let found = json(folder.path(), &["audit", "run", "second.csv", "--since", "first-audit.csv"]);
    assert_eq!((counts(&found), &found["since"]["matched_by"]), ([0, suspects, 0, 0], &"content".into()));

    // Against the run itself: by its data while that is there; the training rows are known again, in any order.
    let (mut of_train, _) = plain.lines();
    of_train.reverse();
    write_lines(&at("again.csv"), plain.header(), &of_train);
    let again = ["audit", "run", "again.csv", "--since", "run"];
    let found = json(folder.path(), &again);
    assert_eq!((&found["since"]["matched_by"], found["since"]["rows_gone"].as_u64()), (&"content".into(), Some(0)));
    // A decision on the review page, on the first suspect of the run.
    let suspect = json(folder.path(), &["audit", "run"])["top"][0]["row"].as_u64().unwrap();
    let info: RunInfo = serde_json::from_str(&fs::read_to_string(at("run/run.json")).unwrap()).unwrap();
    let mut store = Store::open(&at("run/review.sqlite"), &info.fingerprint).unwrap();
    store.decide(&Decision { row: suspect, action: Action::Keep, label: None }, "me").unwrap();
    drop(store);
    assert_eq!(json(folder.path(), &["audit", "run", "--since", "run"])["since"]["decided"], 1);
    assert_eq!(json(folder.path(), &again)["since"]["decided"], 1);

    fs::rename(at("train.csv"), at("moved.csv")).unwrap();
    let output = cmrm(folder.path(), &again);
    assert!(output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.contains("every suspect counts as new") && text.contains("not compared: columns: "), "{words}{text}");
    let moved = json(folder.path(), &[&again[..], &["--data", "moved.csv"]].concat());
    assert_eq!(moved["since"]["matched_by"], "content");

    // An audit of a run and the file of an earlier one go by numbers, and say so.
    succeed(folder.path(), &["audit", "run", "--out", "of-run.csv", "--quiet"]);
    let output = cmrm(folder.path(), &["audit", "run", "--since", "of-run.csv", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["since"]["matched_by"], counts(&found)[0]), (&"row".into(), 0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("matched by their numbers"));
}

#[test]
fn drift_is_found_where_there_is_some() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    Customers::new(5, 1200, 0.05).with_ids(0).write(&at("train.csv"));
    fit(folder.path(), "train.csv", &["--id", "customer"], "run");
    let like = Customers::new(6, 800, 0.05).with_ids(5000);
    like.write(&at("like.csv"));
    Customers { older: 10.0, ..like }.write(&at("older.csv"));
    Customers { wrong: 0.25, seed: 7, ..like }.write(&at("careless.csv"));
    let audit = |data: &str, since: &str| {
        let output = cmrm(folder.path(), &["audit", "run", data, "--since", since, "--fail-on", "drift", "--json"]);
        let object: Value = serde_json::from_slice(&output.stdout).unwrap();
        let tests = object["since"]["drift"]["tests"].as_array().unwrap().clone();
        let drifted = tests.iter().filter(|test| test["drifted"] == true);
        let drifted: Vec<(String, String)> = drifted
            .map(|test| (test["subject"].as_str().unwrap().into(), test["column"].as_str().unwrap_or_default().into()))
            .collect();
        assert_eq!(output.status.code(), Some(i32::from(!drifted.is_empty())), "{object}");
        (drifted, object)
    };
    let of = |subject: &str, column: &str| (subject.to_owned(), column.to_owned());
    let (drifted, object) = audit("like.csv", "run");
    assert!(drifted.is_empty(), "{object}");
    assert_eq!(object["since"]["drift"]["columns_compared"], 3);
    let (drifted, object) = audit("older.csv", "run");
    assert!(drifted.contains(&of("values", "age")) && drifted.contains(&of("classes", "")), "{object}");
    assert!(!drifted.contains(&of("values", "income")) && !drifted.contains(&of("wrong-labels", "")), "{object}");
    let (drifted, object) = audit("careless.csv", "run");
    assert_eq!(drifted, [of("wrong-labels", "")], "{object}");
    // The same against the file of an earlier audit.
    succeed(folder.path(), &["audit", "run", "like.csv", "--out", "like-audit.csv", "--quiet"]);
    let (drifted, object) = audit("careless.csv", "like-audit.csv");
    assert_eq!(drifted, [of("wrong-labels", "")], "{object}");
    let (drifted, object) = audit("like.csv", "like-audit.csv");
    assert!(drifted.is_empty(), "{object}");
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/routine").join(name)
}

/// Runs a script of the examples, with this `cmrm` before all others.
fn sh(folder: &Path, name: &str, arguments: &[&str]) -> Output {
    let cmrm = Path::new(env!("CARGO_BIN_EXE_cmrm")).parent().unwrap();
    let path = format!("{}:{}", cmrm.display(), std::env::var("PATH").unwrap());
    Command::new("sh").arg(script(name)).args(arguments).env("PATH", path).current_dir(folder).output().unwrap()
}

fn words(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

#[test]
fn the_script_for_cron_speaks_up_when_something_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    Customers::new(8, 900, 0.02).with_ids(0).write(&at("train.csv"));
    fit(folder.path(), "train.csv", &["--id", "customer"], "run");
    let customers = Customers::new(9, 300, 0.02).with_ids(5000);
    let (mut lines, _) = customers.lines();
    write_lines(&at("new.csv"), customers.header(), &lines);
    let routine = || sh(folder.path(), "audit-routine.sh", &["run", "new.csv", "audits"]);
    // The first audit is compared with the run, whose rows are others: its suspects are all new.
    let first = routine();
    assert_eq!(first.status.code(), Some(1), "{}", words(&first));
    assert!(
        words(&first).contains("since run (rows matched by id): suspects: ")
            && words(&first).contains("--fail-on new-suspects")
    );
    let second = routine();
    assert_eq!((second.status.code(), words(&second)), (Some(0), String::new()));
    let sure = cells(&fs::read_dir(at("audits")).unwrap().next().unwrap().unwrap().path());
    let sure: usize = sure.last().unwrap()[0].parse().unwrap();
    flip(&mut lines[sure]);
    write_lines(&at("new.csv"), customers.header(), &lines);
    let third = routine();
    assert_eq!(third.status.code(), Some(1), "{}", words(&third));
    assert!(words(&third).contains(&format!(" {sure} ")), "{}", words(&third));
    assert_eq!(fs::read_dir(at("audits")).unwrap().count(), 3);
    fs::remove_file(at("new.csv")).unwrap();
    let gone = routine();
    assert_eq!(gone.status.code(), Some(2));
    assert!(words(&gone).contains("new.csv"), "{}", words(&gone));
}

#[test]
fn the_script_for_changes_stops_those_that_make_labels_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let git = |arguments: &[&str]| {
        let name = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let output = Command::new("git").args(name).args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
    };
    Customers::new(10, 900, 0.05).with_ids(0).write(&at("train.csv"));
    fit(folder.path(), "train.csv", &["--id", "customer"], "run");
    let customers = Customers::new(11, 200, 0.05).with_ids(5000);
    let (lines, wrong) = customers.lines();
    write_lines(&at("labels.csv"), customers.header(), &lines);
    git(&["init", "-q"]);
    git(&["add", "labels.csv"]);
    git(&["commit", "-q", "-m", "labels"]);
    let check = |more: &[&str]| sh(folder.path(), "check-labels.sh", &[&["run", "labels.csv"], more].concat());
    // Old suspects stop nobody.
    assert!(!wrong.is_empty());
    let same = check(&[]);
    assert_eq!(same.status.code(), Some(0), "{}", words(&same));
    // A row that is added, and looks right, neither; a label that is made wrong does.
    let mut more = lines.clone();
    more.push("c9000,70.00,80.00,gold,yes".into());
    write_lines(&at("labels.csv"), customers.header(), &more);
    assert_eq!(check(&["HEAD"]).status.code(), Some(0));
    flip(more.last_mut().unwrap());
    write_lines(&at("labels.csv"), customers.header(), &more);
    let worse = check(&[]);
    assert_eq!(worse.status.code(), Some(1), "{}", words(&worse));
    assert!(words(&worse).contains("1 label looks wrong that did not before"), "{}", words(&worse));
    // A revision that is not there is no revision without the file.
    let nowhere = check(&["origin/mian"]);
    assert_eq!(nowhere.status.code(), Some(2), "{}", words(&nowhere));
    assert!(words(&nowhere).contains("origin/mian: no such revision"), "{}", words(&nowhere));
    // Unless somebody has looked at it.
    fs::write(at("decisions.csv"), "row,action,id\n200,keep,c9000\n").unwrap();
    let cmrm = Path::new(env!("CARGO_BIN_EXE_cmrm")).parent().unwrap();
    let path = format!("{}:{}", cmrm.display(), std::env::var("PATH").unwrap());
    let mut decided = Command::new("sh");
    decided.arg(script("check-labels.sh")).args(["run", "labels.csv"]).current_dir(folder.path());
    let decided = decided.env("PATH", path).env("DECISIONS", "decisions.csv").output().unwrap();
    assert_eq!(decided.status.code(), Some(0), "{}", words(&decided));
    // A file that is new is judged by how many of its labels are wrong.
    fs::rename(at("labels.csv"), at("other.csv")).unwrap();
    let new = sh(folder.path(), "check-labels.sh", &["run", "other.csv"]);
    assert!([Some(0), Some(1)].contains(&new.status.code()), "{}", words(&new));
}

#[test]
fn the_examples_name_the_scripts_that_are_there() {
    for file in ["label-check.yml", "pre-commit-config.yaml", "crontab"] {
        let text = fs::read_to_string(script(file)).unwrap();
        let named: Vec<&str> = text.split_whitespace().filter(|word| word.ends_with(".sh")).collect();
        assert!(!named.is_empty(), "{file}");
        for name in named {
            assert!(script(name.rsplit('/').next().unwrap()).exists(), "{file}: {name}");
        }
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/routine.md");
    let page = fs::read_to_string(page).unwrap();
    let cron = fs::read_to_string(script("crontab")).unwrap();
    assert!(page.contains(cron.lines().last().unwrap()));
}
