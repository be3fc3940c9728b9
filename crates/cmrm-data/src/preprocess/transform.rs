//! Applying a pipeline.

use std::collections::{BTreeSet, HashMap};

use cmrm::{OwnedRows, SparseRows};

use super::column_fit::{missing_cell, non_finite};
use super::misread::refuse_misread;
use super::plan::{ColumnPlan, Encoder, Fill, Scale, days, from_days};
use super::side_by_side::Dense;
use super::sparse::{table_to_dense, to_dense};
use super::transform_array::array_kind;
use super::{Note, Preprocess, SparsePlan};
use crate::dataset::{Array, Dataset, Features, Input};
use crate::error::{Error, Problem, Result};
use crate::labels::LabelledRows;
use crate::table::{Column, Table, Unreadable, Values, as_kind, not_of_kind};

/// Most unknown names that a note quotes.
const EXAMPLES: usize = 3;

/// Features as numbers, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Transformed {
    /// The numbers, all finite.
    pub rows: OwnedRows<f32>,
    /// What there is to say.
    pub notes: Vec<Note>,
}

impl Preprocess {
    /// Turns every row into numbers: sparse ones where a column is text or the pipeline was fitted on a sparse array.
    pub fn transform(&self, features: &Features) -> Result<Transformed> {
        let mut notes = Vec::new();
        let rows = match (&self.sparse, features) {
            (Some(plan), features) => OwnedRows::Sparse(self.transform_for_sparse(plan, features, &mut notes)?),
            (None, Features::Table(table)) => self.transform_table(table, &mut notes)?,
            (None, Features::Array(array)) => self.transform_array(array, &mut notes)?,
            (None, Features::Sparse(array)) => {
                self.check_inputs(array.rows.width())?;
                self.transform_array(&to_dense(array)?, &mut notes)?
            }
        };
        Ok(Transformed { rows, notes })
    }

    fn transform_table(&self, table: &Table, notes: &mut Vec<Note>) -> Result<OwnedRows<f32>> {
        let places = self.match_table(table, notes)?;
        let first_row = table.first_row();
        let width = self.columns.iter().filter(|plan| plan.text().is_none()).map(ColumnPlan::width).sum();
        // The numbers of all columns but those of text, and each of these apart.
        let mut values = vec![0.0; table.rows() * width];
        let mut texts = Vec::new();
        let mut offset = 0;
        for (plan, place) in self.columns.iter().zip(places) {
            let Some(place) = place.filter(|_| plan.width() > 0) else { continue };
            let column = as_kind(&table.columns()[place], plan.kind, plan.style, first_row)?;
            refuse_misread(plan, &column, first_row)?;
            match (plan.text(), &column.values) {
                (Some(text), Values::Text(cells)) => texts.push(text.transform(cells, &column.missing)?),
                _ => {
                    let out = Output { values: &mut values, width, offset, first_row };
                    self.write_column(plan, &column, out, notes)?;
                    offset += plan.width();
                }
            }
        }
        if texts.is_empty() {
            return Ok(OwnedRows::Dense { values, width });
        }
        let dense = Dense { values: &values, width };
        Ok(OwnedRows::Sparse(self.side_by_side(table.rows(), dense, &texts)?))
    }

    fn transform_array(&self, array: &Array, notes: &mut Vec<Note>) -> Result<OwnedRows<f32>> {
        if let Some(plan) = self.columns.iter().find(|plan| plan.text().is_some()) {
            return Err(array_kind(plan));
        }
        let width = self.width();
        let places = self.match_array(array, notes)?;
        let mut values = vec![0.0; array.rows() * width];
        self.write_array(array, &places, &mut values, notes)?;
        Ok(OwnedRows::Dense { values, width })
    }

    /// Rows for a pipeline that was fitted on sparse ones, of data of any form.
    fn transform_for_sparse(
        &self,
        plan: &SparsePlan,
        features: &Features,
        notes: &mut Vec<Note>,
    ) -> Result<SparseRows<f32>> {
        match features {
            Features::Sparse(array) => {
                self.check_inputs(array.rows.width())?;
                plan.transform_sparse(array)
            }
            Features::Array(array) => {
                self.check_inputs(array.width())?;
                plan.transform_dense(array)
            }
            Features::Table(table) => {
                self.check_inputs(table.columns().len())?;
                if !table.unnamed() {
                    notes.push(Note::MatchedByPosition);
                }
                plan.transform_dense(&table_to_dense(table)?)
            }
        }
    }

