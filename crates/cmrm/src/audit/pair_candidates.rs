//! For pairs of a given class and another, the rows in which the other leads by most: one pass over the rows, all pairs
//! at once.

use super::kernel::LANES;
use super::source::{Held, RowSource};
use crate::error::Result;
use crate::scalar::Scalar;

/// The rows kept so far for every pair, and the lead that a further row must stay below.
///
/// The lead of a row is the probability of its label minus that of the other class. A list that has grown to twice the
/// rows wanted is cut down to them, and the highest lead left becomes the limit. After that few rows pass it, so the pass
/// is one comparison a number, and the lists together hold at most twice as many rows as are wanted.
#[derive(Debug)]
pub(super) struct PairCandidates<'a, T> {
    /// Where in the tables each class stands that may be given.
    place: &'a [u32],
    /// A row of limits per given class, one a class.
    limits: Vec<T>,
    /// Where each pair's list is, laid out like the limits; only pairs that are wanted have one.
    list_of: Vec<u32>,
    lists: Vec<List<T>>,
}

#[derive(Debug)]
struct List<T> {
    wanted: usize,
    kept: Vec<(T, u32)>,
}

impl<'a, T: Scalar> PairCandidates<'a, T> {
    /// For `given` classes that stand at their `place`, which has an entry for every class; nothing is wanted yet.
    pub fn new(given: usize, place: &'a [u32]) -> Self {
        let pairs = given * place.len();
        PairCandidates { place, limits: vec![T::NEG_INFINITY; pairs], list_of: vec![0; pairs], lists: Vec::new() }
    }

    fn pair(&self, class: usize, other: u32) -> usize {
        self.place[class] as usize * self.place.len() + other as usize
    }

    /// Asks for the `count` rows, at least one, with the lowest leads of `class` over `other`, of those below `limit`.
    pub fn want(&mut self, class: usize, other: u32, count: u32, limit: T) {
        let pair = self.pair(class, other);
        self.limits[pair] = limit;
        self.list_of[pair] = self.lists.len() as u32;
        self.lists.push(List { wanted: count as usize, kept: Vec::new() });
    }

    /// Looks at `rows`, which ascend. `self_confidence` holds the probability of each row's label.
    pub fn collect<R: RowSource<T> + ?Sized>(
        &mut self,
        held: &Held<'_, T, R>,
        self_confidence: &[T],
        labels: &[u32],
        rows: &[u32],
        room: &mut Vec<T>,
    ) -> Result<()> {
        pulp::Arch::new().dispatch(Collect { candidates: self, held, self_confidence, labels, rows, room })
    }

    /// Takes the rows found for a pair that was asked for, if there are as many as wanted; ties go to the earlier row.
    /// The pair is asked for no more.
    pub fn take(&mut self, class: usize, other: u32) -> Option<impl Iterator<Item = u32> + use<T>> {
        let pair = self.pair(class, other);
        self.limits[pair] = T::NEG_INFINITY;
        let list = &mut self.lists[self.list_of[pair] as usize];
        let mut kept = std::mem::take(&mut list.kept);
        if kept.len() < list.wanted {
            return None;
        }
        cut(&mut kept, list.wanted);
        Some(kept.into_iter().map(|entry| entry.1))
    }

    /// Offers a row to the pairs from `first` on whose limits it passes.
    #[inline(always)]
    fn offer_passing(&mut self, first: usize, p_label: T, values: &[T], row: u32) {
        for (l, &p) in values.iter().enumerate() {
            if p_label - p < self.limits[first + l] {
                self.offer(first + l, p_label - p, row);
            }
        }
    }

    #[inline(never)]
    fn offer(&mut self, pair: usize, lead: T, row: u32) {
        let List { wanted, kept } = &mut self.lists[self.list_of[pair] as usize];
        if kept.len() == kept.capacity() {
            // In two steps, to twice the rows wanted and no further.
            kept.reserve_exact(*wanted);
        }
        kept.push((lead, row));
        if kept.len() >= 2 * *wanted {
            cut(kept, *wanted);
            // Later rows lose ties, so only a lower lead gets in.
            self.limits[pair] = kept.iter().map(|entry| entry.0).fold(T::NEG_INFINITY, T::larger);
        }
    }
}

