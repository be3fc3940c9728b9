//! The filters that take as many rows as the estimated joint counts wrong.

use super::config::{AuditConfig, Filter};
use super::groups::Groups;
use super::kernel::CLOSE;
use super::lowest::mark_lowest;
use super::pair_candidates::PairCandidates;
use super::pairs::PairCounts;
use super::passes::in_pieces;
use super::source::{Held, RowSource};
use crate::error::Result;
use crate::scalar::Scalar;

/// Most pairs of classes, and most rows wanted, that are looked at together: what a second-level cache holds.
const BAND_PAIRS: usize = 1 << 16;
const BAND_ROWS: usize = 1 << 15;

/// What the pruning filters look at.
pub(super) struct Prune<'a, T, R: ?Sized> {
    /// Probabilities, unless the filter needs none but those of the labels.
    pub held: Option<Held<'a, T, R>>,
    /// Probability of each row's label.
    pub self_confidence: &'a [T],
    pub labels: &'a [u32],
    pub groups: &'a Groups,
    pub joint: &'a PairCounts,
    /// Rows whose label the model does not predict; only they can be issues.
    pub doubted: &'a [bool],
    pub config: &'a AuditConfig,
}

impl<T: Scalar, R: RowSource<T> + ?Sized> Prune<'_, T, R> {
    /// Which rows are issues.
    pub fn issues(&self) -> Result<Vec<bool>> {
        let Some(held) = &self.held else { return Ok(self.by_class()) };
        let mut issues = self.by_noise_rate(held)?;
        if self.config.filter == Filter::Both {
            for (issue, too) in issues.iter_mut().zip(self.by_class()) {
                *issue &= too;
            }
        }
        Ok(issues)
    }

    /// What to take of the rows given `class`; nothing of a class that is too small.
    fn counts(&self, class: usize) -> Counts {
        let rows = self.groups.of(class).len() as u32;
        if rows <= self.config.min_examples_per_class {
            return Counts { right: rows, wrong: Vec::new() };
        }
        Counts::new(self.joint.row(class as u32), class as u32, self.config)
    }

    /// For every class, the rows that are least likely of it.
    fn by_class(&self) -> Vec<bool> {
        let mut issues = vec![false; self.labels.len()];
        let (mut values, mut scratch) = (Vec::new(), Vec::new());
        for class in 0..self.groups.classes() {
            let rows = self.groups.of(class);
            values.clear();
            values.extend(rows.iter().map(|&row| self.self_confidence[row as usize]));
            let wrong = rows.len().saturating_sub(self.counts(class).right as usize);
            mark_lowest(&values, wrong, &mut scratch, |i| {
                issues[rows[i] as usize] = self.doubted[rows[i] as usize];
            });
        }
        issues
    }

    /// For every pair of classes, the rows in which the other class leads the given one by most.
    fn by_noise_rate(&self, held: &Held<'_, T, R>) -> Result<Vec<bool>> {
        let mut issues = vec![false; self.labels.len()];
        for row in self.found(held)?.into_iter().flatten() {
            issues[row as usize] = self.doubted[row as usize];
        }
        Ok(issues)
    }

    /// The rows found, band after band. Given classes do not depend on each other, so any bands find the same.
    fn found(&self, held: &Held<'_, T, R>) -> Result<Vec<Vec<u32>>> {
        let Bands { bands, place } = self.bands();
        in_pieces(bands, |given, room| self.band(held, &given, &place, room))
    }

    /// The given classes that have wrong rows, divided so that each part stays in the cache and still has many rows near
    /// each other in the matrix.
    fn bands(&self) -> Bands {
        let classes = self.groups.classes();
        let mut bands: Vec<Vec<usize>> = Vec::new();
        let mut place = vec![0; classes];
        let mut wanted = 0;
        for class in 0..classes {
            let rows = self.groups.of(class).len();
            let more = rows - self.joint.get(class as u32, class as u32) as usize;
            if more == 0 {
                continue;
            }
            match bands.last_mut() {
                Some(band) if (band.len() + 1) * classes <= BAND_PAIRS && wanted + more <= BAND_ROWS => {
                    place[class] = band.len() as u32;
                    band.push(class);
                    wanted += more;
                }
                _ => {
                    bands.push(vec![class]);
                    wanted = more;
                }
            }
        }
        Bands { bands, place }
    }

    /// The rows found in some given classes; a row may come up more than once.
    ///
    /// A row whose label the model predicts leads every other class by `−CLOSE` or more. So as long as a pair asks for no
    /// more rows than have a lead clearly below that, the doubted rows are all that needs to be looked at.
    fn band(&self, held: &Held<'_, T, R>, given: &[usize], place: &[u32], room: &mut Vec<T>) -> Result<Vec<u32>> {
        let mut candidates = PairCandidates::new(given.len(), place);
        let mut pairs = Vec::new();
        for &class in given {
            pairs.extend(self.counts(class).wrong.into_iter().map(|(other, count)| (class, other, count)));
        }
        for &(class, other, count) in &pairs {
            candidates.want(class, other, count, T::from_f64(-2.0 * CLOSE));
        }
        let doubted = |row: &u32| self.doubted[*row as usize];
        candidates.collect(held, self.self_confidence, self.labels, &self.rows(given, doubted), room)?;
        let mut found = Vec::new();
        pairs.retain(|&(class, other, _)| match candidates.take(class, other) {
            Some(rows) => {
                found.extend(rows);
                false
            }
            None => true,
        });
        // What is left asks for rows beyond the clear ones.
        for &(class, other, count) in &pairs {
            let most = self.groups.of(class).len() as u32;
            candidates.want(class, other, count.min(most), -T::NEG_INFINITY);
        }
        let mut short: Vec<usize> = pairs.iter().map(|pair| pair.0).collect();
        short.dedup();
        candidates.collect(held, self.self_confidence, self.labels, &self.rows(&short, |_| true), room)?;
        for (class, other, _) in pairs {
            found.extend(candidates.take(class, other).into_iter().flatten());
        }
        Ok(found)
    }

    /// The rows of some given classes in the order of the matrix, in which memory is read fastest.
    fn rows(&self, given: &[usize], keep: impl Fn(&u32) -> bool) -> Vec<u32> {
        let mut rows: Vec<u32> = given.iter().flat_map(|&class| self.groups.of(class)).copied().filter(keep).collect();
        rows.sort_unstable();
        rows
    }
}

