//! A file of decisions: what is to be done with which rows, and whether a table is the one that was decided on.
//!
//! A row number means nothing in another table. So a decision may carry what it was made on: the row's label
//! (`given_label`), its id (`id`), and the fingerprint of the data's rows (`fingerprint`). With ids, rows are found by
//! them and may be in any order; without, the fingerprint has to be that of the table. Given labels have to agree always.

use std::collections::HashMap;
use std::path::Path;

use cmrm_data::Column;
use cmrm_data::read::read_text;
use cmrm_data::table::closest;
use cmrm_run::decision::Action;

use crate::data_file::DataFile;
use crate::failure::{Failure, Result};
use crate::sources::source;

/// What may have happened to a table whose fingerprint is another.
const CHANGED: &str = "cells were changed, or rows added, removed or reordered since, perhaps by these very decisions";
const ACTIONS: [&str; 3] = ["keep", "relabel", "drop"];

/// A line of the file.
pub struct Decision {
    /// Its place in the file, from zero.
    pub at: usize,
    /// The row's number, as written.
    pub row: String,
    pub action: Action,
    /// The new label of a row to relabel.
    pub label: String,
    /// What it was decided on; empty where the file does not say.
    pub given_label: String,
    pub id: String,
    pub fingerprint: String,
}

/// What to do with the rows of a table.
#[derive(Debug, Default)]
pub struct Decided {
    /// By row of the table, with the new label of a row to relabel.
    pub actions: HashMap<usize, (Action, String)>,
    /// Whether rows were found by their ids.
    pub by_id: bool,
    /// Decisions that the table shows the outcome of: they were applied before.
    pub already: usize,
    /// Decisions that carry nothing to be checked by.
    pub unchecked: usize,
    /// Of how many.
    pub all: usize,
    /// What was overruled by `force`, in words.
    pub overruled: Option<String>,
}

/// How decisions are applied.
pub struct Rules<'a> {
    /// The classes of the table.
    pub classes: &'a [String],
    /// Whether labels need not be among them.
    pub new_labels: bool,
    /// Whether decisions are applied to rows other than those they were made on.
    pub force: bool,
}

impl Decided {
    /// Reads a file and finds the rows of `table` that it decides on.
    pub fn read(path: &Path, table: &DataFile, rules: &Rules<'_>) -> Result<Self> {
        let file = DecisionFile { path, table, rules };
        let decisions = file.decisions()?;
        let by_id = table.id.is_some() && decisions.iter().any(|decision| !decision.id.is_empty());
        let mut decided = Decided { by_id, all: decisions.len(), ..Decided::default() };
        let rows = if by_id { file.rows_by_id(&decisions)? } else { file.rows_by_number(&decisions)? };
        let has_fingerprint = |decision: &&Decision| !decision.fingerprint.is_empty();
        let here = (!by_id && decisions.iter().any(|decision| has_fingerprint(&decision))).then(|| table.fingerprint());
        let differs = |decision: &&Decision| here.as_ref().is_some_and(|here| here.0 != decision.fingerprint);
        let moved = decisions.iter().filter(has_fingerprint).find(differs);
        // Which row is which is certain: a label that is the new one already was changed by this decision before.
        let same_rows = by_id || here.is_some() && moved.is_none();
        let mut disagreeing = Vec::new();
        for (decision, row) in decisions.iter().zip(rows) {
            let Some(row) = row else {
                decided.already += 1;
                continue;
            };
            decided.unchecked += usize::from(!decision.can_be_checked(by_id));
            let label = table.labels.text(row).unwrap_or_default();
            if !decision.given_label.is_empty() && decision.given_label != label.trim() {
                if same_rows && decision.relabels_to(label.trim()) {
                    decided.already += 1;
                    continue;
                }
                disagreeing.push((decision, row));
            }
            decided.actions.insert(row, (decision.action, decision.label.clone()));
        }
        let (why, ways_out) = match (disagreeing.as_slice(), moved) {
            ([], None) => return Ok(decided),
            ([], Some(decision)) => file.other_rows(decision),
            (disagreeing, moved) => file.other_labels(disagreeing, &decided, moved.is_some()),
        };
        if !rules.force {
            return Err(Failure::input(format!("{why}; {ways_out}")));
        }
        decided.overruled = Some(why);
        Ok(decided)
    }
}

