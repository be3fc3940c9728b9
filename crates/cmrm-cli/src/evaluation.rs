//! What an evaluation found, for people and for programs.

use std::fmt::Write;

use cmrm::conformal::ScoreKind;
use cmrm_run::compare::Difference;
use cmrm_run::judge::Measured;
use cmrm_run::summary::{Style, difference_in_words, write_rows};
use serde::Serialize;

use crate::sets::percent;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    pub schema: &'static str,
    pub run: String,
    pub data: String,
    /// Where the labels were taken from, as they stand there.
    pub labels: String,
    pub rows: usize,
    pub unlabelled_rows: usize,
    pub arms: Vec<ArmEvaluation>,
    /// Envelope minus base.
    pub difference: Option<Difference>,
    pub seed: u64,
    pub threads: usize,
    pub version: &'static str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmEvaluation {
    pub name: String,
    pub metrics: Vec<Measured>,
    pub sets: Option<Sets>,
    pub per_class: Vec<ClassEvaluation>,
}

/// Prediction sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sets {
    pub wanted: f64,
    pub score: ScoreKind,
    pub coverage: f64,
    pub mean_size: f64,
    pub empty_rate: f64,
    pub singleton_rate: f64,
}

/// One class; no number where it is not defined.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassEvaluation {
    pub class: String,
    pub rows: usize,
    pub precision: Option<f64>,
    pub recall: Option<f64>,
    pub f1: Option<f64>,
    pub coverage: Option<f64>,
    pub mean_size: Option<f64>,
}

impl Evaluation {
    /// Tables for a terminal. Writing to a String cannot fail.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let left_out = match self.unlabelled_rows {
            0 => String::new(),
            rows => format!(" ({rows} rows without a label skipped)"),
        };
        let _ = writeln!(
            out,
            "{} rows of {}{left_out}; labels from {}, taken as correct.\n",
            self.rows, self.data, self.labels
        );
        self.write_metrics(&mut out);
        if let Some(difference) = &self.difference {
            let _ = writeln!(out, "\n{}", difference_in_words(difference));
        }
        for arm in &self.arms {
            let _ = writeln!(out, "\nBy class, {}:\n", arm.name);
            let head = ["class", "rows", "precision", "recall", "f1", "set coverage", "set size"].map(String::from);
            let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
            let body = arm.per_class.iter().map(|c| {
                let numbers = [c.precision, c.recall, c.f1, c.coverage, c.mean_size].map(cell);
                [vec![Style::Text.value(&c.class), c.rows.to_string()], numbers.to_vec()].concat()
            });
            write_rows(&mut out, Style::Text, &head, &body.collect::<Vec<_>>());
        }
        out
    }

    fn write_metrics(&self, out: &mut String) {
        let Some(first) = self.arms.first() else { return };
        let mut head = vec![String::new()];
        head.extend(self.arms.iter().map(|arm| Style::Text.value(&arm.name)));
        let mut body = Vec::new();
        for metric in &first.metrics {
            let mut row = vec![metric.name.replace('_', " ")];
            row.extend(self.arms.iter().map(|arm| {
                let found = arm.metrics.iter().find(|found| found.name == metric.name);
                found.map(|v| format!("{:.4}  [{:.4}, {:.4}]", v.value, v.low, v.high)).unwrap_or_default()
            }));
            body.push(row);
        }
        if let Some(wanted) = self.arms.iter().find_map(|arm| arm.sets.as_ref()).map(|sets| sets.wanted) {
            let mut add = |name: String, of: fn(&Sets) -> f64| {
                let mut row = vec![name];
                row.extend(
                    self.arms.iter().map(|arm| arm.sets.as_ref().map(|s| format!("{:.4}", of(s))).unwrap_or_default()),
                );
                body.push(row);
            };
            add(format!("coverage of {} % sets", percent(wanted)), |sets| sets.coverage);
            add("mean set size".into(), |sets| sets.mean_size);
            add("share of empty sets".into(), |sets| sets.empty_rate);
            add("share of single-class sets".into(), |sets| sets.singleton_rate);
        }
        write_rows(out, Style::Text, &head, &body);
    }
}
