//! Products of rows with rows that are kept: what distances and kernels are made of.

use std::borrow::Cow;

use cmrm::error::check_length;
use cmrm::{Matrix, OwnedRows, Rows, SparseRows};

use crate::error::{Error, Result};
use crate::matmul::{View, ViewMut, multiply, multiply_by_row};
use crate::stored::TensorFile;

/// Rows that many others are multiplied with.
pub(crate) struct Compared<'a> {
    rows: usize,
    inputs: usize,
    form: Form<'a>,
}

enum Form<'a> {
    Dense(Matrix<'a, f32>),
    /// The rows that have a number in each column: only those are met.
    Sparse {
        by_column: SparseRows<f32>,
    },
}

impl<'a> Compared<'a> {
    pub fn new(rows: Rows<'a, f32>) -> Self {
        let form = match rows {
            Rows::Dense(matrix) => Form::Dense(matrix),
            Rows::Sparse(matrix) => Form::Sparse { by_column: matrix.transposed() },
        };
        Compared { rows: rows.rows(), inputs: rows.columns(), form }
    }

    /// How many rows are kept.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// `x · rowsᵀ`, `[x.rows(), self.len()]`. `x` may have the other form. With `by_row` a row comes out the same to the last bit, alone or
    /// among others; sparse rows always do.
    pub fn products(&self, x: Rows<'_, f32>, by_row: bool, out: &mut Vec<f32>) {
        let multiply = if by_row { multiply_by_row } else { multiply };
        let (asked, inputs) = (x.rows(), self.inputs);
        out.clear();
        out.resize(asked * self.rows, 0.0);
        match &self.form {
            Form::Dense(rows) => multiply(
                ViewMut::rows(out, asked, self.rows, self.rows),
                View::rows(&dense_values(x), asked, inputs, inputs),
                View::rows(rows.values(), self.rows, inputs, inputs).transposed(),
                false,
            ),
            Form::Sparse { by_column } => {
                let by_column = by_column.view();
                for (i, sums) in out.chunks_exact_mut(self.rows).enumerate() {
                    each_number(x, i, |column, value| {
                        for (row, other) in by_column.row(column).iter() {
                            sums[row] += value * other;
                        }
                    });
                }
            }
        }
    }
}

/// All numbers of some rows.
fn dense_values<'a>(x: Rows<'a, f32>) -> Cow<'a, [f32]> {
    match x {
        Rows::Dense(matrix) => Cow::Borrowed(matrix.values()),
        Rows::Sparse(matrix) => {
            let mut values = vec![0.0; matrix.rows() * matrix.columns()];
            for (to, row) in values.chunks_exact_mut(matrix.columns()).zip(matrix.iter_rows()) {
                row.iter().for_each(|(column, value)| to[column] = value);
            }
            Cow::Owned(values)
        }
    }
}

/// The numbers of a row that are not zero, with their columns.
fn each_number(x: Rows<'_, f32>, row: usize, mut take: impl FnMut(usize, f32)) {
    match x {
        Rows::Dense(matrix) => {
            let numbers = matrix.row(row).iter().enumerate().filter(|(_, value)| **value != 0.0);
            numbers.for_each(|(column, &value)| take(column, value));
        }
        Rows::Sparse(matrix) => matrix.row(row).iter().for_each(|(column, value)| take(column, value)),
    }
}

/// The squared length of every row.
pub(crate) fn squares(x: Rows<'_, f32>) -> Vec<f32> {
    // From zero, not by `sum`, which gives minus zero for a row without numbers: distances are compared by their bits.
    let square = |values: &[f32]| values.iter().fold(0.0, |sum, v| sum + v * v);
    match x {
        Rows::Dense(matrix) => matrix.iter_rows().map(square).collect(),
        Rows::Sparse(matrix) => matrix.iter_rows().map(|row| square(row.values)).collect(),
    }
}

