//! Votes of learners (`--model auto`, the default, `forest`, `boosting`, `kernel`) through all commands.

mod common;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::review::Review;
use common::{cmrm, json, succeed, write_table};
use serde_json::Value;

const VOTES: [&str; 4] = ["auto", "forest", "boosting", "kernel"];
const SPECIES: [&str; 3] = ["ash", "beech", "cedar"];
/// Every eleventh row has the label of another species.
const WRONG: usize = 11;

fn species(row: usize) -> &'static str {
    SPECIES[row % 3]
}

/// Trees by number, soil, day and comment, with cells missing here and there. With `wrong`, some labels are wrong; the last
/// row has none.
fn write_trees(path: &Path, rows: usize, wrong: bool) {
    let mut text = String::from("tag,height,girth,soil,planted,comment,species\n");
    for row in 0..rows {
        let kind = row % 3;
        let height = if row % 13 == 5 { String::new() } else { format!("{}", 10 * kind + (row * 7) % 9) };
        let girth = 40 + 20 * ((kind + 1) % 3) + (row * 5) % 17;
        let soil = ["loam", "sand", "", "clay"][(row + row / 3 + kind) % 4];
        let planted = format!("19{}-0{}-1{}", 60 + 10 * kind + row % 9, 1 + row % 9, row % 10);
        let label = if wrong && row % WRONG == 4 { species(row + 1) } else { species(row) };
        let label = if row + 1 == rows && wrong { "" } else { label };
        text += &format!("t{row},{height},{girth},{soil},{planted},\"tree, no. {row}\",{label}\n");
    }
    fs::write(path, text).unwrap();
}

/// Lines of a CSV file without quotes, by the names of its columns.
fn records(text: &str) -> Vec<HashMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines.map(|line| names.iter().copied().zip(line.split(',')).collect()).collect()
}

fn accuracy(arm: &Value) -> f64 {
    assert_eq!(arm["metrics"][0]["name"], "accuracy");
    arm["metrics"][0]["value"].as_f64().unwrap()
}

#[test]
fn every_command_takes_the_run_of_a_vote() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_trees(&at("trees.csv"), 180, true);
    write_trees(&at("new.csv"), 60, false);
    for model in VOTES {
        let fit = ["fit", "trees.csv", "--label", "species", "--id", "tag", "--impute", "--hold-out-unlabelled"];
        let summary = json(folder.path(), &[&fit[..], &["--model", model, "--out", model]].concat());
        assert_eq!(summary["judged_by"], "observed-out-of-sample", "{model}");
        assert_eq!(
            (summary["data"]["train_rows"].as_u64(), summary["data"]["judged_rows"].as_u64()),
            (Some(179), Some(179))
        );
        let shares = summary["members"].as_array().unwrap().iter().map(|member| member["share"].as_f64().unwrap());
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9, "{summary}");
        if model != "auto" {
            let of_kind = |member: &Value| member["name"].as_str().unwrap().starts_with(model);
            assert!(summary["members"].as_array().unwrap().iter().all(of_kind), "{summary}");
        }

        let predicted = succeed(folder.path(), &["predict", model, "new.csv", "--coverage", "0.9", "--quiet"]);
        let predicted = records(&predicted);
        let right =
            predicted.iter().enumerate().filter(|(row, found)| found["predicted_label"] == species(*row)).count();
        assert_eq!(predicted.len(), 60);
        assert!(right >= 54, "{model}: {right} of 60");
        let found = json(folder.path(), &["evaluate", model, "new.csv", "--label", "species"]);
        assert_eq!(accuracy(&found["arms"][1]), right as f64 / 60.0, "{model}");

        // All labelled rows, under their own names, the wrong ones first.
        let audit = json(folder.path(), &["audit", model, "--out", "audit.csv"]);
        let table = fs::read_to_string(at("audit.csv")).unwrap();
        let suspects = records(&table);
        assert_eq!(audit["rows"], 179);
        let ids: BTreeSet<&str> = suspects.iter().map(|row| row["id"]).collect();
        assert_eq!(ids.len(), 179);
        assert!(suspects.iter().all(|row| row["id"] == format!("t{}", row["row"])), "{table}");
        let is_wrong = |row: &HashMap<&str, &str>| row["row"].parse::<usize>().unwrap() % WRONG == 4;
        let wrong = suspects.iter().filter(|row| is_wrong(row)).count();
        let found = suspects[..wrong].iter().filter(|row| is_wrong(row)).count();
        assert!(wrong == 16 && found >= 15, "{model}: {found} of {wrong}");
        assert_eq!(suspects[0]["suggested_label"], species(suspects[0]["row"].parse().unwrap()), "{model}");

        succeed(folder.path(), &["report", model, "--html", "page.html", "--quiet"]);
        let page = fs::read_to_string(at("page.html")).unwrap();
        assert!(page.contains("What each learner is worth") && page.contains("doubtful rows counting less"), "{model}");
        assert!(succeed(folder.path(), &["report", model]).contains("What each learner is worth"));

        let review = Review::start(folder.path(), &[model]);
        let list: Value = serde_json::from_str(&review.ask("GET list", "")).unwrap();
        let first = &list["items"][0]["row"];
        assert_eq!(first.to_string(), suspects[0]["row"], "{model}");
        let card: Value = serde_json::from_str(&review.ask(&format!("GET card/{first}"), "")).unwrap();
        assert!(!card["neighbours"].as_array().unwrap().is_empty(), "{model}: {card}");
        assert!(card["content"]["cells"].to_string().contains("girth"), "{model}: {card}");
    }
}

