//! The loop as people go through it: wrong labels, fit, review, clean, and a better fit.

mod common;

use std::collections::HashMap;
use std::fs;

use cmrm_report::{Card, Content, Neighbour};
use cmrm_run::{RunDir, RunInfo, RunKind};
use common::review::Review;
use common::{json, refuse};

/// Accuracy of the base arm, which learns wrong labels by heart to its last epoch. With the envelope, a fit is nearly as good
/// before the decisions as after them.
fn accuracy(fit: &serde_json::Value) -> f64 {
    assert_eq!(fit["arms"][0]["name"], "base");
    fit["arms"][0]["metrics"][0]["value"].as_f64().unwrap()
}

#[test]
fn decisions_by_the_true_labels_make_the_next_fit_better() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    json(folder.path(), &["noise", "digits", "--kind", "symmetric:0.4", "--seed", "5", "--out", "all.csv"]);
    let text = fs::read_to_string(at("all.csv")).unwrap();
    let flipped = fs::read_to_string(at("all.csv.flipped.csv")).unwrap();
    let originals: HashMap<usize, &str> = flipped
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|cells| (cells[0].parse().unwrap(), cells[1]))
        .collect();
    // The first 1400 rows are labelled partly wrong; the others keep their labels and judge.
    let (header, rows) = text.split_once('\n').unwrap();
    let label = header.rsplit(',').next().unwrap().to_owned();
    let rows: Vec<(&str, &str)> = rows.lines().map(|line| line.rsplit_once(',').unwrap()).collect();
    let truth = |row: usize| originals.get(&row).copied().unwrap_or(rows[row].1);
    let noisy: String = rows[..1400].iter().map(|(cells, label)| format!("{cells},{label}\n")).collect();
    let test: String = (1400..rows.len()).map(|row| format!("{},{}\n", rows[row].0, truth(row))).collect();
    fs::write(at("noisy.csv"), format!("{header}\n{noisy}")).unwrap();
    fs::write(at("test.csv"), format!("{header}\n{test}")).unwrap();

    let fit = |data: &str, out: &str| {
        let arguments = ["fit", data, "--test", "test.csv", "--label", &label, "--keep", "last", "--out", out];
        accuracy(&json(folder.path(), &arguments))
    };
    let before = fit("noisy.csv", "first");
    json(folder.path(), &["audit", "first", "--out", "suspects.csv"]);
    assert!(refuse(folder.path(), &["review", "first", "--export", "none.csv"]).contains("no decisions yet"));

    let decided = {
        let review = Review::start(folder.path(), &["first"]);
        let list: serde_json::Value = serde_json::from_str(&review.ask("GET list", "")).unwrap();
        let items = list["items"].as_array().unwrap();
        // The same rows in the same order as the audit's.
        let audit = fs::read_to_string(at("suspects.csv")).unwrap();
        let first: Vec<&str> = audit.lines().skip(1).take(20).map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(first, items.iter().take(20).map(|item| item["row"].to_string()).collect::<Vec<_>>());
        let decided = items.len().min(400);
        for item in &items[..decided] {
            let row = item["row"].as_u64().unwrap() as usize;
            let right = truth(row);
            let decision = if item["given"] == right {
                serde_json::json!({ "row": row, "action": "keep" })
            } else {
                serde_json::json!({ "row": row, "action": "relabel", "label": right })
            };
            review.ask("POST decide", &decision.to_string());
        }
        let card: serde_json::Value =
            serde_json::from_str(&review.ask(&format!("GET card/{}", items[0]["row"]), "")).unwrap();
        assert_eq!(card["content"]["cells"].as_array().unwrap().len(), 64);
        assert_eq!(card["neighbours"].as_array().unwrap().len(), 6);
        fs::write(at("downloaded.csv"), review.ask("GET decisions.csv", "")).unwrap();
        decided
    };
    assert!(decided > 200, "{decided}");

    let export = json(folder.path(), &["review", "first", "--export", "decisions.csv"]);
    assert_eq!(export["decisions"].as_u64(), Some(decided as u64));
    // Each decision says what it was made on, by either way out.
    let exported = fs::read_to_string(at("decisions.csv")).unwrap();
    assert!(exported.starts_with("row,action,label,given_label,fingerprint\n"), "{exported}");
    assert_eq!(exported, fs::read_to_string(at("downloaded.csv")).unwrap());
    let mut sorted: Vec<&str> = noisy.lines().collect();
    sorted.sort_unstable();
    fs::write(at("sorted.csv"), format!("{header}\n{}\n", sorted.join("\n"))).unwrap();
    let other = ["clean", "sorted.csv", "decisions.csv", "--label", &label, "--out", "clean.csv"];
    assert!(refuse(folder.path(), &other).contains("decided on the label "));
    // A run that an earlier version made has no fingerprint of its rows; the labels are known still.
    common::unseal(&at("first"));
    let info = fs::read_to_string(at("first/run.json")).unwrap();
    let line = info.lines().find(|line| line.contains("rows_fingerprint")).unwrap();
    fs::write(at("first/run.json"), info.replace(&format!("{line}\n"), "").replace("\",\n}", "\"\n}")).unwrap();
    json(folder.path(), &["review", "first", "--export", "older.csv"]);
    assert!(fs::read_to_string(at("older.csv")).unwrap().starts_with("row,action,label,given_label\n"));
    json(folder.path(), &["clean", "noisy.csv", "decisions.csv", "--label", &label, "--out", "clean.csv"]);
    let after = fit("clean.csv", "second");
    assert!(after > before + 0.02, "accuracy {before} before, {after} after");
}