/// Puts rows into a file: dense ones as the tensor `name`, sparse ones as three whose names begin with it.
pub(crate) fn put_rows(file: &mut TensorFile, name: &str, rows: &OwnedRows<f32>) {
    match rows {
        OwnedRows::Dense { values, width } => file.put(name, &[values.len() / width, *width], values),
        OwnedRows::Sparse(rows) => {
            let view = rows.view();
            let numbers: Vec<u32> = view.iter_rows().map(|row| row.columns.len() as u32).collect();
            let columns: Vec<u32> = view.iter_rows().flat_map(|row| row.columns).copied().collect();
            file.put_integers(format!("{name}.numbers"), &numbers);
            file.put_integers(format!("{name}.columns"), &columns);
            file.put(format!("{name}.values"), &[view.kept()], view.values());
        }
    }
}

/// Takes rows out of a file, and checks them.
pub(crate) fn take_rows(file: &TensorFile, name: &str, rows: usize, inputs: usize) -> Result<OwnedRows<f32>> {
    let found = if file.holds(&format!("{name}.numbers")) {
        let numbers = file.take_integers(&format!("{name}.numbers"))?;
        check_length("rows of a tensor", rows, numbers.len())?;
        let columns = file.take_integers(&format!("{name}.columns"))?;
        let values = file.take_shaped::<f32>(&format!("{name}.values"), &[columns.len()])?;
        let mut starts = vec![0];
        starts.extend(numbers.iter().scan(0usize, |end, &number| {
            *end = end.saturating_add(number as usize);
            Some(*end)
        }));
        OwnedRows::Sparse(SparseRows::new(starts, columns, values, inputs)?)
    } else {
        OwnedRows::Dense { values: file.take_shaped(name, &[rows, inputs])?, width: inputs }
    };
    if let Some(at) = found.values().iter().position(|value| !value.is_finite()) {
        let value = found.values()[at];
        let reason = format!("holds {value} at place {at}; the file is damaged: copy it again, or fit again");
        return Err(Error::Stored { what: format!("tensor '{name}'"), reason });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_squares_are_the_same_in_every_form() {
        let dense = [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, -3.0, 0.5];
        let matrix = Rows::Dense(Matrix::new(&dense, 3).unwrap());
        let sparse = SparseRows::new(vec![0, 2, 2, 4], vec![0, 2, 1, 2], vec![1.0, 2.0, -3.0, 0.5], 3).unwrap();
        let forms = [matrix, Rows::Sparse(sparse.view())];
        for (kept, x) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for by_row in [false, true] {
                let mut found = Vec::new();
                Compared::new(forms[kept]).products(forms[x].slice(1..3), by_row, &mut found);
                assert_eq!(found, [0.0, 0.0, 0.0, 1.0, 0.0, 9.25], "{kept} {x}");
            }
        }
        assert_eq!(squares(forms[0]), squares(forms[1]));
    }

    #[test]
    fn rows_come_back_from_a_file_and_damaged_ones_do_not() {
        let sparse = SparseRows::new(vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, -3.0], 3).unwrap();
        let dense = OwnedRows::Dense { values: vec![1.0, 2.0, 3.0, 4.0], width: 2 };
        let mut file = TensorFile::default();
        put_rows(&mut file, "a", &OwnedRows::Sparse(sparse.clone()));
        put_rows(&mut file, "b", &dense);
        assert_eq!(take_rows(&file, "a", 3, 3).unwrap(), OwnedRows::Sparse(sparse));
        assert_eq!(take_rows(&file, "b", 2, 2).unwrap(), dense);
        assert!(take_rows(&file, "a", 2, 3).is_err() && take_rows(&file, "a", 3, 2).is_err());
        assert!(take_rows(&file, "b", 1, 4).is_err() && take_rows(&file, "c", 1, 1).is_err());
        file.put_integers("a.numbers", &[2, u32::MAX, 1]);
        assert!(take_rows(&file, "a", 3, 3).is_err());
        file.put("b", &[2, 2], &[1.0f32, f32::NAN, 3.0, 4.0]);
        assert!(take_rows(&file, "b", 2, 2).unwrap_err().to_string().contains("NaN"));
    }
}
