//! How trees read sparse rows: zeros are numbers as any other, but only the fullest columns are looked at.

use std::borrow::Cow;
use std::cmp::Reverse;

use cmrm::{Rows, SparseMatrix};

use super::columns::{TreeColumn, TreeColumns};
use crate::error::Result;

/// Bytes of codes that trees may take for every number that is kept; a code is a byte for every row and column.
const BYTES_A_NUMBER: usize = 8;
/// Columns that trees read however few numbers there are, and no more than which however many.
const FEWEST_COLUMNS: usize = 32;
const MOST_COLUMNS: usize = 4096;

impl TreeColumns {
    /// Those of the columns that trees read in such rows. Of dense rows it is all of them. Of sparse rows it is those with
    /// most numbers, as many as keep the memory in proportion to the numbers: a byte a row and column within 8 bytes a
    /// number, but at least 32 columns and at most 4096.
    pub fn fullest(&self, x: Rows<'_, f32>) -> Result<TreeColumns> {
        self.check_width(x)?;
        let Rows::Sparse(x) = x else { return Ok(self.clone()) };
        let affordable = BYTES_A_NUMBER.saturating_mul(x.kept()) / x.rows().max(1);
        let wanted = affordable.clamp(FEWEST_COLUMNS, MOST_COLUMNS);
        if self.len() <= wanted {
            return Ok(self.clone());
        }
        let mut numbers = vec![0usize; self.width()];
        for &column in x.iter_rows().flat_map(|row| row.columns) {
            numbers[column as usize] += 1;
        }
        let of_column = |&column: &usize| self.columns()[column].features().map(|at| numbers[at]).sum::<usize>();
        let mut chosen: Vec<usize> = (0..self.len()).collect();
        chosen.sort_by_cached_key(|column| (Reverse(of_column(column)), *column));
        chosen.truncate(wanted);
        chosen.sort_unstable();
        TreeColumns::new(self.width(), chosen.into_iter().map(|column| self.columns()[column]).collect())
    }
}

impl TreeColumn {
    /// The features that it is read from.
    fn features(&self) -> impl Iterator<Item = usize> + use<> {
        let (block, flag) = match *self {
            TreeColumn::Number { at, missing } => (at..at + 1, missing),
            TreeColumn::Names { at, levels } => (at..at + levels, None),
        };
        block.chain(flag)
    }

    /// What [`TreeColumn::value`] gives for each of so many rows, whose columns, as rows, are `by_column`.
    pub(super) fn values(&self, by_column: SparseMatrix<'_, f32>, rows: usize) -> Vec<f32> {
        match *self {
            TreeColumn::Number { at, missing } => {
                let mut values = vec![0.0; rows];
                by_column.row(at).iter().for_each(|(row, value)| values[row] = value);
                let flags = missing.into_iter().flat_map(|flag| by_column.row(flag).iter());
                flags.filter(|(_, flag)| *flag != 0.0).for_each(|(row, _)| values[row] = f32::NAN);
                values
            }
            TreeColumn::Names { at, levels } => {
                let (mut values, mut most) = (vec![f32::NAN; rows], vec![TreeColumn::SET; rows]);
                for level in 0..levels {
                    for (row, value) in by_column.row(at + level).iter().filter(|(_, value)| *value > TreeColumn::SET) {
                        if value > most[row] {
                            (values[row], most[row]) = (level as f32, value);
                        }
                    }
                }
                values
            }
        }
    }
}

/// Reads rows for a trained model.
pub(super) enum Reader<'a> {
    Dense(&'a TreeColumns),
    /// The features that the columns are read from, rising, and the columns in rows of nothing else.
    Sparse {
        features: Vec<u32>,
        columns: TreeColumns,
    },
}

impl<'a> Reader<'a> {
    /// One for rows of the form of `x`.
    pub fn new(columns: &'a TreeColumns, x: Rows<'_, f32>) -> Result<Self> {
        columns.check_width(x)?;
        if let Rows::Dense(_) = x {
            return Ok(Reader::Dense(columns));
        }
        let all = columns.columns().iter().flat_map(TreeColumn::features);
        let mut features: Vec<u32> = all.map(|feature| feature as u32).collect();
        features.sort_unstable();
        features.dedup();
        // Every feature is found; those of a block of names lie side by side, as they did.
        let place = |feature: usize| features.partition_point(|&other| (other as usize) < feature);
        let placed = columns.columns().iter().map(|column| match *column {
            TreeColumn::Number { at, missing } => TreeColumn::Number { at: place(at), missing: missing.map(place) },
            TreeColumn::Names { at, levels } => TreeColumn::Names { at: place(at), levels },
        });
        let columns = TreeColumns::new(features.len(), placed.collect())?;
        Ok(Reader::Sparse { features, columns })
    }

