//! What an audit found, as a table, as JSON and in words.

use std::path::PathBuf;

use cmrm::Matrix;
use cmrm::audit::{Audit, Evidence};
use cmrm_data::files::text::printable_value;
use cmrm_data::table::Values;
use cmrm_data::{Column, Table};
use cmrm_fit::{Balance, Noise};
use cmrm_run::summary::NoiseSummary;
use cmrm_run::{Expected, WRONG_PROBABILITY, most_likely_wrong, no_better_than_chance};
use serde_json::{Value, json};

use super::about_new_rows::AboutNewRows;
use super::since::{Changes, STATUS, Status, fingerprint};
use crate::data_file::tidy;
use crate::failure::{Failure, Result};
use crate::verbs::audit::AuditArgs;

/// The column of what a row holds, where nothing else names it.
pub const ROW_FINGERPRINT: &str = "row_fingerprint";
/// Pairs of labels named on a terminal.
const PAIRS: usize = 10;

/// An audit with what belongs to its rows.
pub struct Audited {
    pub audit: Audit,
    /// Where each row stands in the data.
    pub rows: Vec<u64>,
    /// The id of each row, where the data has a column of them; else empty.
    pub ids: Vec<String>,
    /// The file of each row, where each is one; else empty.
    pub files: Vec<String>,
    pub labels: Vec<u32>,
    pub classes: Vec<String>,
    /// Further columns, by name.
    pub more: Vec<(&'static str, Vec<f64>)>,
    /// How likely the labels are wrong, where that was estimated.
    pub doubts: Option<Doubts>,
    /// The rows as they are in the data, where its columns are wanted too.
    pub data: Option<Table>,
    /// Whether the label is truly wrong, where that is known.
    /// How many labels are wrong, where that is all that is known.
    pub noise: Option<NoiseSummary>,
    pub wrong: Option<Vec<bool>>,
    pub source: PathBuf,
    /// What out-of-sample models tell of the labels, where there are such.
    pub evidence: Option<Evidence>,
    /// More of rows that are new to the run.
    pub new_rows: Option<AboutNewRows>,
}

/// How likely labels are wrong, where each row was judged by models that had not seen it.
pub struct Doubts {
    /// How many are, where these labels tell it.
    pub noise: Option<NoiseSummary>,
    /// How likely each is.
    pub wrong_probability: Vec<f32>,
}

impl Doubts {
    /// By probabilities of models that have not seen the rows; nothing where they tell too little of the labels.
    pub fn estimate(
        probabilities: Matrix<'_, f32>,
        labels: &[u32],
        balance: Balance,
    ) -> cmrm_fit::Result<Option<Self>> {
        let Some(noise) = Noise::estimate(probabilities, labels, balance)? else { return Ok(None) };
        let wrong_probability = noise.wrong_probabilities(probabilities, labels)?;
        Ok(Some(Doubts { noise: Some((&noise.estimate.likeliest).into()), wrong_probability }))
    }
}

impl Audited {
    /// Flags the rows that are most likely wrong instead, as many as are expected to be so with this precision.
    pub fn with_precision(mut self, precision: f64) -> Result<Self> {
        let Some(doubts) = &self.doubts else {
            return Err(Failure::input(format!(
                "{}: --precision needs an estimate of how many labels are wrong, which this audit does not have: it takes 50 rows or more, \
                 judged by models that have not seen them (a run of auto, forest, boosting or kernel, or --folds) and that predict the labels better than chance",
                self.source.display()
            )));
        };
        // A row whose label the model predicts is never flagged.
        let contested = |row: usize| self.audit.predicted_label[row] != self.labels[row];
        let mut flags = vec![false; self.labels.len()];
        let listed = most_likely_wrong(&doubts.wrong_probability, precision, contested);
        listed.into_iter().for_each(|row| flags[row] = true);
        self.audit.flag(&self.labels, flags)?;
        Ok(self)
    }

    /// Takes the flags of a model back that tells nothing of the labels, unless they are wanted all the same.
    pub fn guarded(mut self, flag_anyway: bool) -> Result<Self> {
        if self.tells_nothing() && !flag_anyway {
            self.audit.flag_none(&self.labels)?;
        }
        Ok(self)
    }

    fn tells_nothing(&self) -> bool {
        self.evidence.is_some_and(|evidence| evidence.tells_nothing())
    }

    /// A word on rows that the models have seen, and on a model that tells nothing of the labels.
    fn warning(&self, flag_anyway: bool) -> Option<String> {
        let known = self.new_rows.as_ref().and_then(|about| about.warning(self.rows.len()));
        known.or_else(|| self.tells_nothing_in_words(flag_anyway))
    }

