//! Which new rows are those that a run was trained on: its models know their labels, and doubt too few of them.

use std::collections::HashSet;
use std::path::Path;

use cmrm::Rows;
use cmrm_data::RowsSeen;
use cmrm_run::TrainingRows;

use crate::outputs::same_file;

/// What is known of the rows of a run, and of the new ones so far.
pub struct TrainedOn {
    ids: HashSet<String>,
    /// How many rows the run was trained on.
    rows: usize,
    /// The fingerprint of the new rows, while there are no more of them.
    seen: Option<RowsSeen>,
    added: usize,
}

impl TrainedOn {
    /// Of a run that was trained on these rows, with so many features.
    pub fn new(trained: &TrainingRows, width: usize) -> Self {
        let ids = trained.ids.iter().filter(|id| !id.is_empty()).cloned().collect();
        let rows = trained.len();
        TrainedOn { ids, rows, seen: Some(RowsSeen::new(rows, width)), added: 0 }
    }

    /// Looks at the rows of a block that have labels.
    pub fn add(&mut self, x: Rows<'_, f32>, labelled: &[usize]) {
        self.added += labelled.len();
        match (&mut self.seen, x) {
            (Some(seen), Rows::Dense(x)) if self.added <= self.rows => {
                labelled.iter().for_each(|&row| seen.add(x.row(row)));
            }
            // A fingerprint of sparse rows cannot be made block by block.
            (seen, _) => *seen = None,
        }
    }

    /// How many of the new rows the run was trained on: by their ids, else all or none of them, by the file or the fingerprint.
    pub fn rows(&self, data: &str, of_run: &str, fingerprint: &str, new: &TrainingRows) -> usize {
        if !self.ids.is_empty() && !new.ids.is_empty() {
            return new.ids.iter().filter(|id| self.ids.contains(*id)).count();
        }
        let same_rows = || {
            let seen = self.seen.clone().filter(|_| self.added == self.rows);
            seen.is_some_and(|seen| seen.finish(&new.labels, &new.classes).0 == fingerprint)
        };
        if same_file(Path::new(data), Path::new(of_run)) || same_rows() { new.len() } else { 0 }
    }
}
