//! How good an audit is, by labels that are flipped on purpose.

mod common;

use common::{json, refuse, succeed, write_table};

#[test]
fn planted_flips_tell_recall_and_precision_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let fit = ["fit", "digits", "--noise", "symmetric:0.2", "--model", "forest", "--out", "run"];
    let truth = json(at, &fit)["suspects"].clone();
    let before = std::fs::read_to_string(at.join("run/report.html")).unwrap();
    let record = std::fs::read(at.join("run/margins.parquet")).unwrap();
    let audit = json(at, &["audit", "run", "--self-check"]);
    let check = &audit["self_check"];
    assert_eq!(audit["issues"], check["suspects"]);
    assert_eq!(audit["expected"]["recall"], check["expected_recall"]);
    // A tenth of the rows.
    assert_eq!(number(&check["planted"]) as u64, audit["rows"].as_u64().unwrap() / 10);
    assert!(number(&check["found"]) <= number(&check["planted"]));
    for (name, known) in [("recall", &truth["recall"]), ("precision", &truth["precision"])] {
        let (low, high) = (number(&check[name]["low"]), number(&check[name]["high"]));
        assert!(low - 0.04 < number(known) && number(known) < high + 0.04, "{name}: {known}, {check}");
        assert!(high - low < 0.25 && low <= number(&check[name]["value"]), "{check}");
    }
    assert!(number(&check["recall_of_hard"]["value"]) <= number(&check["recall"]["value"]), "{check}");
    assert!((number(&check["noise_found"]) - number(&check["noise_due"])).abs() < 0.04, "{check}");
    assert!(number(&check["noise_due"]) > number(&check["noise_before"]) + 0.08, "{check}");
    assert!(number(&check["planted_wrong_probability"]) > 10.0 * number(&check["right_wrong_probability"]), "{check}");
    assert!(number(&check["false_alarms"]) < 0.1 * number(&check["looked_right"]), "{check}");

    // It is kept, in the report too, and nothing else of the run has changed.
    let kept = std::fs::read_to_string(at.join("run/self-check.json")).unwrap();
    assert_eq!(&serde_json::from_str::<serde_json::Value>(&kept).unwrap(), check);
    let page = std::fs::read_to_string(at.join("run/report.html")).unwrap();
    assert!(!before.contains("figure-self-check") && page.contains("figure-self-check"));
    assert_eq!(std::fs::read(at.join("run/margins.parquet")).unwrap(), record);
    assert_eq!(&json(at, &["report", "run"])["self_check"], check);
    let words = succeed(at, &["report", "run"]);
    assert!(words.contains(" labels were flipped on purpose") && words.contains("- recall: "), "{words}");
    assert!(succeed(at, &["report", "run", "--figures", "figures"]).contains("self-check.svg"));

    // The same again, but of a surer list.
    let sure = &json(at, &["audit", "run", "--self-check", "--precision", "0.99"])["self_check"];
    assert_eq!((&sure["planted"], &sure["wanted_precision"]), (&check["planted"], &serde_json::json!(0.99)));
    assert!(number(&sure["found"]) < number(&check["found"]), "{sure}");
    assert!(number(&sure["suspects"]) < number(&check["suspects"]));
}

#[test]
fn the_data_of_a_table_is_read_again_where_it_is_now() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_table(&at.join("table.csv"), 400);
    json(at, &["noise", "table.csv", "--label", "churned", "--kind", "symmetric:0.1", "--out", "noisy.csv"]);
    let fit = ["fit", "noisy.csv", "--label", "churned", "--model", "boosting", "--test-share", "0.2", "--out", "run"];
    json(at, &fit);
    std::fs::rename(at.join("noisy.csv"), at.join("moved.csv")).unwrap();
    let refused = refuse(at, &["audit", "run", "--self-check"]);
    assert!(refused.contains("name it with --data"), "{refused}");
    let refused = refuse(at, &["audit", "run", "--self-check", "--data", "table.csv"]);
    assert!(refused.contains("fingerprints differ"), "{refused}");
    let refused = refuse(at, &["audit", "run", "--data", "moved.csv"]);
    assert!(refused.contains("--columns, --self-check and --since"), "{refused}");
    let refused = refuse(at, &["audit", "run", "--self-check", "--data", "moved.csv", "--out", "moved.csv"]);
    assert!(refused.contains("the data file itself"), "{refused}");
    assert!(!at.join("run/self-check.json").exists());
    let text = succeed(at, &["audit", "run", "--self-check", "--data", "moved.csv", "--top", "0"]);
    assert!(text.contains("Self-check: 32 labels were flipped on purpose"), "{text}");
    assert!(text.contains("hard rows"), "{text}");
}

#[test]
fn what_cannot_be_fitted_again_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_table(&at.join("table.csv"), 60);
    let table = ["table.csv", "--label", "churned"];
    let fit = |more: &[&str]| json(at, &[&["fit"], &table[..], more].concat());
    fit(&["--model", "linear", "--out", "linear"]);
    let refused = refuse(at, &["audit", "linear", "--self-check"]);
    assert!(refused.contains("a run of linear") && refused.contains("--model auto"), "{refused}");
    fit(&["--model", "forest", "--out", "few"]);
    let refused = refuse(at, &["audit", "few", "--self-check"]);
    assert!(refused.contains("collect more rows"), "{refused}");
    for cross in [&["--folds", "3"][..], &["--folds", "3", "--columns", "--out", "x.csv"]] {
        let refused = refuse(at, &[&["audit"], &table[..], &["--self-check"], cross].concat());
        assert!(refused.contains("--folds"), "{refused}");
    }
    std::fs::write(at.join("p.csv"), "a,b\n0.9,0.1\n").unwrap();
    std::fs::write(at.join("y.csv"), "label\n0\n").unwrap();
    let refused = refuse(at, &["audit", "--pred-probs", "p.csv", "--labels", "y.csv", "--self-check"]);
    assert!(refused.contains("there is none") && refused.contains("cmrm fit"), "{refused}");
}