    fn tells_nothing_in_words(&self, flag_anyway: bool) -> Option<String> {
        let evidence = self.evidence.filter(|_| self.tells_nothing())?;
        let flags = match flag_anyway {
            true => "so its flags mean little",
            false => "so no label is flagged (--flag-anyway flags them all the same)",
        };
        Some(format!("{}, {flags}", no_better_than_chance(&evidence)))
    }

    /// Share of the rows that are issues.
    pub fn share(&self) -> f64 {
        if self.rows.is_empty() { 0.0 } else { self.audit.issue_count() as f64 / self.rows.len() as f64 }
    }

    /// The id of each row, or its file where each is one; else nothing.
    pub fn names(&self) -> &[String] {
        if self.ids.is_empty() { &self.files } else { &self.ids }
    }

    /// Name of a class.
    pub fn name(&self, class: u32) -> &str {
        &self.classes[class as usize]
    }

    /// All rows, most suspicious first, and what has become of each since an earlier audit.
    pub fn table(&self, changes: Option<&Changes>) -> Result<Table> {
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
        for (name, cells) in [("file", &self.files), ("id", &self.ids)] {
            if !cells.is_empty() {
                columns.insert(1, Column::categorical(name, &order().map(|at| &cells[at]).collect::<Vec<_>>()));
            }
        }
        for (name, values) in &self.more {
            columns.push(Column::numeric(*name, order().map(|at| values[at]).collect()));
        }
        if let Some(doubts) = &self.doubts {
            columns.push(Column::numeric(WRONG_PROBABILITY, numbers(&doubts.wrong_probability)));
        }
        if let Some(changes) = changes {
            let status = order().map(|at| changes.status[at].map_or("", Status::name)).collect::<Vec<_>>();
            columns.push(Column::categorical(STATUS, &status));
        }
        if let Some(about) = self.new_rows.as_ref().filter(|_| self.ids.is_empty()) {
            let cells = order().map(|at| fingerprint(about.digests[at])).collect::<Vec<_>>();
            columns.push(Column::categorical(ROW_FINGERPRINT, &cells));
        }
        columns.push(Column::numeric("rank", (0..self.rows.len()).map(|rank| rank as f64).collect()));
        let data = self.data.as_ref().map(|data| data.gather(&order().collect::<Vec<_>>())).transpose()?;
        for column in data.iter().flat_map(Table::columns) {
            let mut column = column.clone();
            // A name that the audit has already is not the data's alone.
            while columns.iter().any(|other| other.name == column.name) {
                column.name.insert_str(0, "data.");
            }
            columns.push(column);
        }
        Ok(Table::new(columns)?)
    }

    /// Estimated share of wrong labels, and what the estimate rests on.
    fn noise(&self) -> (f64, &'static str) {
        match (self.estimated(), &self.audit.noise) {
            (Some(noise), _) => (noise.rate, "noise model"),
            (None, Some(noise)) => (noise.rate(), "confident joint"),
            (None, None) => (self.share(), "share of label issues"),
        }
    }

    /// How many labels are wrong, where it was estimated.
    pub fn estimated(&self) -> Option<&NoiseSummary> {
        self.doubts.as_ref().and_then(|doubts| doubts.noise.as_ref()).or(self.noise.as_ref())
    }

    /// Precision and recall that the flags should have.
    fn expected(&self) -> Option<Expected> {
        let doubts = self.doubts.as_ref()?;
        Expected::of(&doubts.wrong_probability, self.audit.issues().map(|row| row as usize))
    }

    /// Truly wrong labels among the issues, and issues among the truly wrong labels.
    fn precision_and_recall(&self) -> Option<(Option<f64>, Option<f64>)> {
        let wrong = self.wrong.as_ref()?;
        let found = wrong.iter().zip(&self.audit.is_label_issue).filter(|(wrong, issue)| **wrong && **issue).count();
        let share = |of: usize| (of > 0).then(|| found as f64 / of as f64);
        Some((share(self.audit.issue_count()), share(wrong.iter().filter(|&&wrong| wrong).count())))
    }

    /// The suspects to show, most suspicious first: those that are new, where there is an earlier audit.
    fn shown(&self, args: &AuditArgs, changes: Option<&Changes>) -> Vec<usize> {
        let is_shown = |at: &usize| changes.is_none_or(|changes| changes.status[*at] == Some(Status::New));
        self.audit.issues().map(|at| at as usize).filter(is_shown).take(args.top).collect()
    }