#[test]
fn threads_do_not_change_a_byte_of_a_vote() {
    let folder = tempfile::tempdir().unwrap();
    write_trees(&folder.path().join("trees.csv"), 100, true);
    for threads in ["1", "3"] {
        let fit = ["fit", "trees.csv", "--label", "species", "--impute", "--hold-out-unlabelled", "-q"];
        succeed(folder.path(), &[&fit[..], &["--threads", threads, "--out", threads]].concat());
    }
    for file in [
        "config.toml",
        "model.safetensors",
        "base.safetensors",
        "margins.parquet",
        "calibration.safetensors",
        "base-calibration.safetensors",
    ] {
        let read = |run: &str| fs::read(folder.path().join(run).join(file)).unwrap();
        assert!(read("1") == read("3"), "{file}");
    }
}

#[test]
fn most_planted_labels_are_found_and_the_default_is_the_vote() {
    let folder = tempfile::tempdir().unwrap();
    let summary =
        json(folder.path(), &["fit", "breast-cancer", "--noise", "binary-flip:0.2", "--seed", "1", "--out", "run"]);
    let config = fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert!(config.contains("\nmodel = \"auto\"\n"), "{config}");
    assert_eq!(summary["judged_by"], "clean");
    assert!(accuracy(&summary["arms"][1]) > 0.93, "{summary}");
    let suspects = &summary["suspects"];
    let share = |name: &str| suspects[name].as_f64().unwrap();
    assert!(share("precision") > 0.8 && share("recall") > 0.8, "{suspects}");
}

#[test]
fn only_the_learners_that_are_named_vote() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("customers.csv"), 400);
    let fit = |out: &str, learners: &[&str]| {
        let usual = ["fit", "customers.csv", "--label", "churned", "--out", out];
        json(folder.path(), &[&usual[..], learners].concat())
    };
    let kinds = |summary: &serde_json::Value| -> BTreeSet<String> {
        let names = summary["members"].as_array().unwrap().iter().map(|member| member["name"].as_str().unwrap());
        names.map(|name| name.split(',').next().unwrap().to_owned()).collect()
    };
    let named = fit("named", &["--learners", "network,linear"]);
    assert!(kinds(&named).iter().all(|kind| kind == "network" || kind == "linear"), "{named}");
    let config = fs::read_to_string(folder.path().join("named/config.toml")).unwrap();
    assert!(config.contains("\nlearners = [\"network\", \"linear\"]\n"), "{config}");
    // The same learners in another order are the same vote, and a model of one kind is a vote of that kind.
    let turned = fit("turned", &["--learners", "linear,network"]);
    assert_eq!((&turned["members"], &turned["arms"]), (&named["members"], &named["arms"]));
    let (alone, forest) = (fit("alone", &["--learners", "forest"]), fit("forest", &["--model", "forest"]));
    assert_eq!(kinds(&alone), BTreeSet::from(["forest".to_owned()]));
    assert_eq!((&alone["members"], &alone["arms"]), (&forest["members"], &forest["arms"]));
}

#[test]
fn a_budget_that_is_spent_leaves_the_first_learners() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("customers.csv"), 400);
    let fit = |budget: &str| {
        let arguments = ["fit", "customers.csv", "--label", "churned", "--budget", budget, "--out", budget];
        json(folder.path(), &arguments)
    };
    let summary = fit("1e-6");
    let names = summary["members"].as_array().unwrap().iter().map(|member| member["name"].as_str().unwrap());
    assert!(names.clone().count() > 0 && names.clone().all(|name| name.starts_with("linear")), "{summary}");
    // No time to train a second time either: both arms are the same.
    assert_eq!(summary["arms"][0]["metrics"], summary["arms"][1]["metrics"]);
    // Time for as much as there is, and not for the network of 20,000 rows.
    write_table(&folder.path().join("customers.csv"), 20_000);
    let begun = Instant::now();
    let summary = fit("0.5");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(accuracy(&summary["arms"][1]) > 0.8, "{summary}");
    assert!(!summary["members"].to_string().contains("network"), "{summary}");
}

