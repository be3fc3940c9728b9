//! Features as Python hands them over: a matrix, sparse rows, or columns with names and kinds.

use cmrm_data::table::Values;
use std::collections::HashSet;

use cmrm_data::{Array, Column, Features, Input, Table};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Floats, matrix};
use crate::columns::Cells;
use crate::errors::refuse;
use crate::sparse::SparseParts;

/// A matrix, sparse rows or a table.
#[derive(FromPyObject)]
pub enum Given<'py> {
    /// Numbers without names.
    Matrix(Floats<'py>),
    /// The same, where most are zero.
    Sparse(SparseParts<'py>),
    /// Columns.
    Table(Vec<Cells<'py>>),
}

impl Given<'_> {
    /// Copies them into what the library takes.
    pub fn features(&self) -> PyResult<Features> {
        match self {
            Given::Matrix(Floats::Single(array)) => dense(array, |values| values.to_vec()),
            Given::Matrix(Floats::Double(array)) => dense(array, |values| values.iter().map(|&v| v as f32).collect()),
            Given::Sparse(parts) => Ok(Features::Sparse(parts.array()?)),
            Given::Table(columns) => {
                let columns = columns.iter().map(Cells::column).collect::<PyResult<_>>()?;
                Ok(Features::Table(Table::new(columns).map_err(refuse)?))
            }
        }
    }

    /// The same to learn from, text found as in a file, with labels that are indices into `classes`.
    pub fn input(&self, labels: &[u32], classes: &[String], source: &str) -> PyResult<Input> {
        let features = match (self, self.features()?) {
            (Given::Table(columns), Features::Table(table)) => {
                let names: HashSet<&str> = columns.iter().filter_map(Cells::names).collect();
                Features::Table(table.with_text_found(|name| names.contains(name)).map_err(refuse)?)
            }
            (_, features) => features,
        };
        let levels = classes.to_vec();
        let labels = Column::new("label", Values::Categorical { codes: labels.to_vec(), levels });
        Ok(Input { features, labels: Some(labels), ids: None, source: source.into() })
    }
}

fn dense<T: numpy::Element>(array: &PyReadonlyArray2<'_, T>, copy: impl Fn(&[T]) -> Vec<f32>) -> PyResult<Features> {
    let width = array.shape()[1];
    Ok(Features::Array(Array::new(copy(matrix(array)?.values()), width).map_err(refuse)?))
}