    /// The labelled rows of an input as the training side takes them.
    pub fn dataset(&self, input: &Input, labelled: &LabelledRows) -> Result<(Dataset, Vec<Note>)> {
        let in_file = |error: Error| error.in_file(&input.source);
        let rows = &labelled.rows;
        let first_row = input.features.first_row();
        let whole = rows.len() == input.features.rows() && rows.iter().zip(0..).all(|(&row, at)| row == at);
        let transformed = self.transform(&input.features).map_err(in_file)?;
        let mut data = Dataset {
            features: transformed.rows,
            feature_names: self.feature_names().into(),
            labels: labelled.labels.indices.clone(),
            classes: labelled.labels.classes.clone(),
            rows: rows.iter().map(|&row| first_row + row as u64).collect(),
            image: input.features.image().filter(|image| image.channels * image.height * image.width == self.width()),
        };
        if !whole {
            crate::table::check_rows(rows, input.features.rows()).map_err(in_file)?;
            // Rows without a label lie between.
            data.features = data.features.gather(rows);
        }
        data.check_length().map_err(in_file)?;
        Ok((data, transformed.notes))
    }

    fn write_column(&self, plan: &ColumnPlan, column: &Column, out: Output<'_>, notes: &mut Vec<Note>) -> Result<()> {
        let unreadable = column.missing.unreadable();
        let mut writer = CellWriter { plan, out, filled: 0, unreadable, unknown: 0, examples: BTreeSet::new() };
        match &column.values {
            Values::Categorical { codes, levels } => {
                let places: HashMap<&str, usize> = plan.levels().iter().map(String::as_str).zip(0..).collect();
                let places: Vec<Option<usize>> =
                    levels.iter().map(|level| places.get(level.as_str()).copied()).collect();
                for (row, &code) in codes.iter().enumerate() {
                    if column.missing.at(row) {
                        writer.missing(row)?;
                    } else {
                        writer.level(row, places[code as usize], &levels[code as usize])?;
                    }
                }
            }
            Values::Numeric(values) => {
                for (row, &value) in values.iter().enumerate() {
                    if column.missing.at(row) || value.is_nan() && self.nan_is_missing {
                        writer.missing(row)?;
                    } else {
                        writer.number(row, f64::from(value as f32), value)?;
                    }
                }
            }
            Values::Boolean(values) => {
                for (row, &value) in values.iter().enumerate() {
                    let value = f64::from(u8::from(value));
                    if column.missing.at(row) { writer.missing(row)? } else { writer.number(row, value, value)? }
                }
            }
            Values::Date(values) => {
                for (row, &value) in values.iter().enumerate() {
                    if column.missing.at(row) { writer.missing(row)? } else { writer.date(row, value)? }
                }
            }
            // Text has a way of its own.
            Values::Text(_) => {}
        }
        writer.remark(notes);
        Ok(())
    }
}

/// Where the features of one column go.
struct Output<'a> {
    values: &'a mut [f32],
    width: usize,
    offset: usize,
    first_row: u64,
}

struct CellWriter<'a> {
    plan: &'a ColumnPlan,
    out: Output<'a>,
    filled: u64,
    /// Cells that count as missing though something is written there.
    unreadable: &'a [Unreadable],
    unknown: u64,
    examples: BTreeSet<String>,
}

