//! What is to be done with a row.

use cmrm_files::text::spreadsheet_cell;
use serde::{Deserialize, Serialize};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The label is right.
    Keep,
    /// The label is to be another.
    Relabel,
    /// The row is to go.
    Drop,
    /// Looked at, and not decided.
    Unsure,
}

impl Action {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Action::Keep => "keep",
            Action::Relabel => "relabel",
            Action::Drop => "drop",
            Action::Unsure => "unsure",
        }
    }

    /// The action of that name.
    pub fn of(name: &str) -> Option<Self> {
        [Action::Keep, Action::Relabel, Action::Drop, Action::Unsure].into_iter().find(|action| action.name() == name)
    }
}

/// A decision on one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The row, by its place in the data from zero.
    pub row: u64,
    /// What is to be done.
    pub action: Action,
    /// The new label of a row that is relabelled.
    #[serde(default)]
    pub label: Option<String>,
}

/// The file that `cmrm clean` takes: row, action and label. A row one is unsure of stays as it is and is left out.
pub fn csv(decisions: &[Decision]) -> String {
    let mut out = String::from("row,action,label\n");
    for decision in decisions.iter().filter(|decision| decision.action != Action::Unsure) {
        let label = decision.label.as_deref().unwrap_or_default();
        out += &format!("{},{},{}\n", decision.row, decision.action.name(), cell(label));
    }
    out
}

/// A text cell, marked where a spreadsheet would take it for a formula, quoted where it needs to be.
fn cell(text: &str) -> String {
    let text = spreadsheet_cell(text);
    let plain = !text.contains(['"', ',', '\n', '\r']) && text.trim() == text;
    if plain { text.into_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_any_kind_survive_the_file() {
        let decision = |row, action, label: Option<&str>| Decision { row, action, label: label.map(str::to_owned) };
        let text = csv(&[
            decision(3, Action::Relabel, Some("a \"b\", c\nd")),
            decision(4, Action::Unsure, None),
            decision(5, Action::Drop, None),
        ]);
        assert_eq!(text, "row,action,label\n3,relabel,\"a \"\"b\"\", c\nd\"\n5,drop,\n");
    }

    #[test]
    fn a_label_that_is_a_formula_is_marked_as_text() {
        let relabel = |label: &str| Decision { row: 0, action: Action::Relabel, label: Some(label.into()) };
        let text = csv(&[relabel("=HYPERLINK(\"x\")"), relabel("-1"), relabel("+"), relabel("\tx")]);
        let labels: Vec<&str> = text.lines().skip(1).map(|line| line.strip_prefix("0,relabel,").unwrap()).collect();
        assert_eq!(labels, ["\"'=HYPERLINK(\"\"x\"\")\"", "-1", "'+", "'\tx"]);
    }
}
