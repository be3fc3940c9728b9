//! New data as a stored model takes it, a block at a time.

use std::path::Path;

use cmrm::{OwnedRows, Rows};
use cmrm_data::preprocess::in_words;
use cmrm_data::read::{CHUNK_ROWS, Chunks, Opened, ReadOptions, read_labels};
use cmrm_data::{Column, ColumnRef, Input};
use cmrm_datasets::Cache;
use cmrm_run::Model;
use cmrm_train::model::BLOCK_ROWS;

use crate::args::ReadArgs;
use crate::data_file::settings;
use crate::failure::{Failure, Result};
use crate::load::{names_data_set, refuse_reading_flags, set_text};
use crate::sources::{open_data, source};
use crate::terminal::Terminal;

/// Most numbers of a block: a model of more than 4,096 features gets fewer rows at a time.
const BLOCK_NUMBERS: usize = CHUNK_ROWS << 12;

/// Rows of a block for a model of so many features: whole blocks of the network's own, which threads share.
fn block_rows(width: usize) -> usize {
    (BLOCK_NUMBERS / width.max(1) / BLOCK_ROWS).clamp(1, CHUNK_ROWS / BLOCK_ROWS) * BLOCK_ROWS
}

/// Rows that follow each other in the data.
pub struct Block {
    /// Row of the first one, from zero.
    pub first_row: u64,
    /// The model's features, once there is a row.
    features: Option<OwnedRows<f32>>,
    /// The row names, if there are any.
    pub ids: Option<Vec<Option<String>>>,
    /// The labels as they stand there, if there are any; nothing where one is missing.
    pub labels: Option<Vec<Option<String>>>,
}

/// Data for a stored model.
pub struct NewRows<'a> {
    model: &'a Model,
    chunks: Chunks,
    /// Labels from a file of their own.
    separate: Option<(String, Column)>,
    /// The name of the column of row names.
    id_name: Option<String>,
    /// Where the labels come from, in words.
    pub labels_from: Option<String>,
    /// What to call the data.
    pub name: String,
    terminal: &'a Terminal,
    said: Vec<String>,
}

impl<'a> NewRows<'a> {
    /// Opens files, standard input, or a data set of the catalogue; of that, the part to test on if it has one.
    pub fn open(data: &str, args: &ReadArgs, model: &'a Model, terminal: &'a Terminal) -> Result<Self> {
        let path = Path::new(data);
        if let Some((column, _)) = args.overrides().next() {
            return Err(Failure::input(format!(
                "the model knows what the columns are; leave out --ignore and --type for column '{column}'"
            )));
        }
        let separate = match &args.labels {
            None => None,
            Some(_) if args.label.is_some() => {
                return Err(Failure::input("--label and --labels exclude each other; give one of them"));
            }
            Some(labels) => {
                let column = read_labels(&source("the labels", labels)?, &ReadOptions::default())?;
                Some((labels.display().to_string(), column))
            }
        };
        let mut labels_from = match (&separate, &args.label) {
            (Some((file, _)), _) => Some(format!("the file {file}")),
            (None, Some(label)) => Some(format!("column '{label}' of {data}")),
            (None, None) => None,
        };
        let chunks = if names_data_set(data) {
            refuse_reading_flags(&settings(data, args))?;
            let named = cmrm_datasets::load(data, &Cache::locate(args.cache.as_deref())?)?;
            let part =
                if named.test.is_some() { "the test part" } else { "all rows, which may include training rows," };
            terminal.say(format!("note: {part} of the data set {data}"));
            labels_from.get_or_insert_with(|| format!("{part} of the data set {data}"));
            Opened::Whole(Box::new(named.test.unwrap_or(named.train))).chunks(CHUNK_ROWS)?
        } else {
            let mut options = ReadOptions { expected: Some(model.preprocess().expected()), ..ReadOptions::default() };
            options.label = args.label.clone().map(ColumnRef);
            options.id = args.id.clone().map(ColumnRef);
            options.format = args.format;
            options.strict = args.strict;
            set_text(&mut options, args.no_header, args.delimiter.as_deref())?;
            options.text.skip_lines = args.skip_lines.unwrap_or(0);
            let opened = open_data(path, &options)?;
            if let Opened::Whole(input) = &opened
                && input.labels.is_some()
            {
                labels_from.get_or_insert_with(|| format!("the labels in {data}"));
            }
            opened.chunks(block_rows(model.preprocess().width()))?
        };
        let name = data.to_owned();
        Ok(NewRows { model, chunks, separate, id_name: None, labels_from, name, terminal, said: Vec::new() })
    }

