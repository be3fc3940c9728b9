//! A class of 3 %: flags that do not empty it, training that does not overlook it, sets that hold it, and decisions left open.

mod common;

use std::path::Path;

use cmrm::rng::Rng;
use common::{json, refuse, succeed};
use serde_json::Value;

const CLASSES: [&str; 3] = ["common", "other", "rare"];

/// Readings of two sensors, of three classes that overlap a little, one of them 3 %; a tenth of the labels is wrong if asked for: the rows are the same.
fn write_readings(path: &Path, seed: u64, rows: usize, wrong: bool) {
    let mut random = Rng::new(seed, 0);
    let mut text = String::from("left,right,kind\n");
    for _ in 0..rows {
        let class = match random.uniform() {
            u if u < 0.77 => 0,
            u if u < 0.97 => 1,
            _ => 2,
        };
        let centre = [(0.0, 0.0), (3.0, 0.0), (0.0, 2.4)][class];
        let mut reading = |centre: f64| centre + 2.0 * (random.uniform() + random.uniform());
        let (left, right) = (reading(centre.0), reading(centre.1));
        let other = (class + 1 + usize::from(random.uniform() < 0.5)) % 3;
        let slips = random.uniform() < 0.1;
        let label = if wrong && slips { other } else { class };
        text += &format!("{left:.4},{right:.4},{}\n", CLASSES[label]);
    }
    std::fs::write(path, text).unwrap();
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// The labels of a file of [`write_readings`].
fn kinds(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned()).collect()
}

#[test]
fn a_rare_class_is_neither_emptied_nor_overlooked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_readings(&at.join("train.csv"), 1, 2000, true);
    write_readings(&at.join("truth.csv"), 1, 2000, false);
    write_readings(&at.join("trusted.csv"), 2, 9000, false);
    write_readings(&at.join("new.csv"), 3, 12_000, false);
    let fit = ["fit", "train.csv", "--label", "kind", "--model", "forest"];
    json(at, &[&fit[..], &["--out", "plain"]].concat());
    json(at, &[&fit[..], &["--out", "balanced", "--balance-classes"]].concat());

    // Three of five labels `rare` are wrong; the others stay.
    let audit = json(at, &["audit", "plain", "--top", "2000"]);
    let (given, truth) = (kinds(&at.join("train.csv")), kinds(&at.join("truth.csv")));
    let flagged: Vec<usize> =
        audit["top"].as_array().unwrap().iter().map(|row| row["row"].as_u64().unwrap() as usize).collect();
    let rare = |row: &usize| given[*row] == "rare";
    let right = |row: &usize| given[*row] == truth[*row];
    let all = (0..2000).filter(|row| rare(row) && right(row)).count();
    let lost = flagged.iter().filter(|row| rare(row) && right(row)).count();
    let found = flagged.iter().filter(|row| rare(row) && !right(row)).count();
    assert!(all > 40 && 4 * lost < all && found > 80, "{lost} of {all} lost, {found} found");

    let evaluate = |run: &str, more: &[&str]| {
        let evaluate = ["evaluate", run, "new.csv", "--label", "kind", "--arm", "robust"];
        json(at, &[&evaluate[..], more].concat())["arms"][0].clone()
    };
    let recall = |run: &str| number(&evaluate(run, &[])["per_class"][2]["recall"]);
    let (plain, balanced) = (recall("plain"), recall("balanced"));
    assert!(balanced > plain + 0.05, "{balanced} {plain}");

    // A threshold for all rows says little of a class of 3 %; by class, it holds it too.
    let coverage = |more: &[&str]| {
        let found = evaluate("plain", more);
        [&found["sets"]["coverage"], &found["per_class"][2]["coverage"]].map(number)
    };
    let [of_all, of_rare] = coverage(&[]);
    assert!((of_all - 0.9).abs() < 0.03 && of_rare < 0.8, "{of_all} {of_rare}");
    let [of_all, of_rare_by_class] = coverage(&["--by-class"]);
    assert!((of_all - 0.9).abs() < 0.03 && of_rare_by_class > of_rare + 0.08, "{of_all} {of_rare_by_class} {of_rare}");
    let trusted = ["--by-class", "--trusted", "trusted.csv"];
    let [of_all, of_rare] = coverage(&trusted);
    assert!((of_all - 0.9).abs() < 0.03 && (of_rare - 0.9).abs() < 0.09, "{of_all} {of_rare}");
    assert_eq!(coverage(&trusted), coverage(&[&trusted[..], &["--calibration", "trusted"]].concat()));
}

