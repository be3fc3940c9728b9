//! The audit of probabilities that someone else's model gave.

use std::path::Path;

use cmrm::Matrix;
use cmrm::audit::{Audit, AuditOptions, RowSource, rank, rank_rows};
use cmrm_data::read::{Format, NpyRows, ReadOptions, Source, read, read_labels};
use cmrm_data::table::Values;
use cmrm_data::{Array, Column, Features, LabelOptions, LabelledRows};
use cmrm_fit::Balance;

use super::{Audited, Doubts, MOST_DOUBTED};
use crate::failure::{Failure, Result};
use crate::sources::source;

/// From anyone's probabilities.
pub fn from_probabilities(path: &Path, labels_path: &Path, options: &AuditOptions) -> Result<Audited> {
    let of_labels = source("the labels", labels_path)?;
    let of_probabilities = source("the probabilities", path)?;
    let (matrix, column) =
        rayon::join(|| probabilities(path, &of_probabilities), || read_labels(&of_labels, &ReadOptions::default()));
    let ((matrix, names), column) = (matrix?, column?);
    let (rows, width) = matrix.shape();
    if column.len() != rows {
        return Err(Failure::input(format!(
            "{}: {} labels for the {} rows of {}; give one label per row",
            labels_path.display(),
            column.len(),
            rows,
            path.display()
        )));
    }
    let (labels, classes) = class_indices(&column, names, width, labels_path, path)?;
    let audit =
        matrix.rank(&labels, options).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let doubts = matrix.doubts(&labels).map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    let rows = (0..labels.len() as u64).collect();
    let (ids, files, more) = (Vec::new(), Vec::new(), Vec::new());
    Ok(Audited {
        audit,
        rows,
        ids,
        files,
        labels,
        classes,
        more,
        doubts,
        noise: None,
        data: None,
        wrong: None,
        source: path.to_owned(),
        evidence: None,
        new_rows: None,
    })
}

/// Rows of probabilities.
enum Probabilities {
    /// An array that stays in its file and is read as it is needed, which takes less time than making room for it.
    InFile(NpyRows),
    /// What has to be read whole.
    InMemory(Array),
}

impl Probabilities {
    fn shape(&self) -> (usize, usize) {
        match self {
            Probabilities::InFile(rows) => (rows.rows(), rows.classes()),
            Probabilities::InMemory(array) => (array.rows(), array.width()),
        }
    }

    /// How likely the labels are wrong, unless the table is so large that it would take longer than the audit, or the probabilities are few or
    /// tell nothing of the labels.
    fn doubts(&self, labels: &[u32]) -> cmrm_fit::Result<Option<Doubts>> {
        let (rows, classes) = self.shape();
        if rows.saturating_mul(classes) > MOST_DOUBTED {
            return Ok(None);
        }
        let mut room = Vec::new();
        let values = match self {
            Probabilities::InFile(file) => file.read(0, rows, &mut room)?,
            Probabilities::InMemory(array) => array.values(),
        };
        Doubts::estimate(Matrix::new(values, classes)?, labels, Balance::default())
    }

    fn rank(&self, labels: &[u32], options: &AuditOptions) -> cmrm::Result<Audit> {
        match self {
            Probabilities::InFile(rows) => rank_rows(rows, labels, options),
            Probabilities::InMemory(array) => rank(Matrix::new(array.values(), array.width())?, labels, options),
        }
    }
}

/// The probabilities, and the names of their columns where they have any.
fn probabilities(path: &Path, source: &Source) -> Result<(Probabilities, Option<Vec<String>>)> {
    let options = ReadOptions::default();
    if Format::detect(source, &options)? == Format::Npy
        && let Some(rows) = NpyRows::open(source, &options)?
    {
        return Ok((Probabilities::InFile(rows), None));
    }
    let table = match read(source, &options)?.features {
        Features::Array(array) => return Ok((Probabilities::InMemory(array), None)),
        Features::Table(table) => table,
        Features::Sparse(_) => {
            let path = path.display();
            return Err(Failure::input(format!(
                "{path}: a sparse matrix where probabilities belong; save a dense array"
            )));
        }
    };
    let width = table.columns().len();
    let mut values = vec![0.0; table.rows() * width];
    for (at, column) in table.columns().iter().enumerate() {
        let bad = |what: &str| Failure::input(format!("{}: column '{}' {what}", path.display(), column.name));
        let Values::Numeric(numbers) = &column.values else {
            return Err(bad("is not numeric; keep only probabilities in the file"));
        };
        if let Some(row) = (0..numbers.len()).find(|&row| column.missing.at(row)) {
            return Err(bad(&format!("is empty in row {row}; fill it in or delete the row")));
        }
        for (row, &number) in numbers.iter().enumerate() {
            values[row * width + at] = number as f32;
        }
    }
    let names = (!table.unnamed()).then(|| table.names().into_iter().map(str::to_owned).collect());
    Ok((Probabilities::InMemory(Array::new(values, width)?), names))
}

/// Labels are indices of columns, or names of columns, or as many names as there are columns, in sorted order.
fn class_indices(
    column: &Column,
    names: Option<Vec<String>>,
    width: usize,
    labels_path: &Path,
    path: &Path,
) -> Result<(Vec<u32>, Vec<String>)> {
    let in_labels = |error: cmrm_data::Error| Failure::from(error.in_file(labels_path.display()));
    if let Some(names) = names {
        let known = LabelOptions { classes: Some(names.clone()), ..LabelOptions::default() };
        if let Ok(encoded) = LabelledRows::encode(column, 0, &known) {
            return Ok((encoded.labels.indices, names));
        }
    }
    let number_at = whole_numbers(column);
    if (0..column.len()).all(|row| number_at(row).is_some()) {
        let index = |row: usize| {
            let number = number_at(row).unwrap_or(-1);
            u32::try_from(number).ok().filter(|&label| (label as usize) < width).ok_or_else(|| {
                Failure::input(format!(
                    "{}: row {row}: label {number} is not a column of {}, which has {width} (0 to {}); map the labels to \
                     column indices",
                    labels_path.display(),
                    path.display(),
                    width.saturating_sub(1)
                ))
            })
        };
        let labels = (0..column.len()).map(index).collect::<Result<_>>()?;
        return Ok((labels, (0..width).map(|class| class.to_string()).collect()));
    }
    let labels = LabelledRows::encode(column, 0, &LabelOptions::default()).map_err(in_labels)?.labels;
    if labels.classes.len() != width {
        return Err(Failure::input(format!(
            "{}: {} different labels, but {} has {width} columns; give the labels as column indices",
            labels_path.display(),
            labels.classes.len(),
            path.display()
        )));
    }
    Ok((labels.indices, labels.classes))
}

/// The whole number in a row, if that is what stands there. Names are read once each, however many rows have them.
fn whole_numbers(column: &Column) -> impl Fn(usize) -> Option<i64> + '_ {
    let parse = |text: &str| text.trim().parse::<i64>().ok();
    let levels: Vec<Option<i64>> = match &column.values {
        Values::Categorical { levels, .. } => levels.iter().map(|name| parse(name)).collect(),
        _ => Vec::new(),
    };
    move |row| match &column.values {
        Values::Categorical { codes, .. } if !column.missing.at(row) => levels[codes[row] as usize],
        _ => column.text(row).and_then(|text| parse(&text)),
    }
}