/// Lists of given classes, and where in its list each class stands.
struct Bands {
    bands: Vec<Vec<usize>>,
    place: Vec<u32>,
}

/// How many rows of a given class are to be kept and to be taken, by true class.
#[derive(Debug)]
struct Counts {
    right: u32,
    wrong: Vec<(u32, u32)>,
}

impl Counts {
    /// From a row of the joint: at least `min_examples_per_class` rows are right, at the expense of the wrong ones in
    /// equal parts, and only `frac_noise` of the wrong ones are taken. Fractions are cut off, as in cleanlab.
    fn new(cells: &[(u32, u32)], class: u32, config: &AuditConfig) -> Self {
        let right = cells.iter().find(|cell| cell.0 == class).map_or(0, |cell| cell.1);
        let kept = right.max(config.min_examples_per_class);
        let part = f64::from(kept - right) / (cells.len() as f64 - 1.0).max(1.0);
        let mut spared = 0.0;
        let mut wrong = Vec::with_capacity(cells.len());
        for &(other, count) in cells.iter().filter(|cell| cell.0 != class) {
            let count = (f64::from(count) - part).max(0.0);
            let taken = count * config.frac_noise;
            spared += count - taken;
            if taken >= 1.0 {
                wrong.push((other, taken as u32));
            }
        }
        Counts { right: (f64::from(kept) + spared) as u32, wrong }
    }
}
