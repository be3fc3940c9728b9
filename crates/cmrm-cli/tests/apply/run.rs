//! A small run to apply, made once.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use cmrm_data::{Column, Table};
use tempfile::TempDir;

use crate::common;

pub const CLASSES: [&str; 3] = ["cat", "dog", "a|b"];

/// Every file is named in full.
const HERE: &str = ".";

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs and expects exit code 0.
pub fn succeed(args: &[&str]) -> Output {
    let output = common::cmrm(Path::new(HERE), args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    output
}

/// Runs, expects exit code 2 and nothing on standard output, and gives the message.
pub fn refuse(args: &[&str]) -> String {
    common::refuse(Path::new(HERE), args)
}

/// Rows around three centres, in sixty-fourths, so that text, doubles and floats all hold them exactly.
pub fn features(rows: usize, salt: u64) -> (Vec<Vec<f64>>, Vec<usize>) {
    let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ salt;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 256) as f64 / 64.0 - 2.0
    };
    let labels: Vec<usize> = (0..rows).map(|i| i % 3).collect();
    let rows = labels.iter().map(|&k| (0..4).map(|j| draw() + if j == k { 2.5 } else { 0.0 }).collect()).collect();
    (rows, labels)
}

pub fn columns(rows: &[Vec<f64>]) -> Vec<Column> {
    let names = ["a", "b", "c", "d"].iter().enumerate();
    names.map(|(j, name)| Column::numeric(*name, rows.iter().map(|row| row[j]).collect())).collect()
}

pub fn table(rows: &[Vec<f64>], labels: &[usize]) -> Table {
    let mut columns = columns(rows);
    let ids: Vec<String> = (0..rows.len()).map(|i| format!("r{i}")).collect();
    columns.insert(0, Column::categorical("id", &ids));
    columns.push(Column::categorical("label", &labels.iter().map(|&k| CLASSES[k]).collect::<Vec<_>>()));
    Table::new(columns).unwrap()
}

pub struct Run {
    pub folder: TempDir,
}

impl Run {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// A finished run in `run`, with `train.csv` and `test.csv` beside it.
pub fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let run = Run { folder: tempfile::tempdir().unwrap() };
        for (name, rows, salt) in [("train.csv", 300, 1), ("test.csv", 90, 2)] {
            let (rows, labels) = features(rows, salt);
            cmrm_data::write::write_table(&run.path(name), &table(&rows, &labels)).unwrap();
        }
        fit(&run, "run", &[]);
        run
    })
}

pub fn fit(run: &Run, out: &str, more: &[&str]) {
    let (train, test, out) = (run.name("train.csv"), run.name("test.csv"), run.name(out));
    let args = ["fit", &train, "--label", "label", "--id", "id", "--test", &test, "--out", &out, "--quiet"];
    let fixed = ["--seed", "1", "--epochs", "8", "--hidden", "8", "--batch", "32"];
    succeed(&[&args[..], &fixed[..], more].concat());
}

/// A copy of the run that a test may spoil.
pub fn copy() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(run().path("run")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let name = folder.path().to_str().unwrap().to_owned();
    (folder, name)
}

/// Cells of a CSV text without quoted delimiters: the header, then the rows.
pub fn cells(csv: &str) -> Vec<Vec<String>> {
    csv.lines().map(|line| line.split(',').map(String::from).collect()).collect()
}

pub fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
