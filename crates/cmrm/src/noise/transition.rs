//! Noise from a full transition matrix.

use super::{NoisyLabels, STREAM, check_input};
use crate::error::{Error, Result, check_length};
use crate::matrix::Matrix;
use crate::rng::Rng;

/// How far a row's sum may be from 1: room for probabilities written with six decimals or held as f32.
const SUM_TOLERANCE: f64 = 1e-5;

/// A checked K×K matrix; entry `(i, j)` is the probability that a row of class i is observed as class j.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionMatrix {
    classes: usize,
    /// Running sums along every row; the last entry is the row's sum.
    cumulative: Vec<f64>,
}

impl TransitionMatrix {
    /// Checks that `probabilities` is square, in `[0, 1]`, with rows that sum to 1 within 1e-5 (they are then rescaled).
    pub fn new(probabilities: Matrix<'_, f64>) -> Result<Self> {
        let classes = probabilities.columns();
        check_length("rows of a transition matrix with as many columns", classes, probabilities.rows())?;
        let mut cumulative = Vec::with_capacity(classes * classes);
        for (row, values) in probabilities.iter_rows().enumerate() {
            let mut sum = 0.0;
            for (column, &value) in values.iter().enumerate() {
                if !(0.0..=1.0).contains(&value) {
                    return Err(Error::Invalid {
                        what: "transition matrix",
                        reason: format!(
                            "the entry at row {row}, column {column} is {value}; probabilities lie between 0 and 1"
                        ),
                    });
                }
                sum += value;
                cumulative.push(sum);
            }
            if (sum - 1.0).abs() > SUM_TOLERANCE {
                return Err(Error::Invalid {
                    what: "transition matrix",
                    reason: format!("row {row} sums to {sum}; every row must sum to 1"),
                });
            }
        }
        Ok(TransitionMatrix { classes, cumulative })
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The class at `share` (in `[0, 1)`) of the probability mass of `class`.
    fn draw(&self, class: u32, share: f64) -> u32 {
        let start = class as usize * self.classes;
        let row = &self.cumulative[start..start + self.classes];
        let sum = row[self.classes - 1];
        // A class of probability 0 repeats the sum before it, so `<=` steps over it.
        let drawn = row.partition_point(|&up_to| up_to <= share * sum);
        // Should rounding reach the full sum, the answer is the class at which the sum became full.
        let last_possible = row.partition_point(|&up_to| up_to < sum);
        drawn.min(last_possible) as u32
    }
}

/// Draws every label anew from its class's row of the matrix (method, "Noise", transition matrix).
///
/// There is no rate, and so no exact count: rows are independent, one draw each in order, and the flipped rows are
/// those whose draw came out different. The number of flips is random with mean `Σ_i 1 − T[y_i, y_i]`.
pub fn transition(labels: &[u32], matrix: &TransitionMatrix, seed: u64) -> Result<NoisyLabels> {
    check_input(labels, matrix.classes())?;
    let mut rng = Rng::new(seed, STREAM);
    let observed: Vec<u32> = labels.iter().map(|&label| matrix.draw(label, rng.uniform())).collect();
    NoisyLabels::between(labels, &observed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_classes_are_never_drawn() {
        let values = [0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.1, 0.2, 0.7, 0.0, 0.0, 0.0, 0.0, 1.0];
        let matrix = TransitionMatrix::new(Matrix::new(&values, 4).unwrap()).unwrap();
        let almost_one = 1.0 - f64::EPSILON / 2.0;
        assert_eq!(matrix.draw(0, 0.0), 1);
        assert_eq!(matrix.draw(0, 0.499), 1);
        assert_eq!(matrix.draw(0, 0.5), 3);
        assert_eq!(matrix.draw(1, almost_one), 2);
        assert_eq!(matrix.draw(2, almost_one), 2);
        assert_eq!(matrix.draw(2, 0.0), 0);
        assert_eq!(matrix.draw(3, 0.0), 3);
    }
}
