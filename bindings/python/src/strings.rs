//! Columns of strings, as Arrow lays them out.

use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Column, Kind};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::arrays::slice;
use crate::errors::refuse;

/// Where each string starts, with where the last one ends; all strings in UTF-8; and whether they are known to be text.
#[derive(FromPyObject)]
pub struct Strings<'py>(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>, bool);

impl Strings<'_> {
    /// A column of text where that is known, else of names.
    pub fn column(&self, name: &str, is_missing: impl Fn(usize) -> bool) -> PyResult<Column> {
        let Strings(starts, bytes, is_text) = self;
        let (starts, bytes) = (slice(starts)?, slice(bytes)?);
        let mut builder = ColumnBuilder::new(if *is_text { Kind::Text } else { Kind::Categorical });
        for (row, range) in starts.windows(2).enumerate() {
            if is_missing(row) {
                builder.push_missing();
                continue;
            }
            let place = usize::try_from(range[0]).ok().zip(usize::try_from(range[1]).ok());
            let cell = place.and_then(|(start, end)| std::str::from_utf8(bytes.get(start..end)?).ok());
            // Any string is a name, and any is text.
            if !cell.is_some_and(|cell| builder.push_text(cell)) {
                return Err(refuse(format!("column '{name}': row {row} is not a string in UTF-8")));
            }
        }
        Ok(builder.finish(name))
    }
}