#[test]
fn decisions_are_left_open_where_sets_are_not_small() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_readings(&at.join("train.csv"), 1, 1000, true);
    write_readings(&at.join("new.csv"), 3, 1000, false);
    json(at, &["fit", "train.csv", "--label", "kind", "--model", "forest", "--out", "run"]);
    let predict = ["predict", "run", "new.csv", "--coverage", "0.98", "--json"];
    let rows = |more: &[&str]| {
        let found: Value = serde_json::from_str(&succeed(at, &[&predict[..], more].concat())).unwrap();
        found["predictions"].as_array().unwrap().clone()
    };
    let truth = kinds(&at.join("new.csv"));
    let right = |rows: &[Value]| {
        let decided: Vec<bool> = rows
            .iter()
            .zip(&truth)
            .filter(|(row, _)| !row["predicted_label"].is_null())
            .map(|(row, truth)| row["predicted_label"] == truth.as_str())
            .collect();
        (decided.len(), decided.iter().filter(|&&right| right).count() as f64 / decided.len() as f64)
    };
    let (all, some) = (rows(&[]), rows(&["--abstain-above", "1"]));
    assert!(all[0].get("abstained").is_none());
    for (row, decided) in all.iter().zip(&some) {
        let abstained = row["set_size"] != 1;
        assert_eq!(decided["abstained"], abstained);
        assert_eq!(decided["predicted_label"].is_null(), abstained);
    }
    let ((of_all, before), (of_some, after)) = (right(&all), right(&some));
    assert!(of_all == 1000 && (500..990).contains(&of_some) && after > before, "{of_some} {before} {after}");
}

#[test]
fn a_balanced_model_of_very_unequal_classes_still_tells_the_labels() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Of each hundred rows one is rare, and looks it.
    let mut random = Rng::new(5, 0);
    let mut text = String::from("value,other,kind\n");
    for row in 0..2000 {
        let rare = row % 100 == 17;
        let value = random.normal() + if rare { 6.0 } else { 0.0 };
        let wrong = random.uniform() < 0.003;
        text += &format!("{value:.4},{:.4},{}\n", random.normal(), if rare != wrong { "rare" } else { "common" });
    }
    std::fs::write(at.join("unequal.csv"), text).unwrap();
    let fit = ["fit", "unequal.csv", "--label", "kind", "--model", "forest", "--balance-classes", "--out", "run"];
    let found = json(at, &fit);
    assert!(found["noise"]["rate"].is_number(), "{found}");
    let folds = ["audit", "unequal.csv", "--label", "kind", "--folds", "3", "--model", "linear", "--no-envelope"];
    let folds = [&folds[..], &["--balance-classes"]].concat();
    let found = json(at, &folds);
    assert!(found["warning"].is_null() && number(&found["noise_rate"]) < 0.1, "{found}");
}

#[test]
fn calibration_is_asked_for_in_one_way() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_readings(&at.join("train.csv"), 1, 200, false);
    write_readings(&at.join("new.csv"), 2, 200, false);
    let named = |name: &str| std::fs::read_to_string(at.join("new.csv")).unwrap().replacen("kind", name, 1);
    std::fs::write(at.join("plain.csv"), named("type")).unwrap();
    json(at, &["fit", "train.csv", "--label", "kind", "--model", "forest", "--out", "run"]);
    let trusted = ["--coverage", "0.9", "--trusted", "plain.csv", "--trusted-label", "type"];
    json(at, &[&["predict", "run", "new.csv"][..], &trusted].concat());
    let refused = refuse(at, &["evaluate", "run", "new.csv", "--label", "kind", "--trusted", "new.csv"]);
    assert!(refused.contains("these rows are evaluated on"), "{refused}");
    let predict = ["predict", "run", "train.csv"];
    let refused = |more: &[&str]| refuse(at, &[&predict[..], more].concat());
    for (more, words) in [
        (&["--coverage", "0.9", "--calibration", "trusted"][..], "with --trusted FILE"),
        (&["--coverage", "0.9", "--calibration", "observed", "--trusted", "train.csv"], "leave out --calibration"),
        (&["--coverage", "0.9", "--trusted", "nothing.csv"], "nothing.csv"),
        (&["--coverage", "0.9", "--trusted", "train.csv"], "these rows are trained on"),
        (&["--coverage", "0.9", "--trusted", "plain.csv"], "--trusted-label"),
        (&["--coverage", "0.9", "--trusted", "plain.csv", "--trusted-label", "sort"], "sort"),
        (&["--by-class"], "--coverage 0.9"),
        (&["--trusted", "nothing.csv"], "--coverage 0.9"),
        (&["--abstain-above", "1"], "--coverage"),
    ] {
        let said = refused(more);
        assert!(said.contains(words), "{more:?}: {said}");
    }
}
