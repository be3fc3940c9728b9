//! Rows most of whose numbers are zero: only the others are kept, row by row (the format CSR).

use std::ops::Range;

use crate::error::{Error, Result};

/// Rows that own their numbers. Within a row the columns rise, and none is named twice.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows<T> {
    /// Where each row starts among the numbers; one more entry than there are rows.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<T>,
    width: usize,
}

impl<T: Copy> SparseRows<T> {
    /// No rows yet, of `width` columns.
    pub fn empty(width: usize) -> Result<Self> {
        SparseRows::new(vec![0], Vec::new(), Vec::new(), width)
    }

    /// Rows from their parts: where each starts, and the column and value of every number.
    pub fn new(starts: Vec<usize>, columns: Vec<u32>, values: Vec<T>, width: usize) -> Result<Self> {
        SparseMatrix::new(&starts, &columns, &values, width)?;
        Ok(SparseRows { starts, columns, values, width })
    }

    /// Adds a row of numbers in the order of their columns.
    pub fn push(&mut self, row: &[(u32, T)]) -> Result<()> {
        check_row(self.rows(), row.iter().map(|&(column, _)| column), self.width)?;
        self.columns.extend(row.iter().map(|&(column, _)| column));
        self.values.extend(row.iter().map(|&(_, value)| value));
        self.starts.push(self.values.len());
        Ok(())
    }

    /// Adds the rows of a later piece of the same width.
    pub fn append(&mut self, later: SparseMatrix<'_, T>) -> Result<()> {
        if later.columns() != self.width {
            let what = "columns of a later piece of sparse rows";
            return Err(Error::Shape { what, expected: self.width, found: later.columns() });
        }
        for row in later.iter_rows() {
            self.columns.extend_from_slice(row.columns);
            self.values.extend_from_slice(row.values);
            self.starts.push(self.values.len());
        }
        Ok(())
    }

    /// Takes the rows from number `at` on away. Panics if there are fewer rows, as vectors do.
    pub fn split_off(&mut self, at: usize) -> SparseRows<T> {
        let kept = self.starts[at];
        let starts = self.starts[at..].iter().map(|start| start - kept).collect();
        self.starts.truncate(at + 1);
        let (columns, values) = (self.columns.split_off(kept), self.values.split_off(kept));
        SparseRows { starts, columns, values, width: self.width }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many numbers are kept.
    pub fn kept(&self) -> usize {
        self.values.len()
    }

    /// The numbers that are kept, to be changed.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The rows, borrowed.
    pub fn view(&self) -> SparseMatrix<'_, T> {
        SparseMatrix { starts: &self.starts, columns: &self.columns, values: &self.values, width: self.width }
    }

    /// The rows at `rows`, in that order. Panics if there is no such row, as slices do.
    pub fn gather(&self, rows: &[usize]) -> SparseRows<T> {
        self.view().gather(rows)
    }
}

/// Borrowed sparse rows. Cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseMatrix<'a, T> {
    /// Where each row starts in the two slices below; in a piece of a matrix the first entry need not be 0.
    starts: &'a [usize],
    columns: &'a [u32],
    values: &'a [T],
    width: usize,
}

/// One row: the columns of its numbers, rising, and the numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SparseRow<'a, T> {
    /// Columns.
    pub columns: &'a [u32],
    /// The number in each of them.
    pub values: &'a [T],
}

impl<'a, T> SparseMatrix<'a, T> {
    /// Views the parts of a matrix in the format CSR.
    pub fn new(starts: &'a [usize], columns: &'a [u32], values: &'a [T], width: usize) -> Result<Self> {
        if width == 0 || width > u32::MAX as usize {
            let expected = "1 to 4294967295 columns";
            return Err(Error::Parameter { name: "columns", value: width as f64, expected });
        }
        let same = |what, expected, found| match expected == found {
            true => Ok(()),
            false => Err(Error::Shape { what, expected, found }),
        };
        same("columns of sparse numbers, one for each", values.len(), columns.len())?;
        same("where the first sparse row starts", 0, starts.first().copied().unwrap_or(usize::MAX))?;
        same("where the last sparse row ends", values.len(), starts[starts.len() - 1])?;
        for (row, pair) in starts.windows(2).enumerate() {
            if pair[0] > pair[1] || pair[1] > values.len() {
                let reason = format!("row {row} ends at {} and starts at {}", pair[1], pair[0]);
                return Err(Error::Invalid { what: "sparse rows", reason });
            }
            check_row(row, columns[pair[0]..pair[1]].iter().copied(), width)?;
        }
        Ok(SparseMatrix { starts, columns, values, width })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.width
    }

    /// How many numbers are kept.
    pub fn kept(&self) -> usize {
        self.starts[self.rows()] - self.starts[0]
    }

    /// The numbers that are kept, row after row.
    pub fn values(&self) -> &'a [T] {
        &self.values[self.starts[0]..self.starts[self.rows()]]
    }

    /// Row `i`. Panics if there is no such row, as slices do.
    pub fn row(&self, i: usize) -> SparseRow<'a, T> {
        let range = self.starts[i]..self.starts[i + 1];
        SparseRow { columns: &self.columns[range.clone()], values: &self.values[range] }
    }

    /// The rows, in order.
    pub fn iter_rows(self) -> impl ExactSizeIterator<Item = SparseRow<'a, T>> {
        (0..self.rows()).map(move |i| self.row(i))
    }

    /// Some rows in a row. Panics if there are no such rows, as slices do.
    pub fn slice(&self, rows: Range<usize>) -> SparseMatrix<'a, T> {
        SparseMatrix { starts: &self.starts[rows.start..=rows.end], ..*self }
    }
}

