//! Dividing labelled rows into a calibration part and a part to evaluate on.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_parameter};
use crate::rng::Rng;

/// How many rows calibrate, and whether by class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationSplit {
    /// This share of the rows, in (0, 1), rounded down.
    Fraction(f64),
    /// This many rows.
    Rows(usize),
    /// This many rows of every class that occurs (the paper's choice for CIFAR: 50).
    PerClass(usize),
}

/// Row indices of the two parts, each ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows that calibrate.
    pub calibration: Vec<usize>,
    /// Rows that are evaluated.
    pub test: Vec<usize>,
}

impl CalibrationSplit {
    /// Draws a split of rows with the given labels. Both parts have at least one row.
    pub fn draw(&self, labels: &[u32], rng: &mut Rng) -> Result<Split> {
        let rows = labels.len();
        let calibration = match *self {
            CalibrationSplit::Fraction(share) => {
                check_parameter("calibration fraction", share, share > 0.0 && share < 1.0, "above 0 and below 1")?;
                // The small number keeps 0.29 of 100 rows, 28.999999999999996 in floating point, at 29.
                rng.choose(rows, (rows as f64 * share + 1e-9) as usize)
            }
            CalibrationSplit::Rows(count) => {
                let fits = count > 0 && count < rows;
                check_parameter("calibration rows", count as f64, fits, "at least 1 and fewer than all rows")?;
                rng.choose(rows, count)
            }
            CalibrationSplit::PerClass(count) => balanced(labels, count, rng)?,
        };
        if calibration.is_empty() {
            return Err(Error::Empty { what: "the calibration part of the split" });
        }
        if calibration.len() == rows {
            return Err(Error::Empty { what: "the test part of the split" });
        }
        let mut calibrates = vec![false; rows];
        for &row in &calibration {
            calibrates[row] = true;
        }
        let test = (0..rows).filter(|&row| !calibrates[row]).collect();
        Ok(Split { calibration, test })
    }
}

/// `count` rows of every class that occurs, ascending.
fn balanced(labels: &[u32], count: usize, rng: &mut Rng) -> Result<Vec<usize>> {
    check_parameter("calibration rows per class", count as f64, count > 0, "at least 1")?;
    // Grouped by class through a stable sort, so that a huge label costs nothing.
    let mut by_class: Vec<usize> = (0..labels.len()).collect();
    by_class.sort_by_key(|&row| labels[row]);
    let mut chosen = Vec::new();
    for group in by_class.chunk_by(|&a, &b| labels[a] == labels[b]) {
        if group.len() < count {
            return Err(Error::ClassRows { class: labels[group[0]], needed: count, found: group.len() });
        }
        chosen.extend(rng.choose(group.len(), count).into_iter().map(|i| group[i]));
    }
    chosen.sort_unstable();
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_partition_the_rows() {
        let mut rng = Rng::new(0, 0);
        let labels: Vec<u32> = (0..1000).map(|_| rng.below(4) as u32 * 1_000_000).collect();
        for (split, expected) in [
            (CalibrationSplit::Fraction(0.29), 290),
            (CalibrationSplit::Rows(999), 999),
            (CalibrationSplit::PerClass(50), 200),
        ] {
            let drawn = split.draw(&labels, &mut rng).unwrap();
            assert_eq!(drawn.calibration.len(), expected);
            let mut all = [drawn.calibration.clone(), drawn.test.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..1000).collect::<Vec<_>>());
            if let CalibrationSplit::PerClass(count) = split {
                for class in 0..4 {
                    let of_class = drawn.calibration.iter().filter(|&&row| labels[row] == class * 1_000_000);
                    assert_eq!(of_class.count(), count);
                }
            }
        }
        let scarce = CalibrationSplit::PerClass(3).draw(&[0, 0, 0, 0, 7, 7], &mut rng);
        assert_eq!(scarce, Err(Error::ClassRows { class: 7, needed: 3, found: 2 }));
        assert!(CalibrationSplit::PerClass(2).draw(&[0, 0, 7, 7], &mut rng).is_err());
        for split in [CalibrationSplit::Fraction(1.0), CalibrationSplit::Fraction(f64::NAN), CalibrationSplit::Rows(0)]
        {
            assert!(matches!(split.draw(&labels, &mut rng), Err(Error::Parameter { .. })));
        }
        assert!(CalibrationSplit::Fraction(0.1).draw(&[0, 1], &mut rng).is_err());
        assert!(CalibrationSplit::Rows(5).draw(&[], &mut rng).is_err());
    }
}
