//! Features as Python hands them over: a matrix, or columns with names and kinds.

use cmrm_data::table::{ColumnBuilder, Values};
use cmrm_data::{Array, Column, Features, Input, Kind, Table};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Floats, matrix, slice};
use crate::errors::refuse;

/// What `Table.columns` of Python's side holds: name, cells, and which of them are missing.
#[derive(FromPyObject)]
pub struct Cells<'py>(String, Content<'py>, Option<PyReadonlyArray1<'py, bool>>);

/// The cells of a column.
#[derive(FromPyObject)]
pub enum Content<'py> {
    /// Codes and the names they stand for.
    Names((PyReadonlyArray1<'py, u32>, Vec<String>)),
    /// Numbers.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// True or false.
    Booleans(PyReadonlyArray1<'py, bool>),
    /// Microseconds since 1970.
    Dates(PyReadonlyArray1<'py, i64>),
}

/// A matrix or a table.
#[derive(FromPyObject)]
pub enum Given<'py> {
    /// Numbers without names.
    Matrix(Floats<'py>),
    /// Columns.
    Table(Vec<Cells<'py>>),
}

impl Given<'_> {
    /// Copies them into what the library takes.
    pub fn features(&self) -> PyResult<Features> {
        match self {
            Given::Matrix(Floats::Single(array)) => dense(array, |values| values.to_vec()),
            Given::Matrix(Floats::Double(array)) => dense(array, |values| values.iter().map(|&v| v as f32).collect()),
            Given::Table(columns) => {
                let columns = columns.iter().map(column).collect::<PyResult<Vec<_>>>()?;
                Ok(Features::Table(Table::new(columns).map_err(refuse)?))
            }
        }
    }

    /// The same with labels that are indices into `classes`.
    pub fn input(&self, labels: &[u32], classes: &[String], source: &str) -> PyResult<Input> {
        let levels = classes.to_vec();
        let labels = Column::new("label", Values::Categorical { codes: labels.to_vec(), levels });
        Ok(Input { features: self.features()?, labels: Some(labels), ids: None, source: source.into() })
    }
}

fn dense<T: numpy::Element>(array: &PyReadonlyArray2<'_, T>, copy: impl Fn(&[T]) -> Vec<f32>) -> PyResult<Features> {
    let width = array.shape()[1];
    Ok(Features::Array(Array::new(copy(matrix(array)?.values()), width).map_err(refuse)?))
}

fn column(Cells(name, content, missing): &Cells<'_>) -> PyResult<Column> {
    let mask = missing.as_ref().map(slice).transpose()?.unwrap_or(&[]);
    let is_missing = |row: usize| mask.get(row).copied().unwrap_or(false);
    let mut builder = ColumnBuilder::new(match content {
        Content::Names(_) => Kind::Categorical,
        Content::Numbers(_) => Kind::Numeric,
        Content::Booleans(_) => Kind::Boolean,
        Content::Dates(_) => Kind::Date,
    });
    let mut fill = |rows: usize, push: &mut dyn FnMut(&mut ColumnBuilder, usize)| {
        for row in 0..rows {
            if is_missing(row) { builder.push_missing() } else { push(&mut builder, row) }
        }
    };
    match content {
        Content::Numbers(values) => {
            let values = slice(values)?;
            fill(values.len(), &mut |builder, row| builder.push_number(values[row]));
        }
        Content::Booleans(values) => {
            let values = slice(values)?;
            fill(values.len(), &mut |builder, row| builder.push_boolean(values[row]));
        }
        Content::Dates(values) => {
            let values = slice(values)?;
            fill(values.len(), &mut |builder, row| builder.push_date(values[row]));
        }
        Content::Names((codes, names)) => {
            let codes = slice(codes)?;
            if let Some(code) =
                codes.iter().enumerate().find(|(row, code)| !is_missing(*row) && **code as usize >= names.len())
            {
                return Err(refuse(format!("column '{name}': row {}: code {} has no name", code.0, code.1)));
            }
            fill(codes.len(), &mut |builder, row| builder.push_name(&names[codes[row] as usize]));
        }
    }
    Ok(builder.finish(name.as_str()))
}
