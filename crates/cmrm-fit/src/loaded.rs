//! Data as it was read, before any split.

use std::path::Path;

use cmrm_data::read::{ReadOptions, read_path};
use cmrm_data::{Array, Column, Features, Input};

use crate::error::Result;

/// Data as it was read, before any split.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The rows to learn from.
    pub train: Input,
    /// Rows to test on, if there are any of their own.
    pub test: Option<Input>,
    /// Classes in a fixed order, if the data set has one.
    pub classes: Option<Vec<String>>,
    /// The correct label of each training row, for data sets with human noise.
    pub clean: Option<Column>,
    /// Weights of the rows, all one if absent. Whole numbers count rows: a row with the weight 2 is there twice, one with
    /// the weight 0 is not.
    pub weights: Option<Vec<f32>>,
    /// What to call it in reports.
    pub name: String,
}

impl Loaded {
    /// Rows to learn from, and nothing else known about them.
    pub fn new(name: impl Into<String>, train: Input) -> Self {
        Loaded { train, test: None, classes: None, clean: None, weights: None, name: name.into() }
    }

    /// Reads a file, a folder or a pattern of files with its labels in the column `label`, as
    /// `cmrm fit PATH --label LABEL` does. Anything else about the reading is said with [`read_path`] and [`Loaded::new`].
    pub fn from_path(path: impl AsRef<Path>, label: &str) -> Result<Self> {
        let path = path.as_ref();
        let options = ReadOptions { label: Some(label.into()), ..ReadOptions::default() };
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        Ok(Loaded::new(name, read_path(path, &options)?))
    }

    /// Rows of `width` features each, one after the other, and the label of each row.
    pub fn from_array<L: AsRef<str>>(values: Vec<f32>, width: usize, labels: &[L]) -> Result<Self> {
        let features = Features::Array(Array::new(values, width)?);
        let rows = Input { features, labels: None, ids: None, source: "the array".into() };
        Ok(Loaded::new("array", rows.with_labels(Column::categorical("label", labels))?))
    }
}