#[test]
fn rare_classes_and_a_handful_of_rows_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    write_trees(&folder.path().join("trees.csv"), 90, false);
    let table = fs::read_to_string(folder.path().join("trees.csv")).unwrap();
    let more = table.clone()
        + "a,70,9,loam,1980-01-11,x,yew\nb,90,300,sand,1920-01-11,y,oak\nc,92,310,sand,1921-01-11,z,oak\n";
    fs::write(folder.path().join("rare.csv"), more).unwrap();
    let few: String = table.lines().take(7).map(|line| format!("{line}\n")).collect();
    fs::write(folder.path().join("few.csv"), few).unwrap();
    for (data, rows, classes) in [("rare.csv", 93, 5), ("few.csv", 6, 3)] {
        for model in VOTES {
            let out = format!("{data}-{model}");
            let fit = ["fit", data, "--label", "species", "--id", "tag", "--impute", "--model", model, "--out", &out];
            let summary = json(folder.path(), &fit);
            assert_eq!(summary["data"]["train_rows"], rows, "{out}");
            let audit = json(folder.path(), &["audit", &out]);
            assert_eq!(audit["rows"], rows, "{out}");
            let predicted = succeed(folder.path(), &["predict", &out, "trees.csv", "--probabilities", "--quiet"]);
            let header = predicted.lines().next().unwrap().split(',').count();
            let predicted = records(&predicted);
            assert!(header > classes && predicted.len() == 90, "{out}: {:?}", predicted[0]);
            let right = predicted.iter().enumerate().filter(|(row, found)| found["predicted_label"] == species(*row));
            // Boosting needs twenty rows a leaf: of six rows it knows the shares of the classes, and no more.
            let least = match (rows, model) {
                (6, "boosting") => 30,
                (6, _) => 31,
                _ => 88,
            };
            let right = right.count();
            assert!(right >= least, "{out}: {right} of 90");
        }
    }
}

#[test]
fn balanced_classes_find_more_of_the_rare_one() {
    let folder = tempfile::tempdir().unwrap();
    // One in eight is rare, and among the rare ones' features half are.
    let mut text = String::from("x,y,kind\n");
    for row in 0..320 {
        let near = row % 4 == 0;
        let kind = if near && row % 8 == 0 { "rare" } else { "usual" };
        text += &format!("{},{},{kind}\n", if near { 5 } else { 0 } + (row * 7) % 3, (row * 13) % 29);
    }
    fs::write(folder.path().join("table.csv"), text).unwrap();
    let rare = |balance: bool, model: &str| {
        let settings = format!("balance-classes = {balance}\nmodel = \"{model}\"\n");
        fs::write(folder.path().join("fit.toml"), settings).unwrap();
        let out = format!("{model}-{balance}");
        let fit = ["fit", "table.csv", "--label", "kind", "--config", "fit.toml", "--out", &out];
        json(folder.path(), &fit);
        let predicted = succeed(folder.path(), &["predict", &out, "table.csv", "--arm", "base", "--quiet"]);
        records(&predicted).iter().filter(|row| row["predicted_label"] == "rare").count()
    };
    for model in VOTES {
        let (equal, balanced) = (rare(false, model), rare(true, model));
        assert!(balanced > equal && balanced >= 60, "{model}: {equal} and {balanced} of 80");
    }
}

#[test]
fn a_killed_vote_starts_over_and_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    write_trees(&folder.path().join("trees.csv"), 150, true);
    let fit = ["fit", "trees.csv", "--label", "species", "--impute", "--hold-out-unlabelled", "--out"];
    succeed(folder.path(), &[&fit[..], &["whole", "-q"]].concat());
    let mut child = Command::new(env!("CARGO_BIN_EXE_cmrm"))
        .args([&fit[..], &["broken"]].concat())
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.path().join("broken/checkpoints/data.json").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path().join("broken/run.json").exists(), "the kill came too late");
    let output = cmrm(folder.path(), &["fit", "--resume", "--out", "broken"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("the model auto keeps no checkpoint: it starts over"), "{words}");
    for file in ["model.safetensors", "base.safetensors", "margins.parquet", "calibration.safetensors", "config.toml"] {
        let read = |run: &str| fs::read(folder.path().join(run).join(file)).unwrap();
        assert!(read("broken") == read("whole"), "{file}");
    }
    assert_eq!(fs::read_dir(folder.path().join("broken/checkpoints")).unwrap().count(), 0);
}
