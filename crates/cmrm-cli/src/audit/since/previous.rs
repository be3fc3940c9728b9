//! An audit of before: the file of its rows, or the run whose rows were judged.

use std::path::Path;

use cmrm::drift::RateEstimate;
use cmrm_data::read::read_text;
use cmrm_data::{Column, Table};
use cmrm_run::{RunDir, RunInfo, WRONG_PROBABILITY};

use super::{DECIDED, STATUS};
use crate::audit::audited::ROW_FINGERPRINT;
use crate::failure::{Failure, Result};
use crate::sources::source;

/// What is known of the rows of before; the optional lists are empty where that is not known.
pub struct Previous {
    pub rows: Vec<u64>,
    /// The id of each row, or its file where each is one.
    pub ids: Vec<String>,
    /// What each row holds, wherever it stands.
    pub digests: Vec<u64>,
    pub given: Vec<String>,
    pub suspect: Vec<bool>,
    /// Whether the models predicted another label, suspect or not.
    pub doubted: Vec<bool>,
    /// Whether the row's label had been decided on before that audit.
    pub decided: Vec<bool>,
    pub noise: Option<RateEstimate>,
    /// The run, if it is one.
    pub run: Option<(RunDir, RunInfo)>,
}

impl Previous {
    /// Reads either.
    pub fn read(path: &Path) -> Result<Self> {
        if path.is_dir() { Previous::of_run(path) } else { Previous::of_file(path) }
    }

    fn of_run(path: &Path) -> Result<Self> {
        let (run, info) = RunDir::open(path)?;
        let rows = run.read_rows(&info)?;
        let mut suspect = vec![false; rows.len()];
        rows.suspects().into_iter().for_each(|at| suspect[at] = true);
        // Runs on images need not have a summary.
        let noise = run.read_summary().ok().and_then(|summary| summary.noise);
        Ok(Previous {
            given: rows.labels.iter().map(|&label| rows.name(label).to_owned()).collect(),
            decided: vec![false; rows.len()],
            digests: Vec::new(),
            suspect,
            doubted: rows.margin.iter().map(|&margin| margin < 0.0).collect(),
            noise: noise.map(|noise| RateEstimate { rate: noise.rate, interval: noise.interval }),
            rows: rows.rows,
            ids: if rows.ids.is_empty() { rows.files } else { rows.ids },
            run: Some((run, info)),
        })
    }

    fn of_file(path: &Path) -> Result<Self> {
        let table = read_text(&source("the earlier audit", path)?)?;
        let file = File { path, table: &table };
        let rows = file.parsed("row", |text| text.parse::<u64>().ok(), "a row number")?;
        let suspect = file.parsed("is_label_issue", parse_flag, "true or false")?;
        let wrong = match table.column(WRONG_PROBABILITY) {
            Some(_) => Some(file.parsed(WRONG_PROBABILITY, |text| text.parse::<f64>().ok(), "a number")?),
            None => None,
        };
        let noise = wrong.filter(|wrong| !wrong.is_empty());
        let noise = noise.map(|wrong| RateEstimate::of_wrong_probabilities(&wrong)).transpose();
        let digests = match table.column(ROW_FINGERPRINT) {
            Some(_) => file.parsed(ROW_FINGERPRINT, parse_digest, "a fingerprint that `cmrm audit` has written")?,
            None => Vec::new(),
        };
        let given: Vec<String> = texts(file.column("given_label")?).collect();
        Ok(Previous {
            decided: match table.column(STATUS) {
                Some(column) => texts(column).map(|status| status == DECIDED).collect(),
                None => vec![false; rows.len()],
            },
            ids: table.column("id").or(table.column("file")).map(|column| texts(column).collect()).unwrap_or_default(),
            doubted: match table.column("predicted_label") {
                Some(predicted) => texts(predicted).zip(&given).map(|(predicted, given)| predicted != *given).collect(),
                None => suspect.clone(),
            },
            given,
            noise: noise.map_err(|error| Failure::input(format!("{}: {error}", path.display())))?,
            rows,
            digests,
            suspect,
            run: None,
        })
    }

    /// The place of each row of its data, by its number.
    pub fn places(&self) -> std::collections::HashMap<u64, usize> {
        self.rows.iter().copied().zip(0..).collect()
    }
}

struct File<'a> {
    path: &'a Path,
    table: &'a Table,
}

impl File<'_> {
    fn column(&self, name: &str) -> Result<&Column> {
        self.table.column(name).ok_or_else(|| {
            Failure::input(format!(
                "--since {}: no column '{name}'; name a file that `cmrm audit … --out FILE` has written, or the folder of a run",
                self.path.display()
            ))
        })
    }

    fn parsed<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>, expected: &str) -> Result<Vec<T>> {
        let one = |(row, text): (usize, String)| {
            parse(text.trim()).ok_or_else(|| {
                Failure::input(format!(
                    "--since {}: row {row}, column '{name}': '{text}' is not {expected}; name the file as `cmrm audit --out` wrote it",
                    self.path.display()
                ))
            })
        };
        texts(self.column(name)?).enumerate().map(one).collect()
    }
}

fn texts(column: &Column) -> impl Iterator<Item = String> + '_ {
    (0..column.len()).map(|row| column.text(row).unwrap_or_default().into_owned())
}

fn parse_flag(text: &str) -> Option<bool> {
    // Spreadsheets write them in capitals.
    [("true", true), ("false", false)]
        .into_iter()
        .find(|(name, _)| text.eq_ignore_ascii_case(name))
        .map(|found| found.1)
}

/// What [`fingerprint`] has written.
fn parse_digest(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix('r')?, 16).ok()
}

/// A digest as a cell. It begins with a letter, so that no spreadsheet takes it for a number.
pub fn fingerprint(digest: u64) -> String {
    format!("r{digest:016x}")
}
