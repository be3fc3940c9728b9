//! Arrays in `.npy` files.

use std::path::Path;

use cmrm_data::Features;
use cmrm_data::read::{ReadOptions, read_path};

use crate::Result;

/// An array of one or two dimensions, as 32-bit numbers.
#[derive(Debug, Clone)]
pub struct Array {
    /// Its numbers, row after row.
    pub values: Vec<f32>,
    /// Numbers in a row; 1 for an array of one dimension.
    pub columns: usize,
}

/// Reads features or any other numbers.
pub fn read(path: &Path) -> Result<Array> {
    match read_path(path, &ReadOptions::default())?.features {
        Features::Array(array) => Ok(Array { columns: array.width(), values: array.into_values() }),
        _ => Err(format!("{}: not an array", path.display()).into()),
    }
}

/// Reads labels.
pub fn read_labels(path: &Path) -> Result<Vec<u32>> {
    // Labels are small integers, which 32-bit floats hold exactly.
    Ok(read(path)?.values.into_iter().map(|v| v as u32).collect())
}
