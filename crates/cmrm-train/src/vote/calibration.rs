//! A learner's probabilities brought to where observed labels are.

use cmrm::error::check_parameter;
use cmrm::scores::softmax;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Most of the probability that may be spread over all classes alike.
const MOST_FLOOR: f64 = 0.95;
/// Scores that differ by less are equal.
const ROUNDING: f64 = 1e-6;
/// Rows that are one thread's work.
const CHUNK_ROWS: usize = 1024;

/// `p ← (1 − floor)·softmax(ln p / temperature) + floor/classes`.
///
/// A learner that was trained with doubtful rows weighing less, or that is just sure of itself, speaks of clean labels; it is
/// judged by observed ones. With symmetric noise these are the clean ones up to a floor that is the same for every class. So a
/// learner that knows the clean labels is not taken for a bad one because it is sure, and all learners of a vote speak of the
/// same labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    temperature: f32,
    floor: f32,
}

impl Default for Calibration {
    /// Leaves probabilities as they are.
    fn default() -> Self {
        Calibration { temperature: 1.0, floor: 0.0 }
    }
}

impl Calibration {
    /// Temperatures to choose from: below one, probabilities become surer.
    pub const TEMPERATURES: [f32; 6] = [0.35, 0.5, 0.7, 1.0, 1.4, 2.0];
    /// Least probability whose logarithm is taken.
    pub const LEAST: f32 = 1e-6;

    /// What logarithms are divided by; at 1 no logarithm is taken.
    pub fn temperature(&self) -> f32 {
        self.temperature
    }

    /// The share of the probability that is spread over all classes alike.
    pub fn floor(&self) -> f32 {
        self.floor
    }

    /// The one with the least Brier score of out-of-sample probabilities, `[rows, classes]`, by observed labels; of equals the
    /// one that comes first.
    pub fn fit(probabilities: &[f32], labels: &[u32], weights: Option<&[f32]>, classes: usize) -> Self {
        let logarithms: Vec<f32> = probabilities.par_iter().map(|p| p.max(Calibration::LEAST).ln()).collect();
        let score = |&temperature: &f32| {
            let sums = Sums::of(&logarithms, temperature, labels, weights, classes);
            let floor = sums.best_floor();
            (sums.brier(floor), Calibration { temperature, floor: floor as f32 })
        };
        let scores: Vec<(f64, Calibration)> = Calibration::TEMPERATURES.iter().map(score).collect();
        let better = |best: (f64, Calibration), next: (f64, Calibration)| {
            if next.0 < best.0 - ROUNDING { next } else { best }
        };
        // As it is where nothing is better.
        let as_it_is = scores.iter().copied().find(|(_, one)| one.temperature == 1.0);
        let start = as_it_is.unwrap_or((f64::INFINITY, Calibration::default()));
        scores.into_iter().fold(start, better).1
    }

    /// Calibrates rows of probabilities, in place.
    pub fn apply(&self, probabilities: &mut [f32], classes: usize) {
        let (scale, spread) = (1.0 - self.floor, self.floor / classes as f32);
        pulp::Arch::new().dispatch(|| {
            for row in probabilities.chunks_exact_mut(classes) {
                if self.temperature != 1.0 {
                    row.iter_mut().for_each(|p| *p = p.max(Calibration::LEAST).ln() / self.temperature);
                    softmax(row);
                }
                row.iter_mut().for_each(|p| *p = scale * *p + spread);
            }
        });
    }

    /// Refuses what no fit finds.
    pub(super) fn check(&self) -> Result<()> {
        let Calibration { temperature, floor } = *self;
        let warm = temperature > 0.0 && temperature.is_finite();
        check_parameter("temperature of a voter", f64::from(temperature), warm, "a finite positive number")?;
        check_parameter("floor of a voter", f64::from(floor), (0.0..1.0).contains(&floor), "in [0, 1)")?;
        Ok(())
    }
}

/// What the Brier score is made of for every floor, as sums over the rows: with `s = Σ p²`, it is
/// `Σ s − 2 p[y] + 1 + 2·floor·(p[y] − s) + floor²·(s − 1/classes)`.
#[derive(Clone, Copy, Default)]
struct Sums {
    weight: f64,
    own: f64,
    squares: f64,
    classes: f64,
}

