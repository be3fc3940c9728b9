//! `--since`: what an audit found that an earlier one had not, and whether the rows are still like those of before.

mod columns;
mod compared;
mod decided;
mod drift;
mod matching;
mod previous;
mod run_rows;
mod words;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use cmrm_data::preprocess::Preprocess;
use cmrm_run::names::PREPROCESS;
use cmrm_run::{RunDir, RunInfo, RunKind};
use serde::Serialize;

pub use previous::fingerprint;

use self::decided::Decided;
use self::drift::Drift;
use self::matching::{MatchedBy, places};
use self::previous::Previous;
use self::run_rows::RunRows;
use super::Audited;
use crate::failure::Result;

/// The column of `--out` that says what has become of a row.
pub const STATUS: &str = "since";
/// What it says of a suspect that was decided on before.
pub const DECIDED: &str = "decided";

/// What `--since` compares with.
pub struct Since<'a> {
    pub previous: &'a Path,
    pub decisions: Option<&'a Path>,
    /// The run whose models judge.
    pub run: &'a Path,
    /// Where its data is now, if it has moved.
    pub data: Option<&'a str>,
    pub cache: Option<&'a Path>,
}

/// What has become of a row since then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A suspect that was none, or was not there.
    New,
    /// A suspect that was one before, or whose label the models doubted then.
    Known,
    /// A suspect that somebody has decided on.
    Decided,
    /// A suspect of before whose label the models agree with now.
    Gone,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::New => "new",
            Status::Known => "known",
            Status::Decided => DECIDED,
            Status::Gone => "gone",
        }
    }
}

/// What has changed.
pub struct Changes {
    pub previous: String,
    pub matched_by: MatchedBy,
    /// By row of the audit; nothing for rows that are no suspects and were none.
    pub status: Vec<Option<Status>>,
    /// Suspects of before whose rows are not there any more.
    pub rows_gone: usize,
    pub drift: Drift,
    /// What the user should hear.
    pub notes: Vec<String>,
}

impl Changes {
    pub fn count(&self, status: Status) -> usize {
        self.status.iter().filter(|&&of| of == Some(status)).count()
    }
}

/// The rows of a run, if its data is still there, or why not.
type Read = std::result::Result<RunRows, String>;