impl<'a, T: Copy> SparseRow<'a, T> {
    /// The numbers with their columns.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (usize, T)> + use<'a, T> {
        self.columns.iter().zip(self.values).map(|(&column, &value)| (column as usize, value))
    }
}

impl<T: Copy> SparseMatrix<'_, T> {
    /// The rows at `rows`, in that order. Panics if there is no such row, as slices do.
    pub fn gather(&self, rows: &[usize]) -> SparseRows<T> {
        let kept = rows.iter().map(|&row| self.starts[row + 1] - self.starts[row]).sum();
        let mut gathered = SparseRows {
            starts: Vec::with_capacity(rows.len() + 1),
            columns: Vec::with_capacity(kept),
            values: Vec::with_capacity(kept),
            width: self.width,
        };
        gathered.starts.push(0);
        for &row in rows {
            let row = self.row(row);
            gathered.columns.extend_from_slice(row.columns);
            gathered.values.extend_from_slice(row.values);
            gathered.starts.push(gathered.values.len());
        }
        gathered
    }

    /// Columns as rows: row `j` of the result holds the numbers of column `j`, and which rows they stand in.
    pub fn transposed(&self) -> SparseRows<T> {
        // Counts first stand two places late, then, added up, one: `starts[j + 1]` is where column `j` goes on.
        let mut starts = vec![0usize; self.width + 2];
        for &column in self.iter_rows().flat_map(|row| row.columns) {
            starts[column as usize + 2] += 1;
        }
        for j in 2..starts.len() {
            starts[j] += starts[j - 1];
        }
        let mut rows = vec![0u32; self.kept()];
        let mut values = self.values().to_vec();
        for (i, row) in self.iter_rows().enumerate() {
            for (column, value) in row.iter() {
                let place = &mut starts[column + 1];
                (rows[*place], values[*place]) = (i as u32, value);
                *place += 1;
            }
        }
        starts.pop();
        SparseRows { starts, columns: rows, values, width: self.rows().max(1) }
    }

    /// The same rows as their own.
    pub fn to_rows(&self) -> SparseRows<T> {
        let first = self.starts[0];
        let range = first..self.starts[self.rows()];
        SparseRows {
            starts: self.starts.iter().map(|start| start - first).collect(),
            columns: self.columns[range.clone()].to_vec(),
            values: self.values[range].to_vec(),
            width: self.width,
        }
    }
}

fn check_row(row: usize, columns: impl Iterator<Item = u32>, width: usize) -> Result<()> {
    let mut before = None;
    for column in columns {
        if column as usize >= width || before.is_some_and(|before| before >= column) {
            let reason = match before {
                _ if column as usize >= width => format!("row {row}: column {column} of {width}, counted from 0"),
                Some(before) => format!("row {row}: column {column} behind column {before}; columns must rise"),
                None => String::new(),
            };
            return Err(Error::Invalid { what: "sparse rows", reason });
        }
        before = Some(column);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> SparseRows<f32> {
        SparseRows::new(vec![0, 2, 2, 3], vec![0, 4, 1], vec![1.0, 2.0, 3.0], 5).unwrap()
    }

    #[test]
    fn rows_are_found_sliced_gathered_and_appended() {
        let all = rows();
        assert_eq!((all.rows(), all.width(), all.kept()), (3, 5, 3));
        let view = all.view();
        assert_eq!(view.row(0).iter().collect::<Vec<_>>(), [(0, 1.0), (4, 2.0)]);
        assert_eq!(view.row(1).iter().len(), 0);
        let part = view.slice(1..3);
        assert_eq!((part.rows(), part.kept(), part.values()), (2, 1, &[3.0][..]));
        assert_eq!(part.row(1), view.row(2));
        assert_eq!(all.gather(&[2, 0]).view().row(1), view.row(0));
        let mut joined = all.gather(&[0]);
        joined.append(part).unwrap();
        assert_eq!((&joined, &part.to_rows()), (&all, &all.gather(&[1, 2])));
        let turned = view.slice(1..3).transposed();
        assert_eq!((turned.rows(), turned.width()), (5, 2));
        assert_eq!(turned.view().row(1).iter().collect::<Vec<_>>(), [(1, 3.0)]);
        assert_eq!(view.transposed().view().transposed(), all);
        let mut pushed = SparseRows::empty(5).unwrap();
        for row in view.iter_rows() {
            let cells: Vec<(u32, f32)> = row.columns.iter().copied().zip(row.values.iter().copied()).collect();
            pushed.push(&cells).unwrap();
        }
        assert_eq!(pushed, all);
    }

    #[test]
    fn parts_that_do_not_agree_are_refused() {
        let refused = |starts: &[usize], columns: &[u32], width| {
            SparseMatrix::new(starts, columns, &vec![1.0; columns.len()], width).unwrap_err().to_string()
        };
        assert!(refused(&[0, 1], &[5], 5).contains("column 5 of 5"));
        assert!(refused(&[0, 2], &[3, 3], 5).contains("columns must rise"));
        assert!(refused(&[0, 2, 1], &[0], 5).contains("starts"));
        assert!(refused(&[1, 1], &[0], 5).contains("first sparse row"));
        assert!(refused(&[0, 0], &[0], 5).contains("last sparse row"));
        assert!(refused(&[0], &[], 0).contains("columns"));
        assert!(rows().push(&[(1, 0.0), (0, 0.0)]).is_err());
        assert!(rows().append(SparseRows::<f32>::empty(4).unwrap().view()).is_err());
    }
}
