//! What there is to say of rows that are new to a run: what was left out, and what the figures rest on.

use std::collections::BTreeMap;

use cmrm_data::files::text::printable_value;
use serde_json::{Value, json};

use super::sample::Sample;

/// Unknown labels that are named.
const UNKNOWN: usize = 5;

/// What there is to say of new rows beside their audit.
pub struct AboutNewRows {
    pub run: String,
    /// Rows left out because they have no label.
    pub unlabelled: usize,
    /// Labels that the run does not know, and how many rows were left out because of them.
    pub unknown: BTreeMap<String, usize>,
    /// What each row holds, wherever it stands.
    pub digests: Vec<u64>,
    /// Rows that the run was trained on, as far as that was noticed.
    pub trained_on: usize,
    /// Share of wrong labels that the run found among its own rows, where the probabilities of being wrong rest on that.
    pub noise_of_run: Option<f64>,
    /// Whether the rows have too many probabilities to estimate it for themselves.
    pub too_many: bool,
    /// Some of the rows as they are in the data.
    pub sample: Sample,
}

impl AboutNewRows {
    /// What to hear before anything else, of so many rows.
    pub fn warning(&self, rows: usize) -> Option<String> {
        let (run, trained_on) = (&self.run, self.trained_on);
        (trained_on > 0).then(|| {
            format!(
                "{run} was trained on {trained_on} of these {rows} rows: its models know their labels and doubt too few of them; \
                 `cmrm audit {run}` judges the rows that it was trained on"
            )
        })
    }

    /// The object `new_rows` of `--json`.
    pub fn json(&self) -> Value {
        json!({
            "run": self.run, "unlabelled": self.unlabelled, "unknown_labels": self.unknown, "trained_on": self.trained_on,
            "noise_rate_of_run": self.noise_of_run,
        })
    }

    /// What was left out, and what the figures rest on.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let count = |rows: usize| if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
        if self.unlabelled > 0 {
            text += &format!("left out: {} without a label\n", count(self.unlabelled));
        }
        if !self.unknown.is_empty() {
            let left_out = count(self.unknown.values().sum());
            let named =
                self.unknown.iter().take(UNKNOWN).map(|(label, rows)| format!("'{}' ({rows})", printable_value(label)));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = if self.unknown.len() > UNKNOWN { ", …" } else { "" };
            text += &format!("left out: {left_out} with labels that the run does not know: {named}{more}\n");
        }
        if let Some(rate) = self.noise_of_run {
            let why = if self.too_many {
                "these are too many to ask at once"
            } else {
                "few rows tell too little of themselves"
            };
            text += &format!(
                "how likely each label is wrong assumes that as many are as in the run's own data, {:.1} %: {why}\n",
                100.0 * rate
            );
        }
        text
    }
}