    /// The object of `--json`.
    pub fn json(&self, args: &AuditArgs, changes: Option<&Changes>, failed_on: &[String]) -> Value {
        let (rate, basis) = self.noise();
        let pairs: Vec<Value> = self.audit.suggestions.most_frequent().into_iter().map(|(given, suggested, count)| {
            json!({ "given_label": self.name(given), "suggested_label": self.name(suggested), "count": count })
        }).collect();
        let top: Vec<Value> = self.shown(args, changes).into_iter().map(|at| {
            let mut row = json!({
                "row": self.rows[at], "is_label_issue": true, "label_score": tidy(self.audit.label_score[at]),
                "given_label": self.name(self.labels[at]), "predicted_label": self.name(self.audit.predicted_label[at]),
                "suggested_label": self.name(self.audit.suggested_label[at]), "margin": tidy(self.audit.margin[at]),
                "rank": self.audit.rank[at],
            });
            for (name, cells) in [("file", &self.files), ("id", &self.ids)] {
                if let Some(cell) = cells.get(at) {
                    row[name] = cell.as_str().into();
                }
            }
            for (name, values) in &self.more {
                row[*name] = values[at].into();
            }
            if let Some(doubts) = &self.doubts {
                row[WRONG_PROBABILITY] = tidy(doubts.wrong_probability[at]).into();
            }
            row
        }).collect();
        let known = self.precision_and_recall();
        let mut object = json!({
            "schema": "cmrm/audit/1", "source": self.source, "rows": self.rows.len(), "classes": self.classes,
            "issues": self.audit.issue_count(), "share": self.share(), "noise_rate": rate, "noise_rate_from": basis,
            "noise_rate_interval": self.estimated().map(|noise| noise.interval), "wanted_precision": args.precision, "expected": self.expected(),
            "precision": known.and_then(|known| known.0), "recall": known.and_then(|known| known.1),
            "warning": self.warning(args.flag_anyway), "pairs": pairs, "top": top, "out": args.out, "fail_above": args.fail_above,
            "fail_on": args.fail_on.iter().map(|rule| rule.name()).collect::<Vec<_>>(), "failed": !failed_on.is_empty(), "failed_on": failed_on,
        });
        if let Some(about) = &self.new_rows {
            object["new_rows"] = about.json();
        }
        if let Some(changes) = changes {
            object["since"] = changes.json();
        }
        object
    }

    /// For people.
    pub fn text(&self, args: &AuditArgs, changes: Option<&Changes>) -> String {
        let shown = |class: u32| printable_value(self.name(class));
        // Without a confident joint the estimate is the share itself, which needs no second number.
        // One of a model that tells nothing means nothing.
        let noise = self.audit.noise.as_ref().filter(|_| !self.tells_nothing());
        let estimate = match self.estimated() {
            Some(noise) => Some(noise.words()),
            None => noise.map(|noise| format!("estimated noise rate {:.1} % (confident joint)", 100.0 * noise.rate())),
        };
        let mut text =
            self.warning(args.flag_anyway).map(|warning| format!("Warning: {warning}.\n\n")).unwrap_or_default();
        text += &format!(
            "{}: {} of {} labels look wrong ({:.1} %){}\n",
            self.source.display(),
            self.audit.issue_count(),
            self.rows.len(),
            100.0 * self.share(),
            estimate.map(|words| format!("; {words}")).unwrap_or_default(),
        );
        if let Some(Expected { precision, recall }) = self.expected() {
            text += &format!(
                "expected: {:.1} % of these are indeed wrong, and they are {:.1} % of all wrong labels\n",
                100.0 * precision,
                100.0 * recall
            );
        }
        if let Some(about) = &self.new_rows {
            text += &about.text();
        }
        if let Some(changes) = changes {
            text += &changes.text();
        }
        if let Some((Some(precision), Some(recall))) = self.precision_and_recall() {
            text += &format!(
                "checked against known labels: precision {:.1} %, recall {:.1} %\n",
                100.0 * precision,
                100.0 * recall
            );
        }
        let top = self.shown(args, changes);
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
                shown(self.labels[at]),
                shown(self.audit.suggested_label[at]),
                self.audit.label_score[at],
                self.audit.margin[at]
            );
        }
        let pairs = self.audit.suggestions.most_frequent();
        if !pairs.is_empty() {
            text += &format!("\n{:>6}  {:<16} {:<16}\n", "COUNT", "GIVEN", "SUGGESTED");
        }
        for (given, suggested, count) in pairs.into_iter().take(PAIRS) {
            text += &format!("{count:>6}  {:<16} {:<16}\n", shown(given), shown(suggested));
        }
        if let Some(out) = &args.out {
            text += &format!("\nall rows: {}\n", out.display());
        }
        text
    }
}
