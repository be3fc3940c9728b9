//! One row of scores, a number per class: probabilities, the likeliest class, the strongest other one.
//!
//! Everywhere in the project the lowest class wins a tie, and a number that is not one (NaN) is never the largest unless it
//! is the first that is looked at.

use crate::scalar::Scalar;

/// Turns logits into probabilities, in place.
#[inline(always)]
pub fn softmax<T: Scalar>(row: &mut [T]) {
    let top = row.iter().copied().fold(T::NEG_INFINITY, T::larger);
    let mut sum = T::ZERO;
    for v in row.iter_mut() {
        *v = (*v - top).exp_of_nonpositive();
        sum += *v;
    }
    for v in row {
        *v = *v / sum;
    }
}

/// The class with the largest number; 0 for an empty row.
pub fn most_likely<T: Copy + Into<f64>>(row: &[T]) -> u32 {
    largest_of(row, 0..row.len()).unwrap_or(0) as u32
}

/// The class other than `label` with the largest number; `None` if there is no other class.
pub fn strongest_other<T: Copy + Into<f64>>(row: &[T], label: usize) -> Option<usize> {
    largest_of(row, (0..row.len()).filter(|&class| class != label))
}

#[inline(always)]
fn largest_of<T: Copy + Into<f64>>(row: &[T], classes: impl Iterator<Item = usize>) -> Option<usize> {
    classes.reduce(|best, class| if row[class].into() > row[best].into() { class } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_class_wins_a_tie() {
        assert_eq!(most_likely(&[0.2, 0.4, 0.4]), 1);
        assert_eq!(most_likely(&[0.0, -0.0]), 0);
        assert_eq!(most_likely::<f32>(&[]), 0);
        assert_eq!(strongest_other(&[0.4, 0.4, 0.2], 0), Some(1));
        assert_eq!(strongest_other(&[1.0, 0.0, 0.0], 0), Some(1));
        assert_eq!(strongest_other(&[0.1, 0.2, 0.7], 2), Some(1));
        assert_eq!(strongest_other(&[1.0], 0), None);
    }

    #[test]
    fn a_row_of_nan_is_of_the_first_class() {
        let row = [f32::NAN; 3];
        assert_eq!((most_likely(&row), strongest_other(&row, 0), strongest_other(&row, 1)), (0, Some(1), Some(0)));
    }

    #[test]
    fn probabilities_sum_to_one_for_logits_of_any_size() {
        for mut row in [[0.0f64, 1.0, -1.0], [1e4, -1e4, 1e4], [-1e300, 0.0, 1.0]] {
            softmax(&mut row);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{row:?}");
        }
    }
}
