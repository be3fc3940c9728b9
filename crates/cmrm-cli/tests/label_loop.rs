//! Noise, fit, audit, decisions, clean: the loop of a user with labels that are partly wrong.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{cmrm, json, refuse};

/// The rows of a plain CSV file without quotes.
fn csv(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    (lines.next().unwrap(), lines.collect())
}

#[test]
fn wrong_labels_are_made_found_and_put_right() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);

    let noise =
        json(folder.path(), &["noise", "digits", "--kind", "symmetric:0.2", "--seed", "3", "--out", "noisy.csv"]);
    assert_eq!((noise["schema"].as_str(), noise["rows"].as_u64()), (Some("cmrm/noise/1"), Some(1797)));
    let (header, noisy) = csv(&at("noisy.csv"));
    let label = header.last().unwrap().clone();
    let (log_header, flips) = csv(&at("noisy.csv.flipped.csv"));
    assert_eq!(log_header, ["row", "original", "new"]);
    assert_eq!(noise["flipped"].as_u64(), Some(flips.len() as u64));
    assert_eq!(flips.len(), 359);
    let originals: BTreeMap<usize, String> =
        flips.iter().map(|flip| (flip[0].parse().unwrap(), flip[1].clone())).collect();
    for flip in &flips {
        assert_ne!(flip[1], flip[2]);
        assert_eq!(noisy[flip[0].parse::<usize>().unwrap()].last(), Some(&flip[2]));
    }

    json(
        folder.path(),
        &["fit", "noisy.csv", "--label", &label, "--model", "mlp", "--no-base", "--seed", "1", "--out", "run"],
    );
    let audit = json(folder.path(), &["audit", "run", "--out", "suspects.csv", "--top", "5"]);
    assert_eq!(audit["schema"], "cmrm/audit/1");
    assert_eq!(audit["top"].as_array().unwrap().len(), 5);
    let (header, suspects) = csv(&at("suspects.csv"));
    let columns = [
        "row",
        "is_label_issue",
        "label_score",
        "given_label",
        "predicted_label",
        "suggested_label",
        "margin",
        "mean_margin",
        "weight",
        "rank",
    ];
    assert_eq!(header, columns);
    assert_eq!(audit["rows"].as_u64(), Some(suspects.len() as u64));
    json(folder.path(), &["audit", "run", "--columns", "--out", "with-columns.csv"]);
    let (with_header, with_columns) = csv(&at("with-columns.csv"));
    let data_header: Vec<String> = csv(&at("noisy.csv")).0;
    assert_eq!(with_header[..columns.len()], columns);
    assert_eq!(with_header[columns.len()..], data_header[..data_header.len() - 1]);
    for (found, suspect) in with_columns.iter().zip(&suspects) {
        assert_eq!(found[..columns.len()], suspect[..]);
        let row = &noisy[suspect[0].parse::<usize>().unwrap()];
        assert_eq!(found[columns.len()..], row[..row.len() - 1]);
    }
    fs::rename(at("noisy.csv"), at("moved.csv")).unwrap();
    let refused = refuse(folder.path(), &["audit", "run", "--columns", "--out", "again.csv"]);
    assert!(refused.contains("name it with --data"), "{refused}");
    json(folder.path(), &["audit", "run", "--columns", "--data", "moved.csv", "--out", "again.csv"]);
    assert_eq!(fs::read(at("again.csv")).unwrap(), fs::read(at("with-columns.csv")).unwrap());
    let refused = refuse(folder.path(), &["audit", "run", "--columns", "--data", "moved.csv", "--out", "moved.csv"]);
    assert!(refused.contains("moved.csv"), "{refused}");
    fs::rename(at("moved.csv"), at("noisy.csv")).unwrap();
    let issues: Vec<_> = suspects.iter().filter(|row| row[1] == "true").collect();
    assert_eq!(audit["issues"].as_u64(), Some(issues.len() as u64));
    let found = issues.iter().filter(|row| originals.contains_key(&row[0].parse().unwrap())).count();
    assert!(found as f64 > 0.8 * issues.len() as f64, "{found} of {}", issues.len());
    assert!(issues.len() > 200, "{}", issues.len());
    let counted: u64 = audit["pairs"].as_array().unwrap().iter().map(|pair| pair["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, issues.len() as u64);

    // The share is about a fifth: above a tenth, and not above a half.
    assert_eq!(cmrm(folder.path(), &["audit", "run", "--fail-above", "0.1"]).status.code(), Some(1));
    assert_eq!(cmrm(folder.path(), &["audit", "run", "--fail-above", "0.5"]).status.code(), Some(0));
    assert!(refuse(folder.path(), &["audit", "run", "--fail-above", "2"]).contains("from 0 to 1"));

    let mut decisions = String::from("row,action,label\n");
    let dropped: usize = issues[0][0].parse().unwrap();
    decisions += &format!("{dropped},drop,\n");
    for issue in &issues[1..] {
        decisions += &format!("{},relabel,{}\n", issue[0], issue[5]);
    }
    fs::write(at("decisions.csv"), decisions).unwrap();
    let clean = json(folder.path(), &["clean", "noisy.csv", "decisions.csv", "--label", &label, "--out", "clean.csv"]);
    assert_eq!((clean["dropped"].as_u64(), clean["relabelled"].as_u64()), (Some(1), Some(issues.len() as u64 - 1)));
    let (_, cleaned) = csv(&at("clean.csv"));
    assert_eq!(cleaned.len(), 1796);
    let wrong_before = noisy.len() - (noisy.len() - flips.len());
    let kept = (0..noisy.len()).filter(|&row| row != dropped);
    let truth = |row: usize| originals.get(&row).unwrap_or(noisy[row].last().unwrap()).clone();
    let wrong_after = kept.clone().zip(&cleaned).filter(|(row, now)| *now.last().unwrap() != truth(*row)).count();
    assert!(wrong_after * 2 < wrong_before, "{wrong_after} wrong labels, {wrong_before} before");
    // Nothing but labels has changed.
    for (row, now) in kept.zip(&cleaned) {
        assert_eq!(noisy[row][..64], now[..64]);
    }
    assert_eq!(csv(&at("clean.csv.changes.csv")).1.len(), issues.len());
}

/// An NPY file of doubles or of 64-bit integers.
fn npy(path: &Path, kind: &str, shape: &str, data: &[[u8; 8]]) {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(data.concat());
    fs::write(path, bytes).unwrap();
}

#[test]
fn anyones_probabilities_are_audited() {
    let folder = tempfile::tempdir().unwrap();
    // Two classes, told apart well; rows 3 and 8 carry the other's label.
    let labels: Vec<i64> = (0..12).map(|row| if row == 3 || row == 8 { 1 - row % 2 } else { row % 2 }).collect();
    let probabilities: Vec<[u8; 8]> =
        (0..12).flat_map(|row| if row % 2 == 0 { [0.9f64, 0.1] } else { [0.1, 0.9] }).map(f64::to_le_bytes).collect();
    npy(&folder.path().join("p.npy"), "<f8", "(12, 2)", &probabilities);
    let write = |labels: &[i64]| {
        let bytes: Vec<[u8; 8]> = labels.iter().map(|label| label.to_le_bytes()).collect();
        npy(&folder.path().join("y.npy"), "<i8", &format!("({},)", labels.len()), &bytes);
    };
    write(&labels);
    let args = ["audit", "--pred-probs", "p.npy", "--labels", "y.npy"];
    let audit = json(folder.path(), &[&args[..], &["--out", "s.parquet"]].concat());
    let rows: Vec<u64> = audit["top"].as_array().unwrap().iter().map(|row| row["row"].as_u64().unwrap()).collect();
    assert_eq!((rows, audit["issues"].as_u64()), (vec![3, 8], Some(2)));
    assert_eq!(audit["noise_rate_from"], "confident joint");
    assert!((audit["noise_rate"].as_f64().unwrap() - 2.0 / 12.0).abs() < 1e-9);
    assert_eq!(audit["top"][0]["suggested_label"], "1");
    assert_eq!(fs::read(folder.path().join("s.parquet")).unwrap()[..4], *b"PAR1");

    write(&[labels.as_slice(), &[0]].concat());
    assert!(refuse(folder.path(), &args).contains("13 labels for the 12 rows of p.npy"));
    let mut wrong = labels.clone();
    wrong[5] = 2;
    write(&wrong);
    assert!(refuse(folder.path(), &args).contains("y.npy: row 5: label 2 is not a column of p.npy"));
    assert!(refuse(folder.path(), &["audit", "nothing-here"]).contains("nothing-here: not a folder"));
    refuse(folder.path(), &["audit"]);
}

#[test]
fn a_data_set_is_audited_by_cross_fitting() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    json(folder.path(), &["noise", "digits", "--kind", "symmetric:0.2", "--seed", "3", "--out", "noisy.csv"]);
    let (header, noisy) = csv(&at("noisy.csv"));
    let flipped: Vec<String> = csv(&at("noisy.csv.flipped.csv")).1.into_iter().map(|flip| flip[0].clone()).collect();
    let label = header.last().unwrap();
    let folds = ["audit", "noisy.csv", "--label", label, "--folds", "3", "--hidden", "48"];
    let audit = json(folder.path(), &[&folds[..], &["--out", "s.csv", "--probabilities-out", "p.npy"]].concat());
    assert_eq!((audit["rows"].as_u64(), audit["schema"].as_str()), (Some(1797), Some("cmrm/audit/1")));
    let (_, suspects) = csv(&at("s.csv"));
    // The most suspicious fifth, which is how many are wrong: mostly the ones that were made so.
    let found = suspects.iter().take(flipped.len()).filter(|row| flipped.contains(&row[0])).count();
    assert!(found as f64 > 0.85 * flipped.len() as f64, "{found} of {}", flipped.len());

    // Neither threads nor the way of asking change a number.
    json(folder.path(), &[&folds[..], &["--out", "t.csv", "--threads", "1"]].concat());
    assert_eq!(fs::read(at("s.csv")).unwrap(), fs::read(at("t.csv")).unwrap());
    let labels: String = noisy.iter().map(|row| format!("{}\n", row.last().unwrap())).collect();
    fs::write(at("y.csv"), format!("label\n{labels}")).unwrap();
    json(folder.path(), &["audit", "--pred-probs", "p.npy", "--labels", "y.csv", "--out", "u.csv"]);
    assert_eq!(fs::read(at("s.csv")).unwrap(), fs::read(at("u.csv")).unwrap());
    let plain = json(folder.path(), &[&folds[..], &["--no-envelope", "--score", "self_confidence"]].concat());
    assert_ne!(plain["top"], audit["top"]);

    let with = |more: &[&str]| refuse(folder.path(), &[&["audit", "noisy.csv", "--label", label], more].concat());
    assert!(with(&["--folds", "1"]).contains("--folds 1 is out of range: expected 2 to 1797"));
    assert!(with(&[]).contains("add --folds K"));
    assert!(with(&["--folds", "3", "--score", "margin"]).contains("normalized_margin"));
    fs::write(at("rare.csv"), "x,y\n1,a\n2,a\n3,b\n").unwrap();
    let words = refuse(folder.path(), &["audit", "rare.csv", "--label", "y", "--folds", "2"]);
    assert!(words.contains("class 'b' has a single row, 2"), "{words}");
}
