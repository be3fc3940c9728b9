//! Which column of new data belongs to which column of the pipeline.

use std::collections::{HashMap, HashSet};

use super::{Note, Preprocess};
use crate::dataset::Array;
use crate::error::{Error, Problem, Result};
use crate::read::missing_columns;
use crate::table::{Table, made_up_name};

/// For each column of the pipeline its place in the new data, or nothing where it is not needed.
pub(super) type Places = Vec<Option<usize>>;

impl Preprocess {
    /// By name, or by position where only one side has names and the numbers of columns agree.
    pub(super) fn match_table(&self, table: &Table, notes: &mut Vec<Note>) -> Result<Places> {
        let found = table.columns().len() + table.skipped().len();
        if table.unnamed() != self.unnamed && table.columns().len() == self.columns.len() {
            notes.push(Note::MatchedByPosition);
            return Ok((0..self.columns.len()).map(Some).collect());
        }
        if table.unnamed() && self.unnamed {
            self.check_inputs(found)?;
        }
        let places: HashMap<&str, usize> = table.names().into_iter().zip(0..).collect();
        let matched = self.match_names(|name| places.get(name).copied(), table.unnamed())?;
        // A column that the pipeline knows but drops is not worth a word.
        let known: HashSet<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let extra: Vec<String> = table
            .names()
            .into_iter()
            .chain(table.skipped().iter().map(String::as_str))
            .filter(|name| !known.contains(name))
            .map(String::from)
            .collect();
        if !extra.is_empty() && !self.unnamed {
            notes.push(Note::ExtraColumns { columns: extra });
        }
        Ok(matched)
    }

    /// Arrays have no names: their width has to be that of the data the pipeline was fitted on.
    pub(super) fn match_array(&self, array: &Array, notes: &mut Vec<Note>) -> Result<Places> {
        if !self.unnamed && array.width() == self.columns.len() {
            notes.push(Note::MatchedByPosition);
            return Ok((0..self.columns.len()).map(Some).collect());
        }
        self.check_inputs(array.width())?;
        let places: HashMap<String, usize> = (0..array.width()).map(|at| (made_up_name(at), at)).collect();
        self.match_names(|name| places.get(name).copied(), true)
    }

    pub(super) fn check_inputs(&self, found: usize) -> Result<()> {
        if found == self.inputs {
            return Ok(());
        }
        let problem =
            Problem::Shape { what: "feature columns".into(), expected: self.inputs as u64, found: found as u64 };
        Err(Error::new(problem).way_out("the data must have the columns that the model was fitted on, in their order"))
    }

    fn match_names(&self, place: impl Fn(&str) -> Option<usize>, unnamed: bool) -> Result<Places> {
        let places: Places = self.columns.iter().map(|column| place(&column.name)).collect();
        let missing: Vec<String> = self
            .columns
            .iter()
            .zip(&places)
            .filter(|(column, place)| place.is_none() && column.width() > 0)
            .map(|(column, _)| column.name.clone())
            .collect();
        if missing.is_empty() { Ok(places) } else { Err(missing_columns(missing, unnamed && !self.unnamed)) }
    }
}
