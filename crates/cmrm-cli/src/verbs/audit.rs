//! `cmrm audit`: the labels that look wrong, most suspicious first.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use cmrm::audit::{Audit, AuditOptions, MarginOptions, rank, rank_margins};
use cmrm_data::read::{ReadOptions, Source, read, read_labels};
use cmrm_data::table::Values;
use cmrm_data::write::write_table;
use cmrm_data::{Array, Column, Features, LabelOptions, LabelledRows, Override, Table};
use serde_json::{Value, json};

use crate::failure::{FINDINGS, Failure, Result};
use crate::run_dir::RunDir;
use crate::terminal::Terminal;
use crate::whole::tidy;

/// Pairs of labels named on a terminal.
const PAIRS: usize = 10;

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// The folder of a run, as `cmrm fit --out` made it.
    #[arg(required_unless_present = "pred_probs", conflicts_with_all = ["pred_probs", "labels"])]
    pub run: Option<PathBuf>,
    /// Probabilities of the classes, a row per example, from a model that was not trained on the example.
    #[arg(long, value_name = "FILE", requires = "labels")]
    pub pred_probs: Option<PathBuf>,
    /// The given labels: class indices, or names, which count in sorted order.
    #[arg(long, value_name = "FILE", requires = "pred_probs")]
    pub labels: Option<PathBuf>,
    /// Write the whole table, most suspicious row first: .csv, .tsv or .parquet.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Suspects to show.
    #[arg(long, default_value_t = 10)]
    pub top: usize,
    /// Exit code 1 if the share of label issues is above this.
    #[arg(long, value_name = "SHARE")]
    pub fail_above: Option<f64>,
}

/// An audit with what belongs to its rows.
struct Audited {
    audit: Audit,
    /// Where each row stands in the data.
    rows: Vec<u64>,
    labels: Vec<u32>,
    classes: Vec<String>,
    /// Further columns, by name.
    more: Vec<(&'static str, Vec<f64>)>,
    /// Whether the label is truly wrong, where that is known.
    wrong: Option<Vec<bool>>,
    source: PathBuf,
}

pub fn run(args: &AuditArgs, terminal: &Terminal) -> Result<ExitCode> {
    if let Some(share) = args.fail_above.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(Failure::input(format!("--fail-above {share} is out of range: expected a share from 0 to 1")));
    }
    let audited = match (&args.run, &args.pred_probs, &args.labels) {
        (Some(run), _, _) => from_run(run)?,
        (None, Some(probabilities), Some(labels)) => from_probabilities(probabilities, labels)?,
        _ => return Err(Failure::input("name a run, or give both --pred-probs and --labels")),
    };
    if let Some(out) = &args.out {
        write_table(out, &audited.table()?)?;
    }
    let share = audited.share();
    let failed = args.fail_above.is_some_and(|limit| share > limit);
    terminal.result(&audited.json(args, failed), &audited.text(args))?;
    if failed {
        let limit = args.fail_above.unwrap_or_default();
        terminal.say(format!("the share of label issues {share:.4} is above {limit}"));
        return Ok(ExitCode::from(FINDINGS));
    }
    Ok(ExitCode::SUCCESS)
}

/// From what a single training run recorded of its rows.
fn from_run(path: &Path) -> Result<Audited> {
    let (run, info) = RunDir::open(path)?;
    let file = run.file("margins.parquet");
    let mut options = ReadOptions::default();
    for name in ["given_label", "rival_label"] {
        options.overrides.insert(name.into(), Override::Categorical);
    }
    let Features::Table(table) = read(&Source::file(&file), &options)?.features else {
        return Err(Failure::input(format!("{}: not a table; fit again", file.display())));
    };
    let column = |name: &str| {
        let missing = || Failure::input(format!("{}: there is no column '{name}'; fit again", file.display()));
        table.column(name).ok_or_else(missing)
    };
    let numbers = |name: &str| match &column(name)?.values {
        Values::Numeric(values) => Ok(values.clone()),
        _ => Err(Failure::input(format!("{}: column '{name}' holds no numbers; fit again", file.display()))),
    };
    let known = LabelOptions { classes: Some(info.classes.clone()), ..LabelOptions::default() };
    let classes_of = |name: &str| -> Result<Vec<u32>> {
        let encoded = LabelledRows::encode(column(name)?, 0, &known).map_err(|error| error.in_file(file.display()))?;
        Ok(encoded.labels.indices)
    };
    let (labels, rivals) = (classes_of("given_label")?, classes_of("rival_label")?);
    let margins: Vec<f32> = numbers("margin")?.into_iter().map(|margin| margin as f32).collect();
    let audit = rank_margins(&margins, &rivals, &labels, info.classes.len(), &MarginOptions::default())
        .map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
    let mut more = Vec::new();
    for name in ["mean_margin", "weight"] {
        more.push((name, numbers(name)?.into_iter().map(|value| tidy(value as f32)).collect()));
    }
    let wrong = match table.column("known_wrong") {
        Some(_) => Some(numbers("known_wrong")?.into_iter().map(|value| value != 0.0).collect()),
        None => None,
    };
    let rows = numbers("row")?.into_iter().map(|row| row as u64).collect();
    Ok(Audited { audit, rows, labels, classes: info.classes, more, wrong, source: path.to_owned() })
}

