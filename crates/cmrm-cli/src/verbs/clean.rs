//! `cmrm clean`: a file of decisions applied to a data file, and a log of what was changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use cmrm_data::table::closest;
use cmrm_data::{Column, Table};
use serde_json::json;

use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::terminal::Terminal;
use crate::whole::{Whole, read_text};

/// The columns that a file of decisions has.
const COLUMNS: [&str; 3] = ["row", "action", "label"];
const ACTIONS: [&str; 3] = ["keep", "relabel", "drop"];

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// The data file, or the name of a data set.
    pub data: String,
    /// CSV with the columns row (from 0, the header not counted), action (keep, relabel or drop) and label.
    pub decisions: PathBuf,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Accept labels that the data does not have yet.
    #[arg(long)]
    pub new_labels: bool,
    /// The new data file: .csv, .tsv or .parquet. What was changed goes to FILE.changes.csv.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// What is to be done with a row.
enum Action {
    Keep,
    Relabel(String),
    Drop,
}

pub fn run(args: &CleanArgs, terminal: &Terminal) -> Result<ExitCode> {
    let mut whole = Whole::read(&args.data, &args.read, terminal)?;
    let classes = whole.encode()?.labels.classes;
    let decisions = Decisions { path: &args.decisions, rows: whole.rows(), classes: &classes, any: args.new_labels };
    let actions = decisions.read()?;

    let old: Vec<String> =
        (0..whole.rows()).map(|row| whole.labels.text(row).unwrap_or_default().into_owned()).collect();
    let mut new = vec![None; old.len()];
    let mut kept = Vec::with_capacity(old.len());
    let mut log: Vec<(usize, &str, &str, &str)> = Vec::new();
    let (mut relabelled, mut dropped) = (0, 0);
    for row in 0..old.len() {
        match actions.get(&row) {
            Some(Action::Drop) => {
                log.push((row, "drop", &old[row], ""));
                dropped += 1;
                continue;
            }
            Some(Action::Relabel(label)) if *label != old[row] => {
                new[row] = Some(label.as_str());
                log.push((row, "relabel", &old[row], label));
                relabelled += 1;
            }
            _ => {}
        }
        kept.push(row);
    }
    if kept.is_empty() {
        return Err(Failure::input(format!(
            "{}: every one of the {} rows is dropped, nothing would be left",
            args.decisions.display(),
            old.len()
        )));
    }
    whole.relabel(&new);
    let table = Table::new(vec![
        Column::numeric("row", log.iter().map(|change| change.0 as f64).collect()),
        Column::categorical("action", &log.iter().map(|change| change.1).collect::<Vec<_>>()),
        Column::categorical("original", &log.iter().map(|change| change.2).collect::<Vec<_>>()),
        Column::categorical("new", &log.iter().map(|change| change.3).collect::<Vec<_>>()),
    ])?;
    let log_path = whole.write(&args.out, Some(&kept), ("changes", table))?;
    let object = json!({
        "schema": "cmrm/clean/1", "data": args.data, "decisions": args.decisions, "rows": old.len(),
        "relabelled": relabelled, "dropped": dropped, "rows_written": kept.len(), "out": args.out, "log": log_path,
    });
    let text = format!(
        "{}: {} rows, {relabelled} relabelled, {dropped} dropped; the changes are in {}\n",
        args.out.display(),
        kept.len(),
        log_path.display()
    );
    terminal.result(&object, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// A file of decisions, and what it is checked against.
struct Decisions<'a> {
    path: &'a Path,
    rows: usize,
    classes: &'a [String],
    /// Whether labels need not be among the classes.
    any: bool,
}

impl Decisions<'_> {
    fn read(&self) -> Result<HashMap<usize, Action>> {
        let table = read_text(self.path)?;
        let names = table.names();
        let find = |name: &str| {
            table.column(name).ok_or_else(|| {
                let near = hint(name, &names);
                Failure::input(format!(
                    "{}: there is no column '{name}'{near}; a file of decisions has the columns {}",
                    self.path.display(),
                    COLUMNS.join(", ")
                ))
            })
        };
        let [rows, actions] = [find(COLUMNS[0])?, find(COLUMNS[1])?];
        // Decisions that only keep and drop need no labels.
        let labels = table.column(COLUMNS[2]);
        let mut decided: HashMap<usize, (usize, Action)> = HashMap::new();
        for at in 0..table.rows() {
            let cell = |column: &Column| column.text(at).unwrap_or_default().trim().to_owned();
            let row = self.row(at, &cell(rows))?;
            let action = match cell(actions).as_str() {
                "keep" => Action::Keep,
                "drop" => Action::Drop,
                "relabel" => Action::Relabel(self.label(at, labels.map(cell).unwrap_or_default())?),
                other => {
                    let near = hint(other, &ACTIONS);
                    return Err(self.bad(
                        at,
                        "action",
                        format!("'{other}' is no action{near}; use keep, relabel or drop"),
                    ));
                }
            };
            if let Some((first, _)) = decided.insert(row, (at, action)) {
                let what = format!("row {row} is decided twice, first in row {first}; delete one of the two");
                return Err(self.bad(at, "row", what));
            }
        }
        Ok(decided.into_iter().map(|(row, (_, action))| (row, action)).collect())
    }

    fn row(&self, at: usize, text: &str) -> Result<usize> {
        let last = self.rows.saturating_sub(1);
        match text.parse::<usize>() {
            Ok(row) if row < self.rows => Ok(row),
            Ok(row) => {
                let what = format!("the data has {} rows, 0 to {last}; there is no row {row}", self.rows);
                Err(self.bad(at, "row", what))
            }
            Err(_) => Err(self.bad(at, "row", format!("'{text}' is no row number; use 0 to {last}"))),
        }
    }

    fn label(&self, at: usize, label: String) -> Result<String> {
        if label.is_empty() {
            return Err(self.bad(at, "label", "relabel needs a label, and the cell is empty or the column absent"));
        }
        if self.any || self.classes.contains(&label) {
            return Ok(label);
        }
        let near = hint(&label, self.classes);
        let what = format!(
            "'{label}' is none of the {} labels in the data{near}; correct it, or add --new-labels",
            self.classes.len()
        );
        Err(self.bad(at, "label", what))
    }

    fn bad(&self, at: usize, column: &str, what: impl std::fmt::Display) -> Failure {
        Failure::input(format!("{}: row {at}, column '{column}': {what}", self.path.display()))
    }
}

fn hint<S: AsRef<str>>(wrong: &str, known: &[S]) -> String {
    closest(wrong, known).first().map(|near| format!(", did you mean '{near}'?")).unwrap_or_default()
}
