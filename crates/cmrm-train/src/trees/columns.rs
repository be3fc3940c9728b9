//! How trees read the features of a row: as numbers that may be missing, and as names.

use std::borrow::Cow;

use cmrm::Rows;
use cmrm::error::{check_length, check_parameter};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// One column of a table as trees read it, and the features of the prepared matrix that hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TreeColumn {
    /// A number.
    Number {
        /// The feature with its value.
        at: usize,
        /// The feature that is not zero where the value is missing.
        missing: Option<usize>,
    },
    /// One of several names, as a one-hot block. Where no feature of the block is set, the name is missing.
    Names {
        /// The first feature of the block.
        at: usize,
        /// Features of the block.
        levels: usize,
    },
}

/// How trees read a row of features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeColumns {
    /// Features of a row.
    width: usize,
    columns: Vec<TreeColumn>,
}

impl TreeColumns {
    /// Columns in rows of `width` features. A column must lie within a row, and names need a level.
    pub fn new(width: usize, columns: Vec<TreeColumn>) -> Result<Self> {
        let made = TreeColumns { width, columns };
        made.check()?;
        Ok(made)
    }

    /// Every feature is a number that is never missing.
    pub fn numbers(width: usize) -> Self {
        TreeColumns { width, columns: (0..width).map(|at| TreeColumn::Number { at, missing: None }).collect() }
    }

    /// Refuses columns that do not lie within a row: what serde has read may say anything.
    pub fn check(&self) -> Result<()> {
        let count = self.columns.len();
        // Trees number columns and codes in 30 bits.
        let fits = (1..1 << 30).contains(&count) && self.width < 1 << 30;
        check_parameter("columns of a tree", count as f64, fits, "at least one, fewer than 2^30")?;
        for column in &self.columns {
            let (last, levels) = match *column {
                TreeColumn::Number { at, missing } => (at.max(missing.unwrap_or(at)), 1),
                TreeColumn::Names { at, levels } => (at.saturating_add(levels).saturating_sub(1), levels),
            };
            check_parameter("levels of a column of names", levels as f64, levels > 0, "at least one")?;
            check_parameter("feature of a column", last as f64, last < self.width, "below the number of features")?;
        }
        Ok(())
    }

    /// Features of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Never: there is at least one column.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[TreeColumn] {
        &self.columns
    }

    /// Refuses rows of another width.
    pub(crate) fn check_width(&self, x: Rows<'_, f32>) -> Result<()> {
        Ok(check_length("features of a row against those the trees read", self.width, x.columns())?)
    }

    /// The features as trees compare them, row after row: the number, or the index of the name; NaN where it is missing.
    pub(crate) fn read<'x>(&self, features: &'x [f32]) -> Cow<'x, [f32]> {
        let plain = |(index, column): (usize, &TreeColumn)| *column == TreeColumn::Number { at: index, missing: None };
        if self.columns.len() == self.width && self.columns.iter().enumerate().all(plain) {
            return Cow::Borrowed(features);
        }
        let rows = features.chunks_exact(self.width);
        Cow::Owned(rows.flat_map(|row| self.columns.iter().map(|column| column.value(row))).collect())
    }
}

impl TreeColumn {
    /// A feature of a one-hot block counts as set above this.
    pub const SET: f32 = 0.5;

    /// The column's number or the index of its name in a row of features; NaN where it is missing.
    pub(crate) fn value(&self, row: &[f32]) -> f32 {
        match *self {
            TreeColumn::Number { missing: Some(flag), .. } if row[flag] != 0.0 => f32::NAN,
            TreeColumn::Number { at, .. } => row[at],
            TreeColumn::Names { at, levels } => {
                let (mut level, mut most) = (f32::NAN, TreeColumn::SET);
                for (index, &feature) in row[at..at + levels].iter().enumerate() {
                    if feature > most {
                        (level, most) = (index as f32, feature);
                    }
                }
                level
            }
        }
    }

    /// How many names there are; 0 for a number.
    pub(crate) fn levels(&self) -> usize {
        match *self {
            TreeColumn::Number { .. } => 0,
            TreeColumn::Names { levels, .. } => levels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_flags_and_names_are_read() {
        let columns = TreeColumns::new(
            5,
            vec![TreeColumn::Number { at: 1, missing: Some(0) }, TreeColumn::Names { at: 2, levels: 3 }],
        )
        .unwrap();
        let rows = [0.0, 7.0, 0.0, 1.0, 0.0, 1.0, 7.0, 0.0, 0.0, 0.0];
        let read = columns.read(&rows);
        assert_eq!(read[..2], [7.0, 1.0]);
        assert!(read[2..].iter().all(|value| value.is_nan()));
        assert!(matches!(TreeColumns::numbers(5).read(&rows), Cow::Borrowed(_)));
    }

    #[test]
    fn columns_outside_the_row_are_refused() {
        for column in [
            TreeColumn::Number { at: 3, missing: None },
            TreeColumn::Number { at: 0, missing: Some(3) },
            TreeColumn::Names { at: 1, levels: 3 },
            TreeColumn::Names { at: 1, levels: 0 },
            TreeColumn::Names { at: 1, levels: usize::MAX },
        ] {
            assert!(TreeColumns::new(3, vec![column]).is_err(), "{column:?}");
        }
        assert!(TreeColumns::new(3, Vec::new()).is_err());
    }
}
