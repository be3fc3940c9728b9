//! How well a transition matrix explains the observed labels.

use super::shape::Shape;
use super::transition::Transition;
use crate::error::Result;
use crate::matrix::Matrix;

/// Least probability of a class before probabilities are sharpened.
pub(super) const LEAST: f64 = 1e-4;
/// Sharpness to choose from: exponents, a twelfth of the way from 0.4 to 3 apart by ratio.
const SHARPNESSES: usize = 13;
const LEAST_SHARP: f64 = 0.4;
const MOST_SHARP: f64 = 3.0;

/// The exponent at this place of the grid.
pub(super) fn sharpness(at: usize) -> f64 {
    LEAST_SHARP * (MOST_SHARP / LEAST_SHARP).powf(at as f64 / (SHARPNESSES - 1) as f64)
}

/// `s ∝ max(q T⁻¹, 0.0001)^sharpness`: probabilities of the true classes from those of observed ones.
pub(super) fn clean_row<T: Copy + Into<f64>>(transition: &Transition, sharpness: f64, observed: &[T], out: &mut [f64]) {
    logarithms(transition, observed, out);
    sharpen(out, sharpness);
}

fn logarithms<T: Copy + Into<f64>>(transition: &Transition, observed: &[T], out: &mut [f64]) {
    transition.undo(observed, out);
    out.iter_mut().for_each(|p| *p = p.max(LEAST).ln());
}

/// Logarithms → probabilities, in place.
fn sharpen(row: &mut [f64], sharpness: f64) {
    let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|l| *l = (sharpness * (*l - highest)).exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|p| *p /= sum);
}

/// Rows of out-of-sample probabilities and their observed labels.
#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    pub p: Matrix<'a, f32>,
    pub labels: &'a [u32],
}

impl Judged<'_> {
    /// The largest logarithm of the likelihood over all sharpnesses, and the place of the best. The search climbs from `start`: the next
    /// rate's best is rarely far.
    pub fn likelihood(&self, rows: &[usize], transition: &Transition, start: usize) -> (f64, usize) {
        let classes = self.p.columns();
        let mut told = vec![0.0; rows.len() * classes];
        for (told, &row) in told.chunks_exact_mut(classes).zip(rows) {
            logarithms(transition, self.p.row(row), told);
        }
        let mut found = [None; SHARPNESSES];
        let mut at =
            |place: usize| *found[place].get_or_insert_with(|| self.of(rows, &told, transition, sharpness(place)));
        let mut best = start.min(SHARPNESSES - 1);
        loop {
            let next = [best.saturating_sub(1), (best + 1).min(SHARPNESSES - 1)];
            let better = next.into_iter().max_by(|&a, &b| at(a).total_cmp(&at(b))).unwrap_or(best);
            if at(better) <= at(best) {
                return (at(best), best);
            }
            best = better;
        }
    }

    fn of(&self, rows: &[usize], told: &[f64], transition: &Transition, sharpness: f64) -> f64 {
        let classes = self.p.columns();
        let mut clean = vec![0.0; classes];
        let mut sum = 0.0;
        for (told, &row) in told.chunks_exact(classes).zip(rows) {
            clean.copy_from_slice(told);
            sharpen(&mut clean, sharpness);
            let label = self.labels[row] as usize;
            sum += transition.observed(&clean, label).max(f64::MIN_POSITIVE).ln();
        }
        sum
    }

    /// The likelihood at every rate; each of `parts` has rows to judge and a shape that was found without them.
    pub fn profile(&self, parts: &[(Vec<usize>, Shape)], rates: &[f64]) -> Result<Vec<f64>> {
        let mut profile = vec![0.0; rates.len()];
        for (rows, shape) in parts {
            let mut place = SHARPNESSES / 2;
            for (likelihood, &rate) in profile.iter_mut().zip(rates) {
                // Some shapes cannot be undone at some rates: those are not what happened.
                let Ok(transition) = shape.at(rate) else {
                    *likelihood = f64::NEG_INFINITY;
                    continue;
                };
                let found = self.likelihood(rows, &transition, place);
                *likelihood += found.0;
                place = found.1;
            }
        }
        Ok(profile)
    }
}