    /// The features as trees compare them, see [`TreeColumns::read`]. `x` has the form that the reader was made for; of
    /// another form nothing is read.
    pub fn read<'x>(&self, x: Rows<'x, f32>) -> Cow<'x, [f32]> {
        match (self, x) {
            (Reader::Dense(columns), x) => columns.read(x.values()),
            (Reader::Sparse { features, columns }, Rows::Sparse(x)) => {
                let values = expand(features, x);
                let read = match columns.read(&values) {
                    Cow::Owned(read) => Some(read),
                    Cow::Borrowed(_) => None,
                };
                Cow::Owned(read.unwrap_or(values))
            }
            (Reader::Sparse { .. }, Rows::Dense(_)) => Cow::Borrowed(&[]),
        }
    }
}

/// The rows with nothing but some features.
fn expand(features: &[u32], x: SparseMatrix<'_, f32>) -> Vec<f32> {
    let mut values = vec![0.0; x.rows() * features.len()];
    for (to, row) in values.chunks_exact_mut(features.len()).zip(x.iter_rows()) {
        let mut at = 0;
        for (&column, &value) in row.columns.iter().zip(row.values) {
            at += features[at..].partition_point(|&feature| feature < column);
            match features.get(at) {
                Some(&feature) if feature == column => to[at] = value,
                Some(_) => {}
                None => break,
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm::SparseRows;

    #[test]
    fn the_fullest_columns_are_read_and_of_equals_the_first() {
        let mut rows = SparseRows::empty(200).unwrap();
        for i in 0..40u32 {
            // Column 150 in every row, the others from 60 on in one each.
            rows.push(&[(60 + i, 1.0), (150, 2.0)]).unwrap();
        }
        let chosen = TreeColumns::numbers(200).fullest(Rows::Sparse(rows.view())).unwrap();
        let at: Vec<usize> = chosen.columns().iter().flat_map(TreeColumn::features).collect();
        assert_eq!(at, (60..91).chain([150]).collect::<Vec<_>>());
        let dense = vec![0.0; 400];
        let all = TreeColumns::numbers(200);
        assert_eq!(all.fullest(cmrm::Matrix::new(&dense, 200).unwrap().into()).unwrap(), all);
    }

    #[test]
    fn sparse_rows_are_read_as_the_dense_ones() {
        let columns = vec![
            TreeColumn::Names { at: 4, levels: 3 },
            TreeColumn::Number { at: 1, missing: Some(9) },
            TreeColumn::Number { at: 8, missing: None },
        ];
        let columns = TreeColumns::new(12, columns).unwrap();
        let mut dense = vec![0.0f32; 5 * 12];
        for (row, column, value) in
            [(0, 1, 3.0), (0, 5, 1.0), (1, 9, 1.0), (1, 1, 7.0), (2, 4, 0.6), (2, 6, 0.9), (2, 11, 5.0), (3, 8, -2.0)]
        {
            dense[row * 12 + column] = value;
        }
        let mut sparse = SparseRows::empty(12).unwrap();
        for row in dense.chunks_exact(12) {
            let cells = row.iter().enumerate().filter(|(_, value)| **value != 0.0);
            sparse.push(&cells.map(|(column, &value)| (column as u32, value)).collect::<Vec<_>>()).unwrap();
        }
        let x = Rows::Sparse(sparse.view());
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let wanted = bits(&columns.read(&dense));
        assert_eq!(bits(&Reader::new(&columns, x).unwrap().read(x)), wanted);
        let by_column = sparse.view().transposed();
        for (index, column) in columns.columns().iter().enumerate() {
            let found = bits(&column.values(by_column.view(), 5));
            assert_eq!(found, wanted.iter().skip(index).step_by(3).copied().collect::<Vec<_>>());
        }
    }
}
