//! How many labels are wrong, and which classes are taken for which (confident learning, Northcutt et al. 2021).

use super::groups::Groups;
use super::kernel::{CLOSE, NO_CLASS};
use super::pairs::{PairBuilder, PairCounts};

/// Estimated noise in the labels.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseEstimate {
    /// Mean probability of a class over the rows given that class; `None` for a class without rows.
    pub thresholds: Vec<Option<f64>>,
    /// Rows given each class.
    pub label_counts: Vec<u32>,
    /// The confident joint: rows by given label and the class whose threshold they reach, as counted.
    ///
    /// A row that reaches several thresholds counts for its most likely class, a row that reaches none is left out.
    pub confident_joint: PairCounts,
    /// The same by given label and estimated true class, scaled so that every given label has as many rows as in the
    /// data, in whole rows; sums to the number of rows.
    pub joint: PairCounts,
}

impl NoiseEstimate {
    pub(super) fn new(groups: &Groups, confident: &[u32], thresholds: Vec<Option<f64>>) -> Self {
        let label_counts: Vec<u32> = (0..groups.classes()).map(|class| groups.of(class).len() as u32).collect();
        let confident_joint = PairCounts::count(groups, confident, Some(NO_CLASS));
        let joint = calibrate(&confident_joint, &label_counts);
        NoiseEstimate { thresholds, label_counts, confident_joint, joint }
    }

    /// Estimated share of wrong labels: what lies off the diagonal of [`NoiseEstimate::joint`].
    pub fn rate(&self) -> f64 {
        let total = self.joint.total();
        (total - self.joint.diagonal()) as f64 / total as f64
    }

    /// Estimated share of wrong labels among the rows given a class; `None` if it has no rows or is no class.
    pub fn rate_of_given(&self, given: u32) -> Option<f64> {
        let rows = self.label_counts.get(given as usize).copied().filter(|&rows| rows > 0)?;
        Some(f64::from(rows - self.joint.get(given, given)) / f64::from(rows))
    }

    /// Estimated share of every true class.
    pub fn true_shares(&self) -> Vec<f64> {
        let total = self.joint.total() as f64;
        self.joint.column_sums().into_iter().map(|sum| sum as f64 / total).collect()
    }

    /// `P(given | true)`, a row of `classes` numbers per given label: every column sums to 1, or to 0 where no row is
    /// estimated to be of the class.
    ///
    /// cleanlab also caps rates of wrong labels at 0.9999; a class that is never labelled right keeps its rate of 1 here.
    pub fn noise_matrix(&self) -> Vec<f64> {
        let sums = self.joint.column_sums();
        self.dense(|_, class, count| f64::from(count) / sums[class as usize] as f64)
    }

    /// `P(true | given)`, a row of `classes` numbers per *true* class, as cleanlab lays it out: every column sums to 1,
    /// or to 0 for a label without rows.
    pub fn inverse_noise_matrix(&self) -> Vec<f64> {
        let classes = self.joint.classes();
        let mut matrix = vec![0.0; classes * classes];
        for (given, class, count) in self.joint.iter() {
            let share = f64::from(count) / f64::from(self.label_counts[given as usize]);
            matrix[class as usize * classes + given as usize] = share;
        }
        matrix
    }

    fn dense(&self, value: impl Fn(u32, u32, u32) -> f64) -> Vec<f64> {
        let classes = self.joint.classes();
        let mut matrix = vec![0.0; classes * classes];
        for (given, class, count) in self.joint.iter() {
            matrix[given as usize * classes + class as usize] = value(given, class, count);
        }
        matrix
    }
}

/// The numbers that a row's probabilities must reach: thresholds a hair lower, so that rounding does not decide, and out
/// of reach for a class without rows.
pub(super) fn reach(thresholds: &[Option<f64>]) -> Vec<f64> {
    const OUT_OF_REACH: f64 = 2.0;
    thresholds.iter().map(|t| t.map_or(OUT_OF_REACH, |t| t.max(2.0 * CLOSE)) - CLOSE).collect()
}

/// Scales every given label's counts to the rows it has. A label nobody was confident of counts as right.
fn calibrate(confident: &PairCounts, label_counts: &[u32]) -> PairCounts {
    let mut builder = PairBuilder::new(label_counts.len());
    let mut cells: Vec<(u32, f64)> = Vec::new();
    for (given, &rows) in label_counts.iter().enumerate() {
        let given = given as u32;
        cells.clear();
        cells.extend(confident.row(given).iter().map(|&(class, count)| (class, f64::from(count))));
        // At least one row of every class is taken to be right.
        if let Err(at) = cells.binary_search_by_key(&given, |cell| cell.0) {
            cells.insert(at, (given, 1.0));
        }
        let sum: f64 = cells.iter().map(|cell| cell.1).sum();
        for cell in &mut cells {
            cell.1 = cell.1 / sum * f64::from(rows);
        }
        builder.push_row(round_to_sum(&cells, rows).into_iter());
    }
    builder.finish()
}

/// Rounds to whole numbers that sum to `sum`, moving those that are furthest from their rounding.
///
/// Equal distances: the later class is raised and the earlier one lowered. cleanlab leaves that to an unstable sort.
fn round_to_sum(cells: &[(u32, f64)], sum: u32) -> Vec<(u32, u32)> {
    let mut rounded: Vec<(u32, u32)> = cells.iter().map(|&(class, v)| (class, v.round_ties_even() as u32)).collect();
    let excess = rounded.iter().map(|cell| i64::from(cell.1)).sum::<i64>() - i64::from(sum);
    if excess != 0 {
        let residual = |i: usize| cells[i].1 - f64::from(rounded[i].1);
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by(|&a, &b| residual(a).total_cmp(&residual(b)));
        if excess < 0 {
            order.reverse();
        }
        // Residuals are at most one half, so at least twice as many cells as are moved lie on the side they move to;
        // none of those that are lowered is zero.
        for &i in order.iter().take(excess.unsigned_abs() as usize) {
            let cell = &mut rounded[i].1;
            *cell = if excess > 0 { cell.saturating_sub(1) } else { *cell + 1 };
        }
    }
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_the_sum() {
        let cells = [(0, 2.5), (3, 2.5), (7, 1.0)];
        assert_eq!(round_to_sum(&cells, 6), vec![(0, 2), (3, 3), (7, 1)]);
        let cells = [(0, 0.6), (1, 0.6), (2, 0.8)];
        assert_eq!(round_to_sum(&cells, 2), vec![(0, 0), (1, 1), (2, 1)]);
    }
}
