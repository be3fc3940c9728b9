//! Tables as wide as those of gene expression: every line is longer than the sample that the form is detected from.

mod common;

use std::fs;
use std::path::Path;

use common::{cmrm, succeed};
use serde_json::Value;

const COLUMNS: usize = 60_000;
const ROWS: usize = 40;

/// Two classes that differ in every tenth column. Half of the columns behind the first hundred have one value, like genes
/// that no sample expresses.
fn write(path: &Path, header: bool, label_first: bool) {
    let line = |label: &str, mut cells: Vec<String>| {
        cells.insert(if label_first { 0 } else { cells.len() }, label.into());
        cells.join(",") + "\n"
    };
    let cell = |row: usize, at: usize| match at {
        _ if at >= 100 && at.is_multiple_of(2) => 0,
        _ if at % 10 == 1 => (row % 2) * 40 + (row * at) % 17,
        _ => (row * 31 + at * 7) % 23,
    };
    let mut text = String::new();
    if header {
        text += &line("class", (0..COLUMNS).map(|at| format!("gene{at}")).collect());
    }
    for row in 0..ROWS {
        text += &line(["sick", "well"][row % 2], (0..COLUMNS).map(|at| format!("{}.5", cell(row, at))).collect());
    }
    fs::write(path, text).unwrap();
}

#[test]
fn sixty_thousand_columns_fit_with_or_without_a_header_and_the_label_first_or_last() {
    let folder = tempfile::tempdir().unwrap();
    let mut accuracies = Vec::new();
    for (header, label_first) in [(true, true), (true, false), (false, true), (false, false)] {
        write(&folder.path().join("wide.csv"), header, label_first);
        let label = if label_first { "0" } else { "-1" };
        let out = format!("run-{header}-{label_first}");
        let fit = ["fit", "wide.csv", "--label", label, "--hidden", "4", "--epochs", "2", "--out", &out, "--json"];
        let output = cmrm(folder.path(), &fit);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
        // One sentence for all constant columns, not thirty thousand.
        assert!(words.lines().count() < 10 && words.contains("29950 columns have at most one value"), "{words}");
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        let data = &summary["data"];
        let sizes = ["train_rows", "validation_rows", "features", "classes"].map(|name| data[name].as_u64().unwrap());
        assert_eq!(sizes, [36, 4, 30_050, 2], "{header} {label_first}");
        accuracies.push(summary["arms"].clone());
    }
    // Neither names nor the label's place are learned from.
    assert!(accuracies.iter().all(|arms| *arms == accuracies[0]));
    let predict = ["predict", "run-true-true", "wide.csv", "--label", "-1", "--out", "p.csv", "-q"];
    succeed(folder.path(), &predict);
    let predictions = fs::read_to_string(folder.path().join("p.csv")).unwrap();
    assert_eq!(predictions.lines().count(), ROWS + 1);
}

/// Rows times classes are 800 MB for each arm, which the report once held for both.
#[cfg(target_os = "linux")]
#[test]
fn twenty_thousand_rows_of_ten_thousand_classes_fit_into_900_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..20_000).map(|row| format!("{},{}\n", row % 7, row / 2)).collect();
    fs::write(folder.path().join("many.csv"), format!("x,y\n{rows}")).unwrap();
    let line = format!(
        "ulimit -v 900000; {} fit many.csv --label y --hidden 4 --epochs 1 --batch 1024 --threads 2 --out run",
        env!("CARGO_BIN_EXE_cmrm")
    );
    let output = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let doubt = "note: 10000 classes for 20000 rows, 2.0 rows per class: check that the label column is the right one";
    assert!(words.contains(doubt), "{words}");
}
