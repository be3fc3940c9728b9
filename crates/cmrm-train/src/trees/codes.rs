//! The bins of all rows, one byte a column.

use std::ops::Range;

use cmrm::Matrix;
use rayon::prelude::*;

/// Most columns of a block: the histograms of so many fit into the fastest cache.
pub(crate) const MOST_WIDTH: usize = 16;
/// Fewest blocks there are columns for: each is one thread's work.
const BLOCKS: usize = 4;
/// Rows that are coded at a time.
const CHUNK_ROWS: usize = 1024;

/// Rows whose codes are found together: the steps of one do not wait for those of another.
pub(crate) const TOGETHER: usize = 16;

/// The codes of rows ([`super::Bins::codes`]). Blocks of columns lie one after the other; within a block, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct Codes {
    rows: usize,
    columns: usize,
    blocks: Vec<CodeBlock>,
    /// The block of every column, and where the column lies in it.
    places: Vec<(u32, u32)>,
}

/// The codes of neighbouring columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CodeBlock {
    /// First column.
    pub first: usize,
    /// Columns.
    pub width: usize,
    /// Row after row.
    pub codes: Vec<u8>,
}

impl Codes {
    /// The codes of rows; `code` gives those of a few neighbouring rows in one column.
    pub(crate) fn of(
        x: Matrix<'_, f32>,
        columns: usize,
        code: impl Fn(usize, &[&[f32]; TOGETHER]) -> [u8; TOGETHER] + Sync,
    ) -> Self {
        let rows = x.rows();
        let blocks = block_columns(columns).map(|Range { start: first, end }| {
            let width = end - first;
            let mut codes = vec![0; rows * width];
            codes.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each(|(chunk, codes)| {
                for (group, codes) in codes.chunks_mut(TOGETHER * width).enumerate() {
                    let at = chunk * CHUNK_ROWS + group * TOGETHER;
                    // The last rows are repeated to fill a group.
                    let group = std::array::from_fn(|row| x.row((at + row).min(rows - 1)));
                    for column in first..end {
                        let found = code(column, &group);
                        let places = codes[column - first..].iter_mut().step_by(width);
                        places.zip(found).for_each(|(place, code)| *place = code);
                    }
                }
            });
            CodeBlock { first, width, codes }
        });
        Codes::from_blocks(rows, columns, blocks.collect())
    }

    /// The codes of rows that are read column by column; `code` gives those of a few values of a column.
    pub(crate) fn of_columns(
        rows: usize,
        columns: usize,
        values: impl Fn(usize) -> Vec<f32> + Sync,
        code: impl Fn(usize, [f32; TOGETHER]) -> [u8; TOGETHER] + Sync,
    ) -> Self {
        let ranges: Vec<Range<usize>> = block_columns(columns).collect();
        let blocks = ranges.into_par_iter().map(|Range { start: first, end }| {
            let width = end - first;
            let mut codes = vec![0; rows * width];
            for column in first..end {
                let values = values(column);
                let groups = codes.chunks_mut(TOGETHER * width).zip(values.chunks(TOGETHER));
                for (codes, values) in groups {
                    let found = code(column, std::array::from_fn(|at| values[at.min(values.len() - 1)]));
                    let places = codes[column - first..].iter_mut().step_by(width);
                    places.zip(found).for_each(|(place, code)| *place = code);
                }
            }
            CodeBlock { first, width, codes }
        });
        Codes::from_blocks(rows, columns, blocks.collect())
    }

    fn from_blocks(rows: usize, columns: usize, blocks: Vec<CodeBlock>) -> Self {
        let place = |(index, block): (usize, &CodeBlock)| (0..block.width as u32).map(move |at| (index as u32, at));
        let places = blocks.iter().enumerate().flat_map(place).collect();
        Codes { rows, columns, blocks, places }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Some rows, in the order given. Panics if there is no such row, as slices do.
    pub fn select(&self, rows: &[u32]) -> Codes {
        let blocks = self.blocks.par_iter().map(|block| {
            let codes = rows.iter().flat_map(|&row| &block.codes[row as usize * block.width..][..block.width]);
            CodeBlock { first: block.first, width: block.width, codes: codes.copied().collect() }
        });
        Codes { rows: rows.len(), columns: self.columns, blocks: blocks.collect(), places: self.places.clone() }
    }

    pub(crate) fn blocks(&self) -> &[CodeBlock] {
        &self.blocks
    }

    /// The number of a column's block, and where the column lies in it.
    pub(crate) fn place(&self, column: usize) -> (usize, usize) {
        let (block, at) = self.places[column];
        (block as usize, at as usize)
    }

    /// The code of one row in one column.
    pub(crate) fn code(&self, row: usize, column: usize) -> u8 {
        let (block, at) = self.place(column);
        let block = &self.blocks[block];
        block.codes[row * block.width + at]
    }

    /// The codes of every column by itself.
    pub(crate) fn by_column(&self) -> Vec<Vec<u8>> {
        let column = |column| {
            let (block, at) = self.place(column);
            let block = &self.blocks[block];
            block.codes.iter().skip(at).step_by(block.width).copied().collect()
        };
        (0..self.columns).into_par_iter().map(column).collect()
    }
}

/// The columns of every block.
fn block_columns(columns: usize) -> impl Iterator<Item = Range<usize>> {
    let count = columns.div_ceil(MOST_WIDTH).max(BLOCKS.min(columns));
    (0..count).map(move |block| block * columns / count..(block + 1) * columns / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_again_by_row_and_by_column() {
        for columns in [1, 3, 5, 17, 50, 64, 65] {
            let values: Vec<f32> = (0..7 * columns).map(|at| at as f32).collect();
            let codes = Codes::of(Matrix::new(&values, columns).unwrap(), columns, |c, rows| {
                rows.map(|row| (row[c] as usize % 251) as u8)
            });
            let by_column = codes.by_column();
            assert!(codes.blocks().iter().all(|block| (1..=MOST_WIDTH).contains(&block.width)));
            let some = codes.select(&[5, 0, 5]);
            for column in 0..columns {
                for row in 0..7 {
                    let wanted = ((row * columns + column) % 251) as u8;
                    assert_eq!((codes.code(row, column), by_column[column][row]), (wanted, wanted));
                }
                assert_eq!(some.code(2, column), codes.code(5, column));
                assert_eq!(some.code(1, column), codes.code(0, column));
            }
        }
    }
}
