//! Columns of a table as Python hands them over.

use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Column, Kind};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::slice;
use crate::errors::refuse;
use crate::strings::Strings;

/// What `_table.Column` of Python's side holds: name, cells, and which of them are missing.
#[derive(FromPyObject)]
pub struct Cells<'py>(String, Content<'py>, Option<PyReadonlyArray1<'py, bool>>);

/// The cells of a column. All but names and strings are borrowed from whoever has them: their one copy is the library's.
#[derive(FromPyObject)]
enum Content<'py> {
    Strings(Strings<'py>),
    /// Codes and the names they stand for.
    Names((PyReadonlyArray1<'py, u32>, Vec<String>)),
    Booleans(PyReadonlyArray1<'py, bool>),
    /// Microseconds since 1970.
    Dates((PyReadonlyArray1<'py, i64>,)),
    Numbers(Numbers<'py>),
}

macro_rules! numbers {
    ($($variant:ident $type:ty),*) => {
        /// Numbers of any type.
        #[derive(FromPyObject)]
        enum Numbers<'py> {
            $($variant(PyReadonlyArray1<'py, $type>),)*
        }

        impl Numbers<'_> {
            /// Hands each number to `take`, with its row.
            fn each(&self, mut take: impl FnMut(usize, f64)) -> PyResult<()> {
                match self {
                    $(Numbers::$variant(array) => {
                        slice(array)?.iter().enumerate().for_each(|(row, &number)| take(row, number as f64));
                    })*
                }
                Ok(())
            }
        }
    };
}

numbers!(F64 f64, F32 f32, I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8);

impl Cells<'_> {
    /// The name, if the cells are names whatever they look like.
    pub fn names(&self) -> Option<&str> {
        matches!(self.1, Content::Names(_)).then_some(&self.0)
    }

    /// The column, copied. Strings are names unless they are known to be text.
    pub fn column(&self) -> PyResult<Column> {
        let Cells(name, content, missing) = self;
        let mask = missing.as_ref().map(slice).transpose()?.unwrap_or(&[]);
        let is_missing = |row: usize| mask.get(row).copied().unwrap_or(false);
        let mut builder;
        match content {
            Content::Strings(strings) => return strings.column(name, is_missing),
            Content::Numbers(numbers) => {
                builder = ColumnBuilder::new(Kind::Numeric);
                numbers.each(
                    |row, number| {
                        if is_missing(row) { builder.push_missing() } else { builder.push_number(number) }
                    },
                )?;
            }
            Content::Booleans(values) => {
                builder = ColumnBuilder::new(Kind::Boolean);
                for (row, &value) in slice(values)?.iter().enumerate() {
                    if is_missing(row) { builder.push_missing() } else { builder.push_boolean(value) }
                }
            }
            Content::Dates((values,)) => {
                builder = ColumnBuilder::new(Kind::Date);
                for (row, &value) in slice(values)?.iter().enumerate() {
                    if is_missing(row) { builder.push_missing() } else { builder.push_date(value) }
                }
            }
            Content::Names((codes, names)) => {
                builder = ColumnBuilder::new(Kind::Categorical);
                for (row, &code) in slice(codes)?.iter().enumerate() {
                    match names.get(code as usize) {
                        _ if is_missing(row) => builder.push_missing(),
                        Some(name) => builder.push_name(name),
                        None => return Err(refuse(format!("column '{name}': row {row}: code {code} has no name"))),
                    }
                }
            }
        }
        Ok(builder.finish(name.as_str()))
    }
}