/// From anyone's probabilities.
fn from_probabilities(path: &Path, labels_path: &Path) -> Result<Audited> {
    let (array, names) = probabilities(path)?;
    let column = read_labels(&Source::file(labels_path), &ReadOptions::default())?;
    if column.len() != array.rows() {
        return Err(Failure::input(format!(
            "{}: {} labels for the {} rows of {}; give one a row",
            labels_path.display(),
            column.len(),
            array.rows(),
            path.display()
        )));
    }
    let (labels, classes) = class_indices(&column, names, array.width(), labels_path, path)?;
    let audit = rank(array.matrix()?, &labels, &AuditOptions::default())
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let rows = (0..labels.len() as u64).collect();
    Ok(Audited { audit, rows, labels, classes, more: Vec::new(), wrong: None, source: path.to_owned() })
}

/// The matrix, and the names of its columns where it has any.
fn probabilities(path: &Path) -> Result<(Array, Option<Vec<String>>)> {
    let table = match read(&Source::file(path), &ReadOptions::default())?.features {
        Features::Array(array) => return Ok((array, None)),
        Features::Table(table) => table,
    };
    let width = table.columns().len();
    let mut values = vec![0.0; table.rows() * width];
    for (at, column) in table.columns().iter().enumerate() {
        let bad = |what: &str| Failure::input(format!("{}: column '{}' {what}", path.display(), column.name));
        let Values::Numeric(numbers) = &column.values else {
            return Err(bad("holds no numbers; leave only probabilities in the file"));
        };
        if let Some(row) = (0..numbers.len()).find(|&row| column.missing.at(row)) {
            return Err(bad(&format!("has no number in row {row}; fill it in or delete the row")));
        }
        for (row, &number) in numbers.iter().enumerate() {
            values[row * width + at] = number as f32;
        }
    }
    let names = (!table.unnamed()).then(|| table.names().into_iter().map(str::to_owned).collect());
    Ok((Array::new(values, width)?, names))
}

/// Labels are indices of columns, or names of columns, or as many names as there are columns, in sorted order.
fn class_indices(
    column: &Column,
    names: Option<Vec<String>>,
    width: usize,
    labels_path: &Path,
    path: &Path,
) -> Result<(Vec<u32>, Vec<String>)> {
    let in_labels = |error: cmrm_data::Error| Failure::from(error.in_file(labels_path.display()));
    if let Some(names) = names {
        let known = LabelOptions { classes: Some(names.clone()), ..LabelOptions::default() };
        if let Ok(encoded) = LabelledRows::encode(column, 0, &known) {
            return Ok((encoded.labels.indices, names));
        }
    }
    let texts: Vec<_> = (0..column.len()).map(|row| column.text(row)).collect();
    let numbers: Option<Vec<i64>> = texts.iter().map(|text| text.as_ref()?.trim().parse().ok()).collect();
    if let Some(numbers) = numbers {
        let index = |(row, &number): (usize, &i64)| match u32::try_from(number) {
            Ok(label) if (label as usize) < width => Ok(label),
            _ => Err(Failure::input(format!(
                "{}: row {row}: label {number} is no column of {}, which has {width}: 0 to {}; map the labels to column indices",
                labels_path.display(),
                path.display(),
                width.saturating_sub(1)
            ))),
        };
        let labels = numbers.iter().enumerate().map(index).collect::<Result<_>>()?;
        return Ok((labels, (0..width).map(|class| class.to_string()).collect()));
    }
    let labels = LabelledRows::encode(column, 0, &LabelOptions::default()).map_err(in_labels)?.labels;
    if labels.classes.len() != width {
        return Err(Failure::input(format!(
            "{}: {} different names, but {} has {width} columns; give the labels as column indices",
            labels_path.display(),
            labels.classes.len(),
            path.display()
        )));
    }
    Ok((labels.indices, labels.classes))
}

impl Audited {
    fn share(&self) -> f64 {
        if self.rows.is_empty() { 0.0 } else { self.audit.issue_count() as f64 / self.rows.len() as f64 }
    }

    fn name(&self, class: u32) -> &str {
        &self.classes[class as usize]
    }

