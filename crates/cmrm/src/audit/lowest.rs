//! The rows with the lowest numbers, in linear time; ties go to the earlier row.

use crate::scalar::Scalar;

/// Calls `mark` with the positions of the `count` lowest `values` (of all, if there are fewer), ascending. No value is
/// NaN. `scratch` is overwritten.
pub(super) fn mark_lowest<T: Scalar>(values: &[T], count: usize, scratch: &mut Vec<T>, mut mark: impl FnMut(usize)) {
    if count == 0 {
        return;
    }
    if count >= values.len() {
        (0..values.len()).for_each(mark);
        return;
    }
    scratch.clear();
    scratch.extend_from_slice(values);
    let (_, &mut last, _) = scratch.select_nth_unstable_by(count - 1, T::total_cmp);
    let below = values.iter().filter(|v| **v < last).count();
    let mut ties = count - below;
    for (i, &value) in values.iter().enumerate() {
        if value < last {
            mark(i);
        } else if value == last && ties > 0 {
            ties -= 1;
            mark(i);
        }
    }
}

/// Row indices by ascending value, ties by row. At most `u32::MAX` values, none of them NaN.
pub(super) fn ascending(values: &[f32]) -> Vec<u32> {
    let mut keys: Vec<u64> =
        values.iter().enumerate().map(|(row, &v)| u64::from(ordered_bits(v)) << 32 | row as u64).collect();
    // No two keys are equal, so any way of sorting gives the same.
    #[cfg(feature = "rayon")]
    rayon::slice::ParallelSliceMut::par_sort_unstable(&mut keys[..]);
    #[cfg(not(feature = "rayon"))]
    keys.sort_unstable();
    keys.into_iter().map(|key| key as u32).collect()
}

/// An integer that orders as the number does; the two zeros are one.
fn ordered_bits(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// Where each row stands in `order`.
pub(super) fn positions(order: &[u32]) -> Vec<u32> {
    let mut positions = vec![0; order.len()];
    for (position, &row) in order.iter().enumerate() {
        positions[row as usize] = position as u32;
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowest(values: &[f64], count: usize) -> Vec<usize> {
        let mut found = Vec::new();
        mark_lowest(values, count, &mut Vec::new(), |i| found.push(i));
        found
    }

    #[test]
    fn ties_go_to_the_earlier_position() {
        let values = [0.5, 0.1, 0.5, 0.1, 0.5, 0.0];
        assert_eq!(lowest(&values, 0), [0usize; 0]);
        assert_eq!(lowest(&values, 2), [1, 5]);
        assert_eq!(lowest(&values, 5), [0, 1, 2, 3, 5]);
        assert_eq!(lowest(&values, 9), [0, 1, 2, 3, 4, 5]);
        assert_eq!(lowest(&[0.0, -0.0, 0.0, -0.0], 2), [0, 1]);
        assert_eq!(lowest(&[], 2), [0usize; 0]);
    }

    #[test]
    fn order_is_by_value_then_row() {
        let order = ascending(&[0.2, -1.0, 0.0, 0.2, -0.0, -0.5, 1.0]);
        assert_eq!(order, [1, 5, 2, 4, 0, 3, 6]);
        assert_eq!(positions(&order), [4, 0, 2, 5, 3, 1, 6]);
    }
}
