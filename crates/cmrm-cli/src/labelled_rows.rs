//! Rows with labels, and what the models of a run say of them.

use std::path::Path;

use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Column, Kind, LabelOptions, LabelledRows, MissingLabels};
use cmrm_run::Model;
use cmrm_train::Stop;

use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::known;
use crate::new_rows::NewRows;
use crate::terminal::Terminal;

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
    let read = known::completed(read, data, run, Some(model.preprocess().expected()))?;
    let mut rows = NewRows::open(data, &read, model, terminal)?;
    let Some(labels_from) = rows.labels_from.clone() else {
        return Err(Failure::input(format!("{data}: {no_labels}")));
    };
    let mut probabilities = vec![Vec::new(); model.arms().len()];
    let mut texts = ColumnBuilder::new(Kind::Categorical);
    rows.each_block(|block, _| {
        let features = block.x()?;
        for (arm, out) in model.arms().iter().zip(&mut probabilities) {
            out.extend(model.predict_rows(arm, features, &Stop::default())?.into_probabilities());
        }
        for label in block.labels.iter().flatten() {
            match label {
                Some(text) => texts.push_name(text),
                None => texts.push_missing(),
            }
        }
        Ok(true)
    })?;
    let column: Column = texts.finish(read.label.as_deref().unwrap_or("label"));
    let options = LabelOptions { missing, classes: Some(model.classes().to_vec()) };
    let source = read.labels.as_ref().map_or_else(|| data.to_owned(), |file| file.display().to_string());
    let labelled = LabelledRows::encode(&column, 0, &options).map_err(|error| error.in_file(&source))?;
    if labelled.rows.is_empty() {
        return Err(Failure::input(format!("{source}: no row has a label; check that this is the label column")));
    }
    if !labelled.unlabelled.is_empty() {
        let classes = model.classes().len();
        for values in &mut probabilities {
            for (at, &row) in labelled.rows.iter().enumerate() {
                values.copy_within(row * classes..(row + 1) * classes, at * classes);
            }
            values.truncate(labelled.rows.len() * classes);
        }
    }
    let unlabelled = labelled.unlabelled.len();
    Ok(Judged { probabilities, labels: labelled.labels.indices, unlabelled, labels_from })
}
