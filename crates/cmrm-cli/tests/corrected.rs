//! Metrics of true classes from observed labels, against the same rows with clean labels.

mod common;

use std::collections::{HashMap, HashSet};
use std::fs;

use common::{json, succeed};
use serde_json::Value;

/// The first two cells of every line but the first.
fn cells(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().skip(1).map(|line| {
        let mut cells = line.split(',');
        (cells.next().unwrap().parse().unwrap(), cells.next().unwrap())
    })
}

fn metric<'a>(metrics: &'a Value, name: &str) -> &'a Value {
    metrics.as_array().unwrap().iter().find(|metric| metric["name"] == name).unwrap()
}

#[test]
fn what_a_fit_says_of_true_classes_is_what_clean_labels_say() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let read = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    succeed(at, &["noise", "digits", "--kind", "symmetric:0.3", "--seed", "1", "--out", "noisy.csv"]);
    let fit = ["fit", "noisy.csv", "--label", "label", "--model", "forest"];
    let found = json(at, &[&fit[..], &["--test-share", "0.4", "--out", "run"]].concat());
    assert_eq!(found["judged_by"], "observed");

    // The rows that were held out, with the labels that they had.
    succeed(at, &["audit", "run", "--out", "trained.csv"]);
    let (noisy, flipped, trained) = (read("noisy.csv"), read("noisy.csv.flipped.csv"), read("trained.csv"));
    let clean: HashMap<usize, &str> = cells(&flipped).collect();
    let trained: HashSet<usize> = cells(&trained).map(|(row, _)| row).collect();
    let mut held = format!("{}\n", noisy.lines().next().unwrap());
    for (row, line) in noisy.lines().skip(1).enumerate().filter(|(row, _)| !trained.contains(row)) {
        let (features, label) = line.rsplit_once(',').unwrap();
        held += &format!("{features},{}\n", clean.get(&row).unwrap_or(&label));
    }
    fs::write(at.join("held.csv"), held).unwrap();
    let truth = json(at, &["evaluate", "run", "held.csv"]);
    assert_eq!(truth["rows"], found["data"]["judged_rows"]);

    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    for (arm, truth) in found["arms"].as_array().unwrap().iter().zip(truth["arms"].as_array().unwrap()) {
        for name in ["accuracy", "log_loss", "brier", "ece"] {
            let (corrected, clean) = (metric(&arm["corrected_metrics"], name), metric(&truth["metrics"], name));
            let (low, high, clean) = (number(&corrected["low"]), number(&corrected["high"]), number(&clean["value"]));
            assert!((low..=high).contains(&clean), "{name} {clean}: {corrected}");
        }
        let accuracies = [&arm["metrics"], &arm["corrected_metrics"], &truth["metrics"]];
        let [observed, corrected, clean] = accuracies.map(|of| number(&metric(of, "accuracy")["value"]));
        assert!((corrected - clean).abs() < 0.2 * (clean - observed), "{observed} {corrected} {clean}");
        let last = arm["risk_coverage"]["points"].as_array().unwrap().last().unwrap();
        assert!((1.0 - corrected - number(&last[1])).abs() < 1e-9 && arm["risk_coverage"]["corrected"] == true);
    }
    let text = succeed(at, &["report", "run"]);
    assert!(text.contains("| accuracy, corrected") && text.contains("| ece, corrected"), "{text}");
    let page = read("run/report.html");
    assert!(
        page.contains("accuracy, corrected for wrong labels") && page.contains("corrected for the estimated noise")
    );

    // Without rows held out, those trained on are judged by models that have not seen them.
    let all = json(at, &[&fit[..], &["--out", "all"]].concat());
    assert_eq!(all["judged_by"], "observed-out-of-sample");
    let accuracy = |of: &str| number(&metric(&all["arms"][1][of], "accuracy")["value"]);
    assert!(accuracy("metrics") < 0.75 && (0.9..1.05).contains(&accuracy("corrected_metrics")), "{all}");
}
