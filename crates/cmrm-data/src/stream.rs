//! From a file to a [`Dataset`] without ever holding its cells as anything but `f32`.

use crate::dataset::{Dataset, Input};
use crate::error::{Error, Problem, Result};
use crate::labels::{LabelOptions, LabelledRows};
use crate::preprocess::{Fitter, Note, Preprocess, PreprocessOptions};
use crate::read::{CHUNK_ROWS, Opened};
use crate::table::Column;

/// A data set with the pipeline that made it.
#[derive(Debug)]
pub struct Loaded {
    /// The labelled rows.
    pub data: Dataset,
    /// The pipeline, fitted on the training rows.
    pub pipeline: Preprocess,
    /// The labels, the rows they belong to, and the rows without.
    pub labels: LabelledRows,
    /// What there is to say about the fit.
    pub notes: Vec<Note>,
}

/// Passes over the file three times: for the labels, to fit the pipeline on the rows that `choose_training` picks
/// (as positions among the file's rows), and to turn the rows into features. Text and Parquet are held a chunk at a
/// time; other formats are dense numbers already and are read whole.
pub fn load(
    opened: &Opened,
    label_options: &LabelOptions,
    options: &PreprocessOptions,
    choose_training: impl FnOnce(&LabelledRows) -> Result<Vec<usize>>,
) -> Result<Loaded> {
    if let Opened::Whole(input) = opened {
        let labels = input.encode_labels(label_options)?;
        let training = choose_training(&labels)?;
        let fitted = Preprocess::fit(&input.features, &training, options);
        let (pipeline, notes) = fitted.map_err(|error| error.in_file(&input.source))?;
        let (data, _) = pipeline.dataset(input, &labels)?;
        return Ok(Loaded { data, pipeline, labels, notes });
    }
    let (column, source) = read_label_column(opened)?;
    let in_file = |error: Error| error.in_file(&source);
    let labels = LabelledRows::encode(&column, 0, label_options).map_err(in_file)?;
    let training = marks(&choose_training(&labels)?, column.len()).map_err(in_file)?;
    let (pipeline, notes) = fit(opened, options, &training).map_err(in_file)?;
    let width = pipeline.width();
    let mut features = Vec::with_capacity(labels.rows.len().saturating_mul(width));
    let mut wanted = labels.rows.iter().copied().peekable();
    for chunk in opened.chunks(CHUNK_ROWS)? {
        let chunk = chunk?;
        let first = chunk.features.first_row() as usize;
        let transformed = pipeline.transform(&chunk.features).map_err(in_file)?;
        while let Some(row) = wanted.next_if(|&row| row < first + chunk.features.rows()) {
            let at = (row - first) * width;
            features.extend_from_slice(&transformed.values[at..at + width]);
        }
    }
    let data = Dataset {
        features,
        feature_names: pipeline.feature_names(),
        labels: labels.labels.indices.clone(),
        classes: labels.labels.classes.clone(),
        rows: labels.rows.iter().map(|&row| row as u64).collect(),
        image: None,
    };
    data.check_length().map_err(in_file)?;
    Ok(Loaded { data, pipeline, labels, notes })
}

fn read_label_column(opened: &Opened) -> Result<(Column, String)> {
    let mut joined: Option<(Column, String)> = None;
    for chunk in opened.chunks(CHUNK_ROWS)? {
        let Input { labels, source, .. } = chunk?;
        let labels =
            labels.ok_or_else(|| Error::option("no labels found").in_file(&source).way_out("name the label column"))?;
        match &mut joined {
            None => joined = Some((labels, source)),
            Some((column, _)) => column.append(labels)?,
        }
    }
    joined.ok_or_else(|| Error::new(Problem::Empty("the file".into())))
}

fn marks(training: &[usize], rows: usize) -> Result<Vec<bool>> {
    crate::table::check_rows(training, rows)?;
    let mut marks = vec![false; rows];
    for &row in training {
        marks[row] = true;
    }
    Ok(marks)
}

fn fit(opened: &Opened, options: &PreprocessOptions, training: &[bool]) -> Result<(Preprocess, Vec<Note>)> {
    let mut fitter = None;
    for chunk in opened.chunks(CHUNK_ROWS)? {
        let features = chunk?.features;
        let first = features.first_row() as usize;
        // A file that changes under our hands may have more rows now than it had.
        let marks = training.get(first..first + features.rows()).ok_or_else(|| {
            Error::new(Problem::Shape {
                what: "rows, counted again".into(),
                expected: training.len() as u64,
                found: (first + features.rows()) as u64,
            })
        })?;
        match &mut fitter {
            None => fitter.insert(Fitter::new(&features, options)?),
            Some(fitter) => fitter,
        }
        .update(&features, marks)?;
    }
    fitter.ok_or_else(|| Error::new(Problem::Empty("the file".into())))?.finish()
}