impl CellWriter<'_> {
    fn set(&mut self, row: usize, at: usize, value: f32) {
        self.out.values[row * self.out.width + self.out.offset + at] = value;
    }

    /// A number, with what it was before rounding for the message.
    fn number(&mut self, row: usize, value: f64, given: f64) -> Result<()> {
        if !value.is_finite() {
            return Err(non_finite(given, self.out.first_row + row as u64, &self.plan.name));
        }
        if let Encoder::Number(scale) = self.plan.encoder {
            let scaled = scale.apply(value);
            if !scaled.is_finite() {
                return Err(out_of_scale(given, scale, self.out.first_row + row as u64, &self.plan.name));
            }
            self.set(row, 0, scaled);
        }
        Ok(())
    }

    fn date(&mut self, row: usize, value: i64) -> Result<()> {
        let place = self.out.first_row + row as u64;
        let scaled = |raw: f64, scale: &Scale| {
            let scaled = scale.apply(raw);
            if scaled.is_finite() { Ok(scaled) } else { Err(out_of_scale(raw, *scale, place, &self.plan.name)) }
        };
        match &self.plan.encoder {
            Encoder::Days(scale) => {
                let scaled = scaled(days(value), scale)?;
                self.set(row, 0, scaled);
            }
            Encoder::Parts(parts) => {
                for (at, (part, scale)) in parts.iter().enumerate() {
                    let scaled = scaled(part.of(value), scale)?;
                    self.out.values[row * self.out.width + self.out.offset + at] = scaled;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A name by its place among the levels; one without a place leaves zeros, or counts as place −1.
    fn level(&mut self, row: usize, place: Option<usize>, name: &str) -> Result<()> {
        if place.is_none() && !matches!(self.plan.encoder, Encoder::Dropped) {
            self.unknown += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.insert(name.to_string());
            }
        }
        match (&self.plan.encoder, place) {
            (Encoder::OneHot { .. }, Some(place)) => self.set(row, place, 1.0),
            (Encoder::Ordinal { scale, .. }, place) => {
                let scaled = scale.apply(place.map_or(-1.0, |place| place as f64));
                self.set(row, 0, scaled);
            }
            _ => {}
        }
        Ok(())
    }

    fn missing(&mut self, row: usize) -> Result<()> {
        let Some(fill) = &self.plan.fill else {
            let (at, name) = (self.out.first_row + row as u64, &self.plan.name);
            return Err(match self.unreadable.iter().find(|cell| cell.row == row) {
                Some(cell) => not_of_kind(cell.text.clone(), self.plan.kind, at, name),
                None => missing_cell(at, name),
            });
        };
        self.filled += 1;
        match (fill, &self.plan.encoder) {
            (Fill::Number(value), Encoder::Number(_)) => self.number(row, *value, *value)?,
            (Fill::Number(value), _) => self.date(row, from_days(*value))?,
            (Fill::Level(level), _) => {
                let name = self.plan.levels().get(*level).cloned().unwrap_or_default();
                self.level(row, Some(*level), &name)?;
            }
            (Fill::OwnCategory, Encoder::OneHot { levels }) => self.set(row, levels.len(), 1.0),
            (Fill::OwnCategory, Encoder::Ordinal { levels, scale }) => {
                let scaled = scale.apply(levels.len() as f64);
                self.set(row, 0, scaled);
            }
            (Fill::OwnCategory, _) => {}
        }
        if self.plan.flag {
            self.set(row, self.plan.width() - 1, 1.0);
        }
        Ok(())
    }

    fn remark(self, notes: &mut Vec<Note>) {
        if let Some(note) = Note::unreadable(self.plan, self.unreadable, self.out.first_row) {
            notes.push(note);
        }
        let empty = self.filled - self.unreadable.len() as u64;
        if empty > 0 {
            notes.push(imputed(self.plan, empty));
        }
        if self.unknown > 0 {
            let examples = self.examples.into_iter().collect();
            notes.push(Note::UnknownCategories { column: self.plan.name.clone(), cells: self.unknown, examples });
        }
    }
}

pub(super) fn out_of_scale(value: f64, scale: Scale, row: u64, column: &str) -> Error {
    Error::new(Problem::OutOfScale { value, deviation: scale.deviation })
        .at_row(row)
        .in_column(column)
        .way_out("correct it, ignore the column, or do not standardise")
}

pub(super) fn imputed(plan: &ColumnPlan, cells: u64) -> Note {
    let with = match &plan.fill {
        Some(Fill::Number(_)) => "the training rows' typical value".to_string(),
        Some(Fill::Level(level)) => {
            format!("the most frequent category, '{}'", plan.levels().get(*level).map_or("", String::as_str))
        }
        _ => "a separate category".to_string(),
    };
    Note::Imputed { column: plan.name.clone(), cells, with }
}

impl ColumnPlan {
    /// The names that count, for a column of names.
    fn levels(&self) -> &[String] {
        match &self.encoder {
            Encoder::OneHot { levels } | Encoder::Ordinal { levels, .. } => levels,
            _ => &[],
        }
    }
}
