//! Rows with labels, as the models of a run take them, and what they say of them.

use std::collections::BTreeMap;
use std::path::Path;

use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Kind, LabelOptions, LabelledRows, MissingLabels, Problem};
use cmrm_run::Model;
use cmrm_train::Stop;

use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::known;
use crate::new_rows::{Block, NewRows, Watch};
use crate::terminal::Terminal;

/// Data with labels that are classes of a run.
pub struct LabelledData<'a> {
    pub data: &'a str,
    /// How it is read.
    pub read: &'a ReadArgs,
    /// Names of the classes.
    pub classes: &'a [String],
    pub missing: MissingLabels,
    /// Whether rows with other labels are left out rather than refused.
    pub hold_out_unknown: bool,
    /// What is wrong where there are no labels, and what to do.
    pub no_labels: &'a str,
    /// What to do about a label that is none of the classes, where there is more to say than the reader knows.
    pub unknown_way_out: Option<&'a str>,
}

/// Rows that were left out, and where the labels of the others come from.
#[derive(Debug, Default)]
pub struct Labelled {
    /// In words.
    pub labels_from: String,
    /// Rows without a label.
    pub unlabelled: usize,
    /// Labels that are none of the classes, and how many rows have them.
    pub unknown: BTreeMap<String, usize>,
}

impl LabelledData<'_> {
    /// Hands the rows to `take`, a block at a time, with what their labels are: rows of the block, and their classes. `watch` sees the
    /// data as it was read.
    pub fn each_block<'a>(
        &self,
        model: &'a Model,
        watch: Option<Watch<'a>>,
        terminal: &'a Terminal,
        mut take: impl FnMut(&Block, &LabelledRows) -> Result<()>,
    ) -> Result<Labelled> {
        let mut rows = NewRows::open(self.data, self.read, model, terminal)?;
        if let Some(watch) = watch {
            rows = rows.watched(watch);
        }
        let Some(labels_from) = rows.labels_from.clone() else {
            return Err(Failure::input(format!("{}: {}", self.data, self.no_labels)));
        };
        let source = self.read.labels.as_ref().map_or_else(|| self.data.to_owned(), |file| file.display().to_string());
        let name = self.read.label.as_deref().unwrap_or("label");
        let (missing, hold_out_unknown) = (self.missing, self.hold_out_unknown);
        let options = LabelOptions { missing, classes: Some(self.classes.to_vec()), hold_out_unknown };
        let mut found = Labelled { labels_from, ..Labelled::default() };
        let mut any = false;
        rows.each_block(|block, _| {
            let mut texts = ColumnBuilder::new(Kind::Categorical);
            for label in block.labels.iter().flatten() {
                match label {
                    Some(text) => texts.push_name(text),
                    None => texts.push_missing(),
                }
            }
            let column = texts.finish(name);
            let labelled = LabelledRows::encode(&column, block.first_row, &options).map_err(|error| {
                let unknown = matches!(error.problem(), Problem::UnknownLabel { .. });
                let error = error.in_file(&source);
                match self.unknown_way_out.filter(|_| unknown) {
                    Some(way_out) => error.way_out(way_out),
                    None => error,
                }
            })?;
            found.unlabelled += labelled.unlabelled.len();
            for text in labelled.unknown.iter().filter_map(|&row| column.text(row)) {
                *found.unknown.entry(text.into_owned()).or_default() += 1;
            }
            any |= !labelled.rows.is_empty();
            take(&block, &labelled)?;
            Ok(true)
        })?;
        if !any {
            let known = if found.unknown.is_empty() { "" } else { " that the run knows" };
            return Err(Failure::input(format!(
                "{source}: no row has a label{known}; check that this is the label column"
            )));
        }
        Ok(found)
    }
}

/// Labelled rows, and each arm's probabilities for them.
pub struct Judged {
    /// In the order of the run's arms.
    pub probabilities: Vec<Vec<f32>>,
    pub labels: Vec<u32>,
    /// Rows left out because they have no label.
    pub unlabelled: usize,
    /// Where the labels come from, in words.
    pub labels_from: String,
}

/// Reads labelled data and asks every arm of the model in the folder `run`. `no_labels` says what is wrong where there are none, and what to do.
pub fn judge(
    data: &str,
    read: &ReadArgs,
    missing: MissingLabels,
    no_labels: &str,
    run: &Path,
    model: &Model,
    terminal: &Terminal,
) -> Result<Judged> {
    let read = &known::completed(read, data, run, Some(model.preprocess().expected()))?;
    let (classes, arms) = (model.classes(), model.arms());
    let (mut probabilities, mut labels) = (vec![Vec::new(); arms.len()], Vec::new());
    let rows = LabelledData { data, read, classes, missing, hold_out_unknown: false, no_labels, unknown_way_out: None };
    let found = rows.each_block(model, None, terminal, |block, labelled| {
        for (arm, out) in arms.iter().zip(&mut probabilities) {
            let said = model.predict_rows(arm, block.x()?, &Stop::default())?;
            extend_with(out, said.probabilities(), classes.len(), &labelled.rows);
        }
        labels.extend(&labelled.labels.indices);
        Ok(())
    })?;
    Ok(Judged { probabilities, labels, unlabelled: found.unlabelled, labels_from: found.labels_from })
}

/// Adds these rows of a matrix of so many columns.
pub fn extend_with(out: &mut Vec<f32>, said: &[f32], columns: usize, rows: &[usize]) {
    rows.iter().for_each(|row| out.extend(&said[row * columns..(row + 1) * columns]));
}
