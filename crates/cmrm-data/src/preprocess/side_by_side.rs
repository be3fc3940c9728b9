//! Rows of a table that has text: dense columns and sparse ones, in the order of the columns.

use cmrm::{SparseMatrix, SparseRows};

use super::Preprocess;
use crate::error::Result;

/// The features of all columns but those of text, row after row.
#[derive(Clone, Copy)]
pub(super) struct Dense<'a> {
    pub values: &'a [f32],
    pub width: usize,
}

impl Preprocess {
    /// One sparse row for each, of the features of `dense` and of each of `texts`.
    pub(super) fn side_by_side(
        &self,
        rows: usize,
        dense: Dense<'_>,
        texts: &[SparseRows<f32>],
    ) -> Result<SparseRows<f32>> {
        let texts: Vec<SparseMatrix<'_, f32>> = texts.iter().map(SparseRows::view).collect();
        let mut joined = SparseRows::empty(self.width())?;
        let mut kept: Vec<(u32, f32)> = Vec::new();
        for row in 0..rows {
            kept.clear();
            let mut numbers = &dense.values[row * dense.width..(row + 1) * dense.width];
            let (mut text, mut offset) = (texts.iter(), 0);
            for plan in self.columns.iter().filter(|plan| plan.width() > 0) {
                match plan.text() {
                    None => {
                        let (own, others) = numbers.split_at(plan.width());
                        numbers = others;
                        let own = own.iter().zip(offset..).filter(|(value, _)| **value != 0.0);
                        kept.extend(own.map(|(&value, feature)| (feature, value)));
                    }
                    Some(_) => {
                        let terms = text.next().map(|text| text.row(row).iter());
                        let terms = terms.into_iter().flatten();
                        kept.extend(terms.map(|(feature, value)| (offset + feature as u32, value)));
                    }
                }
                offset += plan.width() as u32;
            }
            joined.push(&kept)?;
        }
        Ok(joined)
    }
}