#[test]
fn a_review_needs_the_data_that_the_run_was_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let table = |turn: usize| -> String {
        let row = |i: usize| format!("{},{},{}\n", i % 9, (i * 7 + turn) % 11, ["a", "b"][usize::from(i % 9 > 4)]);
        std::iter::once("x,y,kind\n".to_owned()).chain((0..60).map(row)).collect()
    };
    fs::write(folder.path().join("t.csv"), table(0)).unwrap();
    fs::write(folder.path().join("other.csv"), table(1)).unwrap();
    json(folder.path(), &["fit", "t.csv", "--label", "kind", "--epochs", "2", "--out", "run"]);
    let words = refuse(folder.path(), &["review", "run", "--data", "other.csv"]);
    assert!(words.contains("other.csv: not the data that the run was trained on"), "{words}");
    fs::rename(folder.path().join("t.csv"), folder.path().join("moved.csv")).unwrap();
    assert!(refuse(folder.path(), &["review", "run"]).contains("name it with --data"));
    let review = Review::start(folder.path(), &["run", "--data", "moved.csv"]);
    assert!(review.ask("GET list", "").contains(r#""classes":["a","b"]"#));
}

#[test]
fn images_are_shown_as_their_run_kept_them() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let info = RunInfo::new(vec!["cat".into(), "dog".into()], vec!["ce".into()], "ce".into(), "0".repeat(64));
    let info = RunInfo { kind: RunKind::Images, ..info };
    let run_dir = RunDir::at(&run);
    run_dir.finish(&info).unwrap();
    assert!(refuse(folder.path(), &["review", "run"]).contains("cards.json: missing; the run comes from a version"));

    let content = |picture: &str| Content {
        picture: Some(format!("data:image/png;base64,{picture}")),
        cells: Vec::new(),
        more: 0,
    };
    let card = |row, margin, picture| Card {
        row,
        id: None,
        given: "cat".into(),
        suggested: "dog".into(),
        margin,
        content: content(picture),
        neighbours: vec![Neighbour { row: 1, label: "dog".into(), content: content("bmVhcg==") }],
    };
    let cards = [card(7, -0.9, "Zmlyc3Q="), card(2, -0.4, "c2Vjb25k")];
    fs::write(run.join("cards.json"), serde_json::to_string(&cards).unwrap()).unwrap();
    run_dir.finish(&info).unwrap();
    assert!(refuse(folder.path(), &["review", "run", "--data", "pets"]).contains("leave out the flag"));
    {
        let review = Review::start(folder.path(), &["run"]);
        let list: serde_json::Value = serde_json::from_str(&review.ask("GET list", "")).unwrap();
        let rows: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["row"].as_u64()).collect();
        assert_eq!(rows, [Some(7), Some(2)]);
        let shown: Card = serde_json::from_str(&review.ask("GET card/2", "")).unwrap();
        assert_eq!(shown, cards[1]);
        review.ask("POST decide", r#"{"row": 7, "action": "relabel", "label": "dog"}"#);
    }
    json(folder.path(), &["review", "run", "--export", "decisions.csv"]);
    let decisions = fs::read_to_string(folder.path().join("decisions.csv")).unwrap();
    assert_eq!(decisions, "row,action,label\n7,relabel,dog\n");
}
