//! Decisions on rows: what is to be done with them, and what was decided on.

use cmrm_data::files::text::spreadsheet_cell;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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
/// and ID by the row's number, and the fingerprint of the data's rows. A row that the reviewer is unsure of is left out.
pub fn csv(decisions: &[Decision], basis: impl Fn(u64) -> Basis, fingerprint: Option<&str>) -> Result<String> {
    let decided = decisions.iter().filter(|decision| decision.action != Action::Unsure);
    let decided: Vec<(&Decision, Basis)> = decided.map(|decision| (decision, basis(decision.row))).collect();
    let known: [(&str, bool); 3] = [
        ("given_label", decided.iter().any(|(_, basis)| basis.given_label.is_some())),
        ("id", decided.iter().any(|(_, basis)| basis.id.is_some())),
        ("fingerprint", fingerprint.is_some()),
    ];
    let known_only = |cells: [&str; 3]| -> Vec<String> {
        cells.iter().zip(known).filter(|(_, (_, known))| *known).map(|(cell, _)| (*cell).to_owned()).collect()
    };
    let mut lines =
        vec![[vec!["row".into(), "action".into(), "label".into()], known_only(known.map(|k| k.0))].concat()];
    for (decision, basis) in &decided {
        let text = |cell: Option<&str>| spreadsheet_cell(cell.unwrap_or_default()).into_owned();
        let first = [decision.row.to_string(), decision.action.name().into(), text(decision.label.as_deref())];
        let rest = [text(basis.given_label.as_deref()), text(basis.id.as_deref()), text(fingerprint)];
        lines.push([first.to_vec(), known_only(rest.each_ref().map(String::as_str))].concat());
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = lines.iter().try_for_each(|line| writer.write_record(line));
    let bytes =
        written.map_err(|error| error.to_string()).and_then(|()| writer.into_inner().map_err(|e| e.to_string()));
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|error| error.to_string()));
    text.map_err(|error| Error::Internal(format!("decisions: {error}")))
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
        let text = csv(&decisions, |_| Basis::default(), None).unwrap();
        assert_eq!(text, "row,action,label\n3,relabel,\"a \"\"b\"\", c\nd\"\n5,drop,\n");
        let basis = |row| Basis { given_label: Some("a,b".into()), id: (row == 5).then(|| "p5".into()) };
        let text = csv(&decisions[1..], basis, Some("f00")).unwrap();
        assert_eq!(text, "row,action,label,given_label,id,fingerprint\n5,drop,,\"a,b\",p5,f00\n");
    }

    #[test]
    fn a_label_that_is_a_formula_is_marked_as_text() {
        let relabel = |label: &str| Decision { row: 0, action: Action::Relabel, label: Some(label.into()) };
        let text = csv(
            &[relabel("=HYPERLINK(\"x\")"), relabel("-1"), relabel("+"), relabel("\tx")],
            |_| Basis::default(),
            None,
        )
        .unwrap();
        let labels: Vec<&str> = text.lines().skip(1).map(|line| line.strip_prefix("0,relabel,").unwrap()).collect();
        assert_eq!(labels, ["\"'=HYPERLINK(\"\"x\"\")\"", "-1", "'+", "'\tx"]);
    }
}
