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

/// What a row was when it was decided on; `cmrm clean` compares it with the table that it is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Basis {
    /// The row's label.
    pub given_label: Option<String>,
    /// Its id, where the data has a column of them.
    pub id: Option<String>,
}

/// The file that `cmrm clean` takes: row, action and label, and what was decided on, as far as that is known: given label
/// and id by the row's number, and the fingerprint of the data's rows. A row one is unsure of stays as it is and is left
/// out.
pub fn csv(decisions: &[Decision], basis: impl Fn(u64) -> Basis, fingerprint: Option<&str>) -> String {
    let decided = decisions.iter().filter(|decision| decision.action != Action::Unsure);
    let decided: Vec<(&Decision, Basis)> = decided.map(|decision| (decision, basis(decision.row))).collect();
    let known: [(&str, bool); 3] = [
        ("given_label", decided.iter().any(|(_, basis)| basis.given_label.is_some())),
        ("id", decided.iter().any(|(_, basis)| basis.id.is_some())),
        ("fingerprint", fingerprint.is_some()),
    ];
    let mut out = String::from("row,action,label");
    known.iter().filter(|(_, known)| *known).for_each(|(name, _)| out += &format!(",{name}"));
    out.push('\n');
    for (decision, basis) in &decided {
        let label = decision.label.as_deref().unwrap_or_default();
        out += &format!("{},{},{}", decision.row, decision.action.name(), cell(label));
        let cells = [basis.given_label.as_deref(), basis.id.as_deref(), fingerprint];
        for (text, _) in cells.iter().zip(&known).filter(|(_, (_, known))| *known) {
            out += &format!(",{}", cell(text.unwrap_or_default()));
        }
        out.push('\n');
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
        let decisions = [
            decision(3, Action::Relabel, Some("a \"b\", c\nd")),
            decision(4, Action::Unsure, None),
            decision(5, Action::Drop, None),
        ];
        let text = csv(&decisions, |_| Basis::default(), None);
        assert_eq!(text, "row,action,label\n3,relabel,\"a \"\"b\"\", c\nd\"\n5,drop,\n");
        let basis = |row| Basis { given_label: Some("a,b".into()), id: (row == 5).then(|| "p5".into()) };
        let text = csv(&decisions[1..], basis, Some("f00"));
        assert_eq!(text, "row,action,label,given_label,id,fingerprint\n5,drop,,\"a,b\",p5,f00\n");
    }

    #[test]
    fn a_label_that_is_a_formula_is_marked_as_text() {
        let relabel = |label: &str| Decision { row: 0, action: Action::Relabel, label: Some(label.into()) };
        let text = csv(
            &[relabel("=HYPERLINK(\"x\")"), relabel("-1"), relabel("+"), relabel("\tx")],
            |_| Basis::default(),
            None,
        );
        let labels: Vec<&str> = text.lines().skip(1).map(|line| line.strip_prefix("0,relabel,").unwrap()).collect();
        assert_eq!(labels, ["\"'=HYPERLINK(\"\"x\"\")\"", "-1", "'+", "'\tx"]);
    }
}
