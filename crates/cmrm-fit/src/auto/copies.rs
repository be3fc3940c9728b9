//! Rows that are there several times. A copy in another fold would judge its own label, and find every wrong one right.

use std::cmp::Ordering;
use std::collections::HashSet;

use cmrm::Rows;

use crate::error::{Error, Result};
use crate::part::Part;

/// Where every row is among those of which each is there once.
pub(super) struct Copies(Vec<usize>);

impl Copies {
    /// The rows of which each is there once, weighed by the number of its copies; nothing where no row is there twice. Copies
    /// are those that a whole weight made and, where a column measures something ([`measures`]), rows with the same features,
    /// if all of these have the same label too. Otherwise rows with the same features are observations in their own right.
    pub fn of(all: &Part) -> Result<Option<(Part, Self)>> {
        let data = &all.data;
        let x = data.x()?;
        let compare = |a: usize, b: usize| compare(x, a, b);
        let mut order: Vec<usize> = (0..data.len()).collect();
        order.sort_by(|&a, &b| compare(a, b).then(data.rows[a].cmp(&data.rows[b])).then(a.cmp(&b)));
        let different = order.chunk_by(|&a, &b| compare(a, b).is_eq()).map(|same| same[0]).collect::<Vec<_>>();
        let measured = different.len() < data.len() && measures(x, &different);
        // The first copy of every row.
        let mut first: Vec<usize> = (0..data.len()).collect();
        for same in order.chunk_by(|&a, &b| compare(a, b).is_eq()) {
            let agree = measured && same.iter().all(|&row| data.labels[row] == data.labels[same[0]]);
            for copies in same.chunk_by(|&a, &b| agree || data.rows[a] == data.rows[b]) {
                let least = copies.iter().copied().fold(copies[0], usize::min);
                copies.iter().for_each(|&row| first[row] = least);
            }
        }
        let kept: Vec<usize> = (0..data.len()).filter(|&row| first[row] == row).collect();
        if kept.len() == data.len() {
            return Ok(None);
        }
        let found = |row| kept.binary_search(row).map_err(|_| Error::Internal("a copy of no row".into()));
        let place = first.iter().map(found).collect::<Result<Vec<usize>>>()?;
        let mut weights = vec![0.0; kept.len()];
        for (row, &place) in place.iter().enumerate() {
            weights[place] += all.weights.as_ref().map_or(1.0, |weights| weights[row]);
        }
        Ok(Some((Part { weights: Some(weights), ..all.gather(&kept)? }, Copies(place))))
    }

    /// What was found of the distinct rows, `width` numbers each, for all rows.
    pub fn spread(&self, found: &[f32], width: usize) -> Vec<f32> {
        self.0.iter().flat_map(|&place| &found[place * width..(place + 1) * width]).copied().collect()
    }
}

/// Fewest values of a column that measures something.
const FEWEST_VALUES: usize = 8;

/// An order of rows in which those with the same numbers are equal.
fn compare(x: Rows<'_, f32>, a: usize, b: usize) -> Ordering {
    let numbers = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    match x {
        Rows::Dense(matrix) => numbers(matrix.row(a), matrix.row(b)),
        Rows::Sparse(matrix) => {
            let (a, b) = (matrix.row(a), matrix.row(b));
            a.columns.cmp(b.columns).then_with(|| numbers(a.values, b.values))
        }
    }
}

