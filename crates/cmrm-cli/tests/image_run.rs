//! The folder of a run on images, as `cmrm-images train` leaves it: audited by file, and refused where only rows will do.

mod common;

use cmrm_run::{RunDir, RunInfo, RunKind, TrainingRows};
use common::{cmrm, json, refuse};

#[test]
fn suspects_of_an_image_run_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let text = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let (files, classes) = (text(&["train/cat/0.jpg", "train/cat/1.jpg", "train/dog/0.jpg"]), text(&["cat", "dog"]));
    let rows = TrainingRows {
        rows: vec![0, 1, 2],
        files,
        classes: classes.clone(),
        labels: vec![0, 0, 1],
        rival: vec![1, 1, 0],
        margin: vec![0.9, -0.6, 0.4],
        mean_margin: vec![0.8, -0.5, 0.3],
        weight: vec![1.0, 0.1, 0.9],
        mean_weight: vec![1.0, 0.2, 0.9],
        ..TrainingRows::default()
    };
    rows.write(&run.join("margins.parquet")).unwrap();
    let info = RunInfo::new(classes, text(&["ce"]), "ce".into(), "0".repeat(64));
    let info = RunInfo { kind: RunKind::Images, ..info };
    RunDir::at(&run).finish(&info).unwrap();

    let found = json(folder.path(), &["audit", "run", "--out", "suspects.csv"]);
    assert_eq!((&found["issues"], &found["top"][0]["file"]), (&1.into(), &"train/cat/1.jpg".into()));
    let table = std::fs::read_to_string(folder.path().join("suspects.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("row,file,is_label_issue,"), "{table}");
    assert!(lines[1].starts_with("1,train/cat/1.jpg,true,"), "{table}");
    assert!(cmrm(folder.path(), &["audit", "run"]).status.success());
    assert!(refuse(folder.path(), &["predict", "run", "suspects.csv"]).contains("a run on images"));
}
