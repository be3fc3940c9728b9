//! Decisions that were made before, and the rows that they are about.

use std::collections::HashMap;
use std::path::Path;

use cmrm_review::Store;
use cmrm_run::decision::Action;
use cmrm_run::names::DECISIONS;
use cmrm_run::{RunDir, RunInfo};

use super::matching::places;
use super::previous::Previous;
use super::{Read, Since};
use crate::audit::Audited;
use crate::decisions;
use crate::failure::{Failure, Result};

/// What was decided on one row.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The new label of a row that is relabelled.
    pub label: Option<String>,
    /// The label that was decided on, where that is known.
    pub given: Option<String>,
}

impl Decided {
    /// Whether it still holds of a row with this label: nobody has changed it since, but by this decision.
    pub fn holds(&self, label: &str) -> bool {
        self.given.as_deref().is_none_or(|given| given == label) || self.label.as_deref() == Some(label)
    }
}

/// What was decided on the review page of a run, by the row's place among the rows that it was trained on.
pub fn in_review(run: &RunDir, info: &RunInfo) -> Result<Vec<(usize, Decided)>> {
    let file = run.file(DECISIONS);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let found = Store::open(&file, &info.fingerprint).and_then(|store| store.decisions()).map_err(Failure::input)?;
    let rows = run.read_rows(info)?;
    let places: HashMap<u64, usize> = rows.rows.iter().copied().zip(0..).collect();
    let decided = found.into_iter().filter(|decision| decision.action != Action::Unsure).filter_map(|decision| {
        let &place = places.get(&decision.row)?;
        let given = Some(rows.name(rows.labels[place]).to_owned());
        Some((place, Decided { label: decision.label, given }))
    });
    Ok(decided.collect())
}

impl Since<'_> {
    /// What was decided, by row of the audit.
    pub(super) fn decided(
        &self,
        audited: &Audited,
        previous: &Previous,
        place: &[Option<usize>],
        (run, info): (&RunDir, &RunInfo),
        own: Option<&Read>,
        digests: &[u64],
    ) -> Result<HashMap<usize, Decided>> {
        let mut now_of: HashMap<usize, usize> = HashMap::new();
        place.iter().enumerate().for_each(|(now, then)| {
            then.map(|then| now_of.insert(then, now));
        });
        let by_id = !audited.names().is_empty();
        let named = audited.names().iter().map(String::as_str).zip(0..).filter(|(id, _)| !id.is_empty());
        let ids: HashMap<&str, usize> = named.collect();
        let mut decided = HashMap::new();
        // Whoever decided last is heard: an earlier audit's word first, then the review pages, then the file.
        for then in (0..previous.rows.len()).filter(|&then| previous.decided[then]) {
            let of = Decided { label: None, given: Some(previous.given[then].clone()) };
            now_of.get(&then).map(|&now| decided.insert(now, of));
        }
        if let Some((run, info)) = &previous.run {
            for (then, of) in in_review(run, info)? {
                now_of.get(&then).map(|&now| decided.insert(now, of));
            }
        }
        let of_run = in_review(run, info)?;
        if audited.new_rows.is_none() {
            // The rows of the audit are those of the run.
            decided.extend(of_run);
        } else if !of_run.is_empty() {
            let rows = run.read_rows(info)?;
            let by_content = match own {
                Some(Ok(own)) => places(digests.iter().map(Some), own.digests_of(&rows.rows).iter().map(Some)),
                _ => Vec::new(),
            };
            for (at, of) in of_run {
                let now = match rows.ids.get(at) {
                    Some(id) if by_id => ids.get(id.as_str()).copied(),
                    _ => by_content.get(at).copied().flatten(),
                };
                now.map(|now| decided.insert(now, of));
            }
        }
        if let Some(path) = self.decisions {
            let then_of = previous.places();
            for stated in in_file(path, by_id)? {
                let now = match stated.row {
                    _ if by_id && !stated.id.is_empty() => ids.get(stated.id.as_str()).copied(),
                    Some(row) => {
                        let then = *then_of.get(&row).ok_or_else(|| self.other_rows(path, row, "has no such row"))?;
                        if stated.decided.given.as_ref().is_some_and(|given| *given != previous.given[then].trim()) {
                            let what = format!("has the label '{}' there", previous.given[then]);
                            return Err(self.other_rows(path, row, &what));
                        }
                        now_of.get(&then).copied()
                    }
                    None => None,
                };
                now.map(|now| decided.insert(now, stated.decided));
            }
        }
        Ok(decided)
    }

    fn other_rows(&self, decisions: &Path, row: u64, what: &str) -> Failure {
        Failure::input(format!(
            "--decisions {}: decided on row {row}, but {} {what}; name the decisions on that audit, or give rows ids (--id) that \
             decisions have too",
            decisions.display(),
            self.previous.display()
        ))
    }
}

/// A line of a file of decisions.
pub struct Stated {
    pub id: String,
    /// The row's number in the data that was audited before, where there is one.
    pub row: Option<u64>,
    pub decided: Decided,
}

/// A file of decisions, as `cmrm review --export` and people write them.
pub fn in_file(path: &Path, by_id: bool) -> Result<Vec<Stated>> {
    let stated = |line: decisions::Decision| {
        let row = match line.row.as_str() {
            "" if by_id && !line.id.is_empty() => None,
            text => Some(text.parse::<u64>().map_err(|_| {
                Failure::input(format!(
                    "{}: row {}, column 'row': '{text}' is not a row number; correct it, or delete the line",
                    path.display(),
                    line.at
                ))
            })?),
        };
        let some = |text: String| (!text.is_empty()).then_some(text);
        let decided = Decided { label: some(line.label), given: some(line.given_label) };
        Ok(Stated { id: line.id, row, decided })
    };
    decisions::read(path, by_id)?.into_iter().map(stated).collect()
}