impl Decision {
    fn relabels_to(&self, label: &str) -> bool {
        self.action == Action::Relabel && self.label == label
    }

    fn can_be_checked(&self, by_id: bool) -> bool {
        by_id || !self.given_label.is_empty() || !self.fingerprint.is_empty()
    }
}

/// A file of decisions, and the table that they are for.
struct DecisionFile<'a> {
    path: &'a Path,
    table: &'a DataFile,
    rules: &'a Rules<'a>,
}

impl DecisionFile<'_> {
    fn decisions(&self) -> Result<Vec<Decision>> {
        let mut decisions = read(self.path, self.table.id.is_some())?;
        for decision in decisions.iter_mut().filter(|decision| decision.action == Action::Relabel) {
            decision.label = self.label(decision.at, std::mem::take(&mut decision.label))?;
        }
        Ok(decisions)
    }

    /// The row of each decision, by its number.
    fn rows_by_number(&self, decisions: &[Decision]) -> Result<Vec<Option<usize>>> {
        let (rows, last) = (self.table.rows(), self.table.rows().saturating_sub(1));
        let mut taken = HashMap::new();
        let row_of = |decision: &Decision| {
            let bad = |what: String| Err(self.bad(decision.at, "row", what));
            let row = match decision.row.parse::<usize>() {
                Ok(row) if row < rows => row,
                Ok(row) => return bad(format!("row {row} does not exist: the data has {rows} rows, 0 to {last}")),
                Err(_) => return bad(format!("'{}' is not a row number; use 0 to {last}", decision.row)),
            };
            match taken.insert(row, decision.at) {
                Some(first) => {
                    bad(format!("row {row} has two decisions, the first in row {first}; delete one of them"))
                }
                None => Ok(Some(row)),
            }
        };
        decisions.iter().map(row_of).collect()
    }

    /// The row of each decision, by its id; nothing for a row to drop that is gone already.
    fn rows_by_id(&self, decisions: &[Decision]) -> Result<Vec<Option<usize>>> {
        let Some(ids) = self.table.id.map(|at| &self.table.columns[at]) else { return Ok(Vec::new()) };
        let (source, name) = (&self.table.source, &ids.name);
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for row in 0..ids.len() {
            places.entry(ids.text(row).unwrap_or_default().trim().to_owned()).or_default().push(row);
        }
        let known = decisions.iter().filter(|decision| places.contains_key(&decision.id)).count();
        let mut taken = HashMap::new();
        let row_of = |decision: &Decision| {
            let (at, id) = (decision.at, &decision.id);
            let bad = |what: String| Err(self.bad(at, "id", what));
            if id.is_empty() {
                return bad(format!("the cell is empty, but --id {name} finds rows by their ID; fill it in"));
            }
            let row = match places.get(id).map(Vec::as_slice) {
                Some([row]) => *row,
                Some([first, second, ..]) => {
                    return bad(format!("{source} has the ID '{id}' in rows {first} and {second}; IDs must be unique"));
                }
                // Some are there, so it is the right table, and this row is as it should be: absent.
                _ if known > 0 && decision.action == Action::Drop => return Ok(None),
                _ => {
                    let none = if known == 0 { ", nor any other ID in the file" } else { "" };
                    return bad(format!(
                        "column '{name}' of {source} has no ID '{id}'{none}; apply the decisions to the table they were \
                         made on, or delete this one"
                    ));
                }
            };
            match taken.insert(row, at) {
                Some(first) => {
                    bad(format!("ID '{id}' has two decisions, the first in row {first}; delete one of them"))
                }
                None => Ok(Some(row)),
            }
        };
        decisions.iter().map(row_of).collect()
    }

    /// What speaks against labels that differ from those decided on, and what to do.
    fn other_labels(&self, disagreeing: &[(&Decision, usize)], decided: &Decided, moved: bool) -> (String, String) {
        let (decision, row) = disagreeing[0];
        let (path, source) = (self.path.display(), &self.table.source);
        let label = self.table.labels.text(row).map_or("none".into(), |label| format!("'{label}'"));
        let id = if decided.by_id { format!(" (ID '{}')", decision.id) } else { String::new() };
        let mut why = format!(
            "{path}: row {}: decided on the label '{}', but row {row}{id} of {source} has {label}",
            decision.at, decision.given_label
        );
        if disagreeing.len() > 1 {
            why += &format!(" ({} of {} decisions disagree)", disagreeing.len(), decided.all);
        }
        let has_new_label = |(decision, row): &(&Decision, usize)| {
            self.table.labels.text(*row).is_some_and(|found| decision.relabels_to(found.trim()))
        };
        let relabels = decided.actions.values().filter(|(action, _)| *action == Action::Relabel).count();
        if moved {
            why += &format!(": {CHANGED}");
        } else if disagreeing.len() == relabels && disagreeing.iter().all(has_new_label) {
            why += "; every row to relabel already has its new label: the decisions seem to have been applied";
        }
        (why, ways_out(decision, decided.by_id))
    }

    /// What speaks against rows that differ from those decided on, and what to do.
    fn other_rows(&self, decision: &Decision) -> (String, String) {
        let why = format!(
            "{}: row {}: decided on rows with fingerprint {}, but {} has {}: {CHANGED}",
            self.path.display(),
            decision.at,
            decision.fingerprint,
            self.table.source,
            self.table.fingerprint()
        );
        (why, ways_out(decision, false))
    }

    fn label(&self, at: usize, label: String) -> Result<String> {
        let classes = self.rules.classes;
        if self.rules.new_labels || classes.contains(&label) {
            return Ok(label);
        }
        let near = hint(&label, classes);
        let count = classes.len();
        let what =
            format!("'{label}' is not one of the {count} labels in the data{near}; correct it, or add --new-labels");
        Err(self.bad(at, "label", what))
    }

    fn bad(&self, at: usize, column: &str, what: impl std::fmt::Display) -> Failure {
        bad(self.path, at, column, what)
    }
}

