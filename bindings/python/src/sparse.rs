//! Sparse rows as SciPy's CSR has them.

use cmrm::SparseRows;
use cmrm_data::SparseArray;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::slice;
use crate::errors::refuse;

/// `indptr`, `indices`, `data` and the number of columns. Columns have to rise within a row; Python's side sees to that.
#[derive(FromPyObject)]
pub struct SparseParts<'py>(Indices<'py>, Indices<'py>, Numbers<'py>, usize);

/// SciPy has 64 bits where 32 do not suffice, and whenever somebody made it so.
#[derive(FromPyObject)]
enum Indices<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

#[derive(FromPyObject)]
enum Numbers<'py> {
    Single(PyReadonlyArray1<'py, f32>),
    Double(PyReadonlyArray1<'py, f64>),
}

impl SparseParts<'_> {
    /// The rows, copied and checked; none of the zeros between the numbers is made.
    pub fn array(&self) -> PyResult<SparseArray> {
        let SparseParts(starts, columns, values, width) = self;
        let values = match values {
            Numbers::Single(values) => slice(values)?.to_vec(),
            Numbers::Double(values) => slice(values)?.iter().map(|&value| value as f32).collect(),
        };
        let rows = SparseRows::new(starts.as_type("indptr")?, columns.as_type("indices")?, values, *width);
        Ok(SparseArray { rows: rows.map_err(refuse)?, first_row: 0 })
    }
}

impl Indices<'_> {
    fn as_type<T: TryFrom<i32> + TryFrom<i64>>(&self, name: &str) -> PyResult<Vec<T>> {
        match self {
            Indices::Narrow(indices) => checked(slice(indices)?, name),
            Indices::Wide(indices) => checked(slice(indices)?, name),
        }
    }
}

fn checked<F: Copy + std::fmt::Display, T: TryFrom<F>>(indices: &[F], name: &str) -> PyResult<Vec<T>> {
    let one = |&index: &F| T::try_from(index).map_err(|_| refuse(format!("X.{name}: {index} is out of range")));
    indices.iter().map(one).collect()
}
