//! Which rows each fold of a search trains on and is judged on.

use cmrm::error::{check_labels, check_parameter};
use cmrm::rng::Rng;

use crate::error::Result;

/// Stream of the generator that folds are drawn from.
const FOLD_STREAM: u64 = 0xf01d;
/// Share of the rows that no fold trains on, and the most of them.
const WITNESS_SHARE: f64 = 0.05;
const MOST_WITNESSES: usize = 256;

/// The rows of every class, ascending. Labels must be below the number of classes.
pub fn rows_by_class(labels: &[u32], classes: usize) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); classes];
    for (row, &label) in labels.iter().enumerate() {
        rows[label as usize].push(row);
    }
    rows
}

/// Which rows are judged in which fold.
#[derive(Debug, Clone, PartialEq)]
pub struct Folds {
    /// The fold of each row; `None` for those that are never judged.
    of_row: Vec<Option<usize>>,
    folds: usize,
    /// Rows that no fold trains on; none with a single fold.
    witnesses: Vec<usize>,
}

impl Folds {
    /// Draws folds class by class, so that each has its share of every observed class. A single fold is a hold-out of
    /// `hold_out` of the rows.
    pub fn draw(labels: &[u32], classes: usize, folds: usize, hold_out: f64, seed: u64) -> Result<Self> {
        check_parameter("folds", folds as f64, (1..=100).contains(&folds), "1 to 100")?;
        check_parameter("hold-out share", hold_out, hold_out > 0.0 && hold_out < 1.0, "above 0 and below 1")?;
        let witnesses = WITNESS_SHARE.min(MOST_WITNESSES as f64 / labels.len().max(1) as f64);
        Folds::with_witnesses(labels, classes, folds, hold_out, witnesses, seed)
    }

    /// Folds that every row is in: each is judged once, and trained on for all other folds.
    pub fn deal(labels: &[u32], classes: usize, folds: usize, seed: u64) -> Result<Self> {
        check_parameter("folds", folds as f64, folds > 1, "at least 2")?;
        Folds::with_witnesses(labels, classes, folds, 0.0, 0.0, seed)
    }

    fn with_witnesses(
        labels: &[u32],
        classes: usize,
        folds: usize,
        hold_out: f64,
        share: f64,
        seed: u64,
    ) -> Result<Self> {
        check_labels(labels, classes)?;
        let mut of_row = vec![None; labels.len()];
        let mut witnesses = Vec::new();
        let mut rng = Rng::new(seed, FOLD_STREAM);
        // Where the next row goes; carried from class to class, so that folds differ by one row at most.
        let mut next = 0;
        for mut rows in rows_by_class(labels, classes) {
            rng.shuffle(&mut rows);
            if folds == 1 {
                let held = (rows.len() as f64 * hold_out).round() as usize;
                rows[..held].iter().for_each(|&row| of_row[row] = Some(0));
                continue;
            }
            let rest = rows.split_off((rows.len() as f64 * share).floor() as usize);
            witnesses.extend(rows);
            for row in rest {
                of_row[row] = Some(next % folds);
                next += 1;
            }
        }
        witnesses.sort_unstable();
        let folds = Folds { of_row, folds, witnesses };
        for fold in 0..folds.folds {
            let (held, left) = (folds.held(fold).len(), folds.training(fold).len());
            check_parameter("folds", folds.folds as f64, held > 0 && left > 0, "few enough that every fold has rows")?;
        }
        Ok(folds)
    }

    /// Number of folds.
    pub fn len(&self) -> usize {
        self.folds
    }

    /// Whether there are none, which [`Folds::draw`] refuses.
    pub fn is_empty(&self) -> bool {
        self.folds == 0
    }

    /// The rows that are judged in a fold, ascending.
    pub fn held(&self, fold: usize) -> Vec<usize> {
        (0..self.of_row.len()).filter(|&row| self.of_row[row] == Some(fold)).collect()
    }

    /// The rows that are trained on for a fold, ascending.
    pub fn training(&self, fold: usize) -> Vec<usize> {
        let is_witness = |row: usize| self.witnesses.binary_search(&row).is_ok();
        (0..self.of_row.len()).filter(|&row| self.of_row[row] != Some(fold) && !is_witness(row)).collect()
    }

    /// The rows that no fold trains on.
    pub fn witnesses(&self) -> &[usize] {
        &self.witnesses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_judged_once_or_a_witness() {
        let labels: Vec<u32> = (0..400).map(|i| u32::from(i % 4 == 0)).collect();
        let folds = Folds::draw(&labels, 2, 5, 0.2, 3).unwrap();
        let mut seen = folds.witnesses().to_vec();
        for fold in 0..5 {
            let (held, training) = (folds.held(fold), folds.training(fold));
            assert!(held.iter().all(|row| !training.contains(row)));
            let ones = held.iter().filter(|&&row| labels[row] == 1).count() as f64 / held.len() as f64;
            assert!((ones - 0.25).abs() < 0.03, "{ones}");
            seen.extend(held);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..400).collect::<Vec<_>>());
    }

    #[test]
    fn a_single_fold_is_a_hold_out_and_too_many_are_refused() {
        let labels: Vec<u32> = (0..100).map(|i| i % 2).collect();
        let folds = Folds::draw(&labels, 2, 1, 0.3, 3).unwrap();
        assert_eq!((folds.held(0).len(), folds.training(0).len(), folds.witnesses().len()), (30, 70, 0));
        assert!(Folds::draw(&labels[..3], 2, 5, 0.2, 3).is_err());
        assert!(Folds::draw(&labels, 2, 0, 0.2, 3).is_err());
        assert!(Folds::draw(&labels, 2, 1, 1.0, 3).is_err());
    }
}