    /// All rows, most suspicious first.
    fn table(&self) -> Result<Table> {
        let order = || self.audit.order.iter().map(|&at| at as usize);
        let names = |labels: &[u32]| order().map(|at| self.name(labels[at])).collect::<Vec<_>>();
        let numbers = |values: &[f32]| order().map(|at| tidy(values[at])).collect::<Vec<f64>>();
        let audit = &self.audit;
        let mut columns = vec![
            Column::numeric("row", order().map(|at| self.rows[at] as f64).collect()),
            Column::new("is_label_issue", Values::Boolean(order().map(|at| audit.is_label_issue[at]).collect())),
            Column::numeric("label_score", numbers(&audit.label_score)),
            Column::categorical("given_label", &names(&self.labels)),
            Column::categorical("predicted_label", &names(&audit.predicted_label)),
            Column::categorical("suggested_label", &names(&audit.suggested_label)),
            Column::numeric("margin", numbers(&audit.margin)),
        ];
        for (name, values) in &self.more {
            columns.push(Column::numeric(*name, order().map(|at| values[at]).collect()));
        }
        columns.push(Column::numeric("rank", (0..self.rows.len()).map(|rank| rank as f64).collect()));
        Ok(Table::new(columns)?)
    }

    /// Estimated share of wrong labels, and what the estimate rests on.
    fn noise(&self) -> (f64, &'static str) {
        match &self.audit.noise {
            Some(noise) => (noise.rate(), "confident joint"),
            None => (self.share(), "share of label issues"),
        }
    }

    /// Truly wrong labels among the issues, and issues among the truly wrong labels.
    fn precision_and_recall(&self) -> Option<(Option<f64>, Option<f64>)> {
        let wrong = self.wrong.as_ref()?;
        let found = wrong.iter().zip(&self.audit.is_label_issue).filter(|(wrong, issue)| **wrong && **issue).count();
        let share = |of: usize| (of > 0).then(|| found as f64 / of as f64);
        Some((share(self.audit.issue_count()), share(wrong.iter().filter(|&&wrong| wrong).count())))
    }

    fn json(&self, args: &AuditArgs, failed: bool) -> Value {
        let (rate, basis) = self.noise();
        let pairs: Vec<Value> = self.audit.suggestions.most_frequent().into_iter().map(|(given, suggested, count)| {
            json!({ "given_label": self.name(given), "suggested_label": self.name(suggested), "count": count })
        }).collect();
        let top: Vec<Value> = self.audit.issues().take(args.top).map(|at| {
            let at = at as usize;
            let mut row = json!({
                "row": self.rows[at], "is_label_issue": true, "label_score": tidy(self.audit.label_score[at]),
                "given_label": self.name(self.labels[at]), "predicted_label": self.name(self.audit.predicted_label[at]),
                "suggested_label": self.name(self.audit.suggested_label[at]), "margin": tidy(self.audit.margin[at]),
                "rank": self.audit.rank[at],
            });
            for (name, values) in &self.more {
                row[*name] = values[at].into();
            }
            row
        }).collect();
        let known = self.precision_and_recall();
        json!({
            "schema": "cmrm/audit/1", "source": self.source, "rows": self.rows.len(), "classes": self.classes,
            "issues": self.audit.issue_count(), "share": self.share(), "noise_rate": rate, "noise_rate_from": basis,
            "precision": known.and_then(|known| known.0), "recall": known.and_then(|known| known.1),
            "pairs": pairs, "top": top, "out": args.out, "fail_above": args.fail_above, "failed": failed,
        })
    }

    fn text(&self, args: &AuditArgs) -> String {
        let (rate, basis) = self.noise();
        let mut text = format!(
            "{}: {} of {} labels look wrong ({:.1} %); estimated noise {:.1} % ({basis})\n",
            self.source.display(),
            self.audit.issue_count(),
            self.rows.len(),
            100.0 * self.share(),
            100.0 * rate
        );
        if let Some((Some(precision), Some(recall))) = self.precision_and_recall() {
            text += &format!(
                "truly wrong among them {:.1} %; found of the truly wrong {:.1} %\n",
                100.0 * precision,
                100.0 * recall
            );
        }
        let top: Vec<usize> = self.audit.issues().take(args.top).map(|at| at as usize).collect();
        if !top.is_empty() {
            text += &format!(
                "\n{:>6} {:>9}  {:<16} {:<16} {:>7} {:>7}\n",
                "RANK", "ROW", "GIVEN", "SUGGESTED", "SCORE", "MARGIN"
            );
        }
        for at in top {
            text += &format!(
                "{:>6} {:>9}  {:<16} {:<16} {:>7.4} {:>7.4}\n",
                self.audit.rank[at],
                self.rows[at],
                self.name(self.labels[at]),
                self.name(self.audit.suggested_label[at]),
                self.audit.label_score[at],
                self.audit.margin[at]
            );
        }
        let pairs = self.audit.suggestions.most_frequent();
        if !pairs.is_empty() {
            text += &format!("\n{:>6}  {:<16} {:<16}\n", "COUNT", "GIVEN", "SUGGESTED");
        }
        for (given, suggested, count) in pairs.into_iter().take(PAIRS) {
            text += &format!("{count:>6}  {:<16} {:<16}\n", self.name(given), self.name(suggested));
        }
        if let Some(out) = &args.out {
            text += &format!("\nall rows: {}\n", out.display());
        }
        text
    }
}