/// Keeps the `wanted` lowest entries, by lead and then row.
fn cut<T: Scalar>(kept: &mut Vec<(T, u32)>, wanted: usize) {
    if kept.len() > wanted {
        // No lead is NaN: the probabilities were checked.
        kept.select_nth_unstable_by(wanted, |a, b| {
            a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal).then(a.1.cmp(&b.1))
        });
        kept.truncate(wanted);
    }
}

struct Collect<'a, 'l, 'm, T, R: ?Sized> {
    candidates: &'a mut PairCandidates<'l, T>,
    held: &'a Held<'m, T, R>,
    self_confidence: &'a [T],
    labels: &'a [u32],
    rows: &'a [u32],
    room: &'a mut Vec<T>,
}

impl<T: Scalar, R: RowSource<T> + ?Sized> pulp::WithSimd for Collect<'_, '_, '_, T, R> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> Result<()> {
        let Collect { candidates, held, self_confidence, labels, rows, room } = self;
        for &index in rows {
            let row = held.row(index as usize, room)?;
            let p_label = self_confidence[index as usize];
            let first = candidates.pair(labels[index as usize] as usize, 0);
            let (chunks, rest) = row.as_chunks::<LANES>();
            for (c, chunk) in chunks.iter().enumerate() {
                let start = first + c * LANES;
                let limits = &candidates.limits[start..start + LANES];
                let mut passes = false;
                for l in 0..LANES {
                    passes |= p_label - chunk[l] < limits[l];
                }
                if passes {
                    candidates.offer_passing(start, p_label, chunk, index);
                }
            }
            candidates.offer_passing(first + chunks.len() * LANES, p_label, rest, index);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;
    use crate::rng::Rng;

    #[test]
    fn finds_the_same_rows_as_a_sort() {
        let mut rng = Rng::new(5, 0);
        for classes in [2usize, 7, 16, 40] {
            let rows = 600;
            // Few distinct numbers, so that ties are common.
            let values: Vec<f32> = (0..rows * classes).map(|_| rng.below(9) as f32 / 8.0).collect();
            let matrix = Matrix::new(&values, classes).unwrap();
            let labels: Vec<u32> = (0..rows).map(|_| rng.below(classes) as u32).collect();
            let own: Vec<f32> = (0..rows).map(|row| matrix.row(row)[labels[row] as usize]).collect();
            // Every class but the first may be given.
            let place: Vec<u32> = (0..classes as u32).map(|class| class.saturating_sub(1)).collect();
            let mut candidates = PairCandidates::new(classes - 1, &place);
            let count = |class: usize, other: u32| (class as u32 * 5 + other * 9) % 20;
            for class in 1..classes {
                for other in (0..classes as u32).filter(|&other| count(class, other) > 0) {
                    candidates.want(class, other, count(class, other), f32::INFINITY);
                }
            }
            let given: Vec<u32> = (0..rows as u32).filter(|&row| labels[row as usize] > 0).collect();
            let held = Held::<_, Matrix<'_, f32>>::Whole(matrix);
            candidates.collect(&held, &own, &labels, &given, &mut Vec::new()).unwrap();
            for class in 1..classes {
                for other in (0..classes as u32).filter(|&other| count(class, other) > 0) {
                    let lead = |row: u32| own[row as usize] - matrix.row(row as usize)[other as usize];
                    let of_class = |row: &u32| labels[*row as usize] == class as u32;
                    let mut expected: Vec<u32> = (0..rows as u32).filter(of_class).collect();
                    expected.sort_by(|&a, &b| lead(a).total_cmp(&lead(b)));
                    let wanted = count(class, other) as usize;
                    let Some(found) = candidates.take(class, other) else {
                        assert!(expected.len() < wanted);
                        continue;
                    };
                    expected.truncate(wanted);
                    expected.sort_unstable();
                    let mut found: Vec<u32> = found.collect();
                    found.sort_unstable();
                    assert_eq!(found, expected, "{classes} classes, pair {class}, {other}");
                }
            }
        }
    }
}