impl Sums {
    /// Chunks are summed in order, so that the number of threads does not matter.
    fn of(logarithms: &[f32], temperature: f32, labels: &[u32], weights: Option<&[f32]>, classes: usize) -> Self {
        let chunks = logarithms.par_chunks(CHUNK_ROWS * classes).enumerate();
        let of_chunk = |(chunk, logarithms): (usize, &[f32])| {
            let mut sums = Sums::default();
            pulp::Arch::new().dispatch(|| {
                let mut p = vec![0.0; classes];
                for (row, logarithms) in (chunk * CHUNK_ROWS..).zip(logarithms.chunks_exact(classes)) {
                    p.iter_mut().zip(logarithms).for_each(|(p, l)| *p = l / temperature);
                    softmax(&mut p);
                    let weight = weights.map_or(1.0, |weights| f64::from(weights[row]));
                    sums.weight += weight;
                    sums.own += weight * f64::from(p[labels[row] as usize]);
                    sums.squares += weight * f64::from(p.iter().map(|p| p * p).sum::<f32>());
                }
            });
            sums
        };
        let mut all = Sums { classes: classes as f64, ..Sums::default() };
        for sums in chunks.map(of_chunk).collect::<Vec<Sums>>() {
            all.weight += sums.weight;
            all.own += sums.own;
            all.squares += sums.squares;
        }
        all
    }

    fn best_floor(&self) -> f64 {
        let curvature = self.squares - self.weight / self.classes;
        if curvature > 0.0 { ((self.squares - self.own) / curvature).clamp(0.0, MOST_FLOOR) } else { 0.0 }
    }

    fn brier(&self, floor: f64) -> f64 {
        if self.weight <= 0.0 {
            return 0.0;
        }
        let curvature = self.squares - self.weight / self.classes;
        let sum = self.squares - 2.0 * self.own
            + self.weight
            + 2.0 * floor * (self.own - self.squares)
            + floor * floor * curvature;
        sum / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::super::brier_score;
    use super::*;

    /// A learner that is sure and right about clean labels, of which every fourth is observed wrong.
    fn sure_of_clean_labels() -> (Vec<f32>, Vec<u32>) {
        let labels = (0..400u32).map(|row| if row % 4 == 0 { (row + 1) % 3 } else { row % 3 }).collect();
        let p = (0..400u32).flat_map(|row| (0..3).map(move |class| if class == row % 3 { 0.98 } else { 0.01 }));
        (p.collect(), labels)
    }

    #[test]
    fn a_learner_that_is_sure_of_clean_labels_gets_the_floor_of_the_noise() {
        let (mut p, labels) = sure_of_clean_labels();
        let before = brier_score(&p, &labels, None, 3);
        let found = Calibration::fit(&p, &labels, None, 3);
        found.apply(&mut p, 3);
        assert!(p.chunks(3).all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
        assert!((p[0] - 0.75).abs() < 0.01, "{} of the labels are right, it says {}", 0.75, p[0]);
        assert!(brier_score(&p, &labels, None, 3) < before - 0.05);
    }

    #[test]
    fn the_score_that_is_minimised_is_the_brier_score() {
        let (mut p, labels) = sure_of_clean_labels();
        let weights: Vec<f32> = (0..400).map(|row| (row % 5) as f32).collect();
        let logarithms: Vec<f32> = p.iter().map(|p| p.ln()).collect();
        let one = Calibration { temperature: 1.4, floor: 0.2 };
        let expected = Sums::of(&logarithms, 1.4, &labels, Some(&weights), 3).brier(0.2);
        one.apply(&mut p, 3);
        assert!((brier_score(&p, &labels, Some(&weights), 3) - expected).abs() < 1e-6);
    }

    #[test]
    fn probabilities_that_fit_stay_as_they_are() {
        let labels: Vec<u32> = (0..100).map(|row| u32::from(row % 4 == 0)).collect();
        let p = [0.75, 0.25].repeat(100);
        let found = Calibration::fit(&p, &labels, None, 2);
        let mut after = p.clone();
        found.apply(&mut after, 2);
        assert!(p.iter().zip(&after).all(|(p, after)| (p - after).abs() < 1e-3), "{found:?}");
        assert!(Calibration { temperature: 0.0, floor: 0.0 }.check().is_err());
        assert!(Calibration { temperature: 1.0, floor: 1.0 }.check().is_err());
    }
}