    /// Hands the rows to `take`, [`block_rows`] at a time and the rest at the end, however the file is cut up itself: a
    /// file of small pieces is predicted as fast as another.
    /// `take` gets the name of the column of row names beside them and says whether to go on.
    pub fn each_block(&mut self, mut take: impl FnMut(Block, Option<&str>) -> Result<bool>) -> Result<()> {
        let block = block_rows(self.model.preprocess().width());
        let mut pending = Block { first_row: 0, features: None, ids: None, labels: None };
        let mut rows = 0u64;
        while let Some(chunk) = self.chunks.next() {
            let chunk = chunk?;
            rows += chunk.features.rows() as u64;
            self.add(&mut pending, chunk)?;
            let whole = pending.rows() / block;
            let rest = pending.split_off(whole * block);
            // From the end, so that no row is copied more than once.
            let mut blocks: Vec<Block> = (1..whole).rev().map(|at| pending.split_off(at * block)).collect();
            let first = std::mem::replace(&mut pending, rest);
            blocks.extend((whole > 0).then_some(first));
            while let Some(block) = blocks.pop() {
                if !take(block, self.id_name.as_deref())? {
                    return Ok(());
                }
            }
        }
        if let Some((file, column)) = &self.separate
            && column.len() as u64 != rows
        {
            return Err(Failure::input(format!(
                "{file}: {} labels for the {rows} rows of {}; give one label per row, in the same order",
                column.len(),
                self.name
            )));
        }
        if pending.rows() > 0 {
            take(pending, self.id_name.as_deref())?;
        }
        Ok(())
    }

    fn add(&mut self, pending: &mut Block, chunk: Input) -> Result<()> {
        let transformed =
            self.model.preprocess().transform(&chunk.features).map_err(|error| error.in_file(&chunk.source))?;
        for note in in_words(&transformed.notes) {
            // Every chunk has the same columns to remark on; once is enough.
            if !self.said.contains(&note) {
                self.terminal.say(format!("note: {note}"));
                self.said.push(note);
            }
        }
        let (first, rows) = (chunk.features.first_row() as usize, chunk.features.rows());
        match &mut pending.features {
            Some(features) => features.append(transformed.rows.view()?)?,
            none => *none = Some(transformed.rows),
        }
        if let Some(ids) = &chunk.ids {
            self.id_name.get_or_insert_with(|| ids.name.clone());
            pending.ids.get_or_insert_default().extend(texts(ids, 0, rows));
        }
        let labels = match (&self.separate, &chunk.labels) {
            (Some((_, column)), _) => Some((column, first)),
            (None, Some(column)) => Some((column, 0)),
            (None, None) => None,
        };
        if let Some((column, from)) = labels {
            pending.labels.get_or_insert_default().extend(texts(column, from, rows));
        }
        Ok(())
    }
}

impl Block {
    /// The features, as models take them.
    pub fn x(&self) -> Result<Rows<'_, f32>> {
        let features = self.features.as_ref().ok_or_else(|| Failure::internal("a block without rows"))?;
        Ok(features.view()?)
    }

    fn rows(&self) -> usize {
        self.features.as_ref().map_or(0, OwnedRows::rows)
    }

    fn split_off(&mut self, rows: usize) -> Block {
        let rest = |texts: &mut Option<Vec<Option<String>>>| texts.as_mut().map(|texts| texts.split_off(rows));
        Block {
            first_row: self.first_row + rows as u64,
            features: self.features.as_mut().map(|features| features.split_off(rows)),
            ids: rest(&mut self.ids),
            labels: rest(&mut self.labels),
        }
    }
}

fn texts(column: &Column, from: usize, rows: usize) -> impl Iterator<Item = Option<String>> {
    (from..from + rows).map(|row| column.text(row).map(|text| text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_models_get_fewer_rows_in_whole_blocks() {
        assert_eq!([1, 30, 4096].map(block_rows), [CHUNK_ROWS; 3]);
        assert_eq!(
            [4097, 10_000, 50_000, 1 << 30].map(block_rows),
            [7 * BLOCK_ROWS, 3 * BLOCK_ROWS, BLOCK_ROWS, BLOCK_ROWS]
        );
    }
}