impl Since<'_> {
    /// Compares.
    pub fn changes(&self, audited: &Audited) -> Result<Changes> {
        let mut previous = Previous::read(self.previous)?;
        let (run, info) = RunDir::open(self.run)?;
        let preprocess = match info.kind {
            RunKind::Rows => Some(Preprocess::from_json(&run.read(PREPROCESS)?)?),
            RunKind::Images => None,
        };
        let used = preprocess.as_ref().map(super::used_columns).unwrap_or_default();
        let is_used = |name: &str| used.is_empty() || used.contains(name);
        let read = |run: &RunDir, info: &RunInfo, moved: Option<&str>| -> Read {
            RunRows::read(run, info, moved, self.cache, &is_used).map_err(|failure| failure.to_string())
        };
        let same_run = previous.run.as_ref().is_some_and(|(of, _)| same_folder(of.path(), self.run));
        // Of the rows that were judged before, if they are those of a run; of the run that judges now.
        let then = previous.run.as_ref().map(|(of, info)| read(of, info, self.data.filter(|_| same_run)));
        let needs_own = !same_run
            && (audited.new_rows.is_none() && previous.run.is_some()
                || audited.new_rows.is_some() && previous.run.is_none());
        let own = needs_own.then(|| read(&run, &info, self.data));
        if let Some(Ok(rows)) = &then {
            previous.digests = rows.digests_of(&previous.rows);
        }
        let mut notes = Vec::new();
        let now_digests = match (&audited.new_rows, &own, &then) {
            (Some(about), ..) => about.digests.clone(),
            (None, Some(Ok(rows)), _) => rows.digests_of(&audited.rows),
            (None, None, Some(Ok(rows))) if same_run => rows.digests_of(&audited.rows),
            _ => Vec::new(),
        };
        let (matched_by, place) = self.matched(audited, &previous, &info, &now_digests, &mut notes);
        let decided = self.decided(audited, &previous, &place, (&run, &info), own.as_ref(), &now_digests)?;
        let status = statuses(audited, &previous, &place, &decided);
        let found: HashSet<usize> = place.iter().flatten().copied().collect();
        let rows_gone = (0..previous.rows.len()).filter(|at| previous.suspect[*at] && !found.contains(at)).count();
        let before = then.as_ref().or(own.as_ref().filter(|_| audited.new_rows.is_some()));
        let drift = self.drift(audited, &previous, before, own.as_ref(), &is_used)?;
        let previous = self.previous.display().to_string();
        Ok(Changes { previous, matched_by, status, rows_gone, drift, notes })
    }

    /// The place of each row of now among those of before, and by what it is known.
    fn matched(
        &self,
        audited: &Audited,
        previous: &Previous,
        info: &RunInfo,
        digests: &[u64],
        notes: &mut Vec<String>,
    ) -> (MatchedBy, Vec<Option<usize>>) {
        let count = audited.rows.len();
        let by_number = || places(previous.rows.iter().map(Some), audited.rows.iter().map(Some));
        if !audited.names().is_empty() && !previous.ids.is_empty() {
            let without = audited.names().iter().filter(|id| id.is_empty()).count();
            if without > 0 {
                notes.push(format!(
                    "{without} of {count} rows have no id, so what is new about them cannot be told: as suspects they count as new"
                ));
            }
            let stated = |id| Some(id).filter(|id: &&String| !id.is_empty());
            return (MatchedBy::Id, places(previous.ids.iter().map(stated), audited.names().iter().map(stated)));
        }
        let of_runs = previous.run.as_ref().filter(|_| audited.new_rows.is_none());
        if of_runs
            .is_some_and(|(_, then)| then.rows_fingerprint.is_some() && then.rows_fingerprint == info.rows_fingerprint)
        {
            return (MatchedBy::Row, by_number());
        }
        if !digests.is_empty() && digests.len() == count && !previous.digests.is_empty() {
            return (MatchedBy::Content, places(previous.digests.iter().map(Some), digests.iter().map(Some)));
        }
        let place = self.previous.display();
        if audited.new_rows.is_none() && previous.run.is_none() {
            notes.push(format!(
                "{place} has no ids, so its rows are matched by their numbers: that is right if rows were neither added between others nor \
                 removed since; a run that was fitted with --id has ids"
            ));
            return (MatchedBy::Row, by_number());
        }
        notes.push(format!(
            "the rows of {place} cannot be told among those of {}, so every suspect counts as new: one of them has no ids (--id), and what \
             its rows hold is not known",
            audited.source.display()
        ));
        (MatchedBy::Nothing, vec![None; count])
    }
}

fn statuses(
    audited: &Audited,
    previous: &Previous,
    place: &[Option<usize>],
    decided: &HashMap<usize, Decided>,
) -> Vec<Option<Status>> {
    let status = |now: usize| {
        let label = audited.name(audited.labels[now]);
        let was = place[now].is_some_and(|then| previous.suspect[then]);
        // The limit of flags depends on all rows: one that is across it now, with the label of before, is no news.
        let doubted = place[now].is_some_and(|then| previous.doubted[then] && previous.given[then] == label);
        let agrees = audited.audit.predicted_label[now] == audited.labels[now];
        match audited.audit.is_label_issue[now] {
            true if decided.get(&now).is_some_and(|of| of.holds(label)) => Some(Status::Decided),
            true if was || doubted => Some(Status::Known),
            true => Some(Status::New),
            false => (was && agrees).then_some(Status::Gone),
        }
    };
    (0..audited.rows.len()).map(status).collect()
}

fn same_folder(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| Some(one) == other.canonicalize().ok())
}