/// Whether a column's values are at least half as many as there are different rows (`rows`): two rows that agree in such a
/// column and in all others are the same. In a table of few categories they just belong to the same ones. Sparse rows are
/// texts and the like: their columns measure together, by values or, where those are mere counts, if most rows differ.
fn measures(x: Rows<'_, f32>, rows: &[usize]) -> bool {
    let many = FEWEST_VALUES.max(rows.len().div_ceil(2));
    match x {
        Rows::Dense(matrix) => (0..matrix.columns()).any(|column| {
            let mut values: Vec<u32> = rows.iter().map(|&row| matrix.row(row)[column].to_bits()).collect();
            values.sort_unstable();
            values.dedup();
            values.len() >= many
        }),
        Rows::Sparse(matrix) => {
            let mut values = HashSet::new();
            let mut numbers = rows.iter().flat_map(|&row| matrix.row(row).values);
            let by_values = numbers.any(|number| values.insert(number.to_bits()) && values.len() >= many);
            by_values || rows.len() >= FEWEST_VALUES.max(x.rows().div_ceil(2))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm_data::Dataset;

    /// Row number, feature and label of each row, after as many more as make the column one that measures.
    fn part(rows: &[(u64, f32, u32)], more: u32) -> Part {
        let more = (0..more).map(|at| (100 + u64::from(at), 100.0 + at as f32, 0));
        let rows: Vec<(u64, f32, u32)> = rows.iter().copied().chain(more).collect();
        let data = Dataset {
            features: cmrm::OwnedRows::Dense { values: rows.iter().map(|row| row.1).collect(), width: 1 },
            feature_names: ["x".to_string()].into(),
            labels: rows.iter().map(|row| row.2).collect(),
            classes: vec!["a".into(), "b".into()],
            rows: rows.iter().map(|row| row.0).collect(),
            image: None,
        };
        Part { data, weights: None, clean: None }
    }

    /// Row 0 twice by weight; 1 and 2 alike; 3, 4 and 5 differ in the label, and 4 is there twice by weight.
    const ROWS: [(u64, f32, u32); 8] =
        [(0, 5.0, 1), (1, 2.0, 0), (0, 5.0, 1), (2, 2.0, 0), (3, 7.0, 0), (4, 7.0, 1), (4, 7.0, 1), (5, 7.0, 1)];

    #[test]
    fn copies_are_one_row_and_observations_stay() {
        let (distinct, copies) = Copies::of(&part(&ROWS, 5)).unwrap().unwrap();
        assert_eq!(distinct.data.rows[..6], [0, 1, 3, 4, 5, 100]);
        assert_eq!(distinct.weights.unwrap()[..6], [2.0, 2.0, 1.0, 2.0, 1.0, 1.0]);
        let numbers: Vec<f32> = (0..10).map(|at| at as f32).collect();
        assert_eq!(copies.spread(&numbers, 1)[..8], [0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 3.0, 4.0]);
    }

    #[test]
    fn in_a_table_of_few_categories_only_weights_make_copies() {
        let (distinct, _) = Copies::of(&part(&ROWS, 0)).unwrap().unwrap();
        assert_eq!(distinct.data.rows, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn sparse_rows_are_copies_however_often_they_are_there() {
        // Ten rows, each with numbers of its own or with ones alone.
        let part = |times: usize, number: fn(u32) -> f32| {
            let mut rows = cmrm::SparseRows::empty(40).unwrap();
            for at in (0..10).flat_map(|at| vec![at; times]) {
                rows.push(&[(at % 4, number(at)), (at + 5, 1.0)]).unwrap();
            }
            let count = rows.rows();
            let data = Dataset {
                features: cmrm::OwnedRows::Sparse(rows),
                feature_names: Vec::new().into(),
                labels: vec![0; count],
                classes: vec!["a".into(), "b".into()],
                rows: (0..count as u64).collect(),
                image: None,
            };
            Copies::of(&Part { data, weights: None, clean: None }).unwrap().map_or(count, |(kept, _)| kept.data.len())
        };
        assert_eq!([1, 2, 5].map(|times| part(times, |at| 0.5 + at as f32)), [10, 10, 10]);
        // Of equal counts it is told only while most rows differ: five of a kind may be five of a category.
        assert_eq!([1, 2, 5].map(|times| part(times, |_| 1.0)), [10, 10, 50]);
    }

    #[test]
    fn weights_of_copies_add_up_and_rows_that_are_there_once_stay_as_they_are() {
        let all = Part { weights: Some(vec![0.5, 0.25]), ..part(&[(0, 1.0, 0), (0, 1.0, 0)], 0) };
        assert_eq!(Copies::of(&all).unwrap().unwrap().0.weights, Some(vec![0.75]));
        assert!(Copies::of(&part(&[(0, 1.0, 0), (1, 1.0, 1), (2, 2.0, 0)], 9)).unwrap().is_none());
    }
}