/// The lines of a file of decisions. Where rows are known by their ids, a file that has them can do without row numbers.
pub fn read(path: &Path, by_id: bool) -> Result<Vec<Decision>> {
    let cells = read_text(&source("the decisions", path)?)?;
    let names = cells.names();
    let needed = |name: &str| {
        cells.column(name).ok_or_else(|| {
            Failure::input(format!(
                "{}: no column '{name}'{}; a decision file has the columns row, action, label",
                path.display(),
                hint(name, &names)
            ))
        })
    };
    let (rows, ids) = (cells.column("row"), cells.column("id"));
    let rows = if ids.is_some() && by_id { rows } else { Some(needed("row")?) };
    let actions = needed("action")?;
    // Decisions that only keep and drop need no labels.
    let [labels, given_labels, fingerprints] = ["label", "given_label", "fingerprint"].map(|n| cells.column(n));
    let decision = |at: usize| {
        let cell =
            |column: Option<&Column>| column.and_then(|column| column.text(at)).unwrap_or_default().trim().to_owned();
        let name = cell(Some(actions));
        let (action, label) = match Action::of(&name) {
            Some(Action::Relabel) => (Action::Relabel, cell(labels)),
            Some(action @ (Action::Keep | Action::Drop)) => (action, String::new()),
            _ => {
                let other = name;
                let what = format!("unknown action '{other}'{}; use keep, relabel or drop", hint(&other, &ACTIONS));
                return Err(bad(path, at, "action", what));
            }
        };
        if action == Action::Relabel && label.is_empty() {
            let what = "relabel needs a label, but the cell is empty or the column missing; fill it in";
            return Err(bad(path, at, "label", what));
        }
        let (given_label, fingerprint) = (cell(given_labels), cell(fingerprints));
        Ok(Decision { at, row: cell(rows), action, label, given_label, id: cell(ids), fingerprint })
    };
    (0..cells.rows()).map(decision).collect()
}

fn bad(path: &Path, at: usize, column: &str, what: impl std::fmt::Display) -> Failure {
    Failure::input(format!("{}: row {at}, column '{column}': {what}", path.display()))
}

fn ways_out(decision: &Decision, by_id: bool) -> String {
    let by_ids = if !by_id && !decision.id.is_empty() { ", name its ID column with --id" } else { "" };
    format!("apply the decisions to the table they were made on{by_ids}, or override with --force")
}

fn hint<S: AsRef<str>>(wrong: &str, known: &[S]) -> String {
    closest(wrong, known).first().map(|near| format!(", did you mean '{near}'?")).unwrap_or_default()
}
