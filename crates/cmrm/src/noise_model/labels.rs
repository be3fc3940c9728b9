//! The noise in labels that are not those a model was trained on.

use serde::{Deserialize, Serialize};

use super::estimate::{NoiseModel, spread};
use super::rates::{Posterior, highest, random_shares};
use super::transition::Transition;
use crate::conformal::check_probabilities;
use crate::error::{Error, Result, check_labels, check_length};
use crate::matrix::Matrix;

/// Least probability of a class: a sure model that is wrong once must not outweigh all other rows.
const LEAST: f64 = 1e-4;

/// How many of some labels are wrong, by probabilities of the true classes.
///
/// A model of observed labels ([`NoiseModel`]) takes the labels to be as noisy as those that it was trained on, and can be far off where
/// they are not: noise that the probabilities do not know of looks like classes that overlap. Once the noise of the training labels is
/// undone ([`NoiseModel::clean_probabilities`]) the labels of other rows are judged by their own rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelNoise {
    /// Share of the labels that are wrong: the likeliest.
    pub rate: f64,
    /// The ends of its 90 % interval. It covers the sampling of rows; what the models do not know of the classes is not in it.
    pub interval: [f64; 2],
    /// Whether the pairs of classes have rates of their own, in the proportions of the training labels' noise.
    pub by_pair: bool,
    /// What the classes are observed as.
    pub transition: Transition,
}

impl LabelNoise {
    /// From probabilities of the true classes, `[rows, classes]`, by models that have not seen the rows; `trained_on` is the noise of the
    /// labels that they learned from, whose form is tried beside noise that is alike for all pairs.
    pub fn estimate(clean: Matrix<'_, f32>, labels: &[u32], trained_on: &NoiseModel) -> Result<Self> {
        let (rows, classes) = (clean.rows(), clean.columns());
        check_length("labels against rows of probabilities", rows, labels.len())?;
        check_length("classes of the noise model", trained_on.transition.classes(), classes)?;
        check_labels(labels, classes)?;
        check_probabilities(clean)?;
        if rows == 0 {
            return Err(Error::Empty { what: "the set of labels" });
        }
        let taken = spread(rows, classes);
        let rates: Vec<f64> = random_shares().map(|share| share * (classes - 1) as f64 / classes as f64).collect();
        let profile = |at: &dyn Fn(f64) -> Result<Transition>| -> Vec<f64> {
            // Some forms cannot be undone at some rates: those are not what happened.
            let likelihood = |transition: Transition| likelihood(clean, labels, &taken, &transition);
            rates.iter().map(|&rate| at(rate).map_or(f64::NEG_INFINITY, likelihood)).collect()
        };
        let alike = |rate: f64| Transition::uniform(classes, rate);
        let as_trained = |rate: f64| trained_on.at_rate(rate);
        let (mut best, mut by_pair) = (profile(&alike), false);
        if trained_on.by_pair {
            let other = profile(&as_trained);
            if highest(&other) > highest(&best) {
                (best, by_pair) = (other, true);
            }
        }
        let (rate, interval) = Posterior::flat(&rates, &best).summary();
        let transition = if by_pair { as_trained(rate)? } else { alike(rate)? };
        Ok(LabelNoise { rate, interval, by_pair, transition })
    }

    /// The probability that each label is wrong, of rows with these probabilities of the true classes.
    pub fn wrong_probabilities(&self, clean: Matrix<'_, f32>, labels: &[u32]) -> Result<Vec<f32>> {
        check_length("labels against rows of probabilities", clean.rows(), labels.len())?;
        check_length("classes of the noise", self.transition.classes(), clean.columns())?;
        check_labels(labels, clean.columns())?;
        check_probabilities(clean)?;
        let mut room = vec![0.0; clean.columns()];
        let wrong = clean.iter_rows().zip(labels).map(|(row, &label)| {
            let label = label as usize;
            floored(row, &mut room);
            let right = room[label] * self.transition.probability(label, label);
            (1.0 - right / self.transition.observed(&room, label)) as f32
        });
        Ok(wrong.collect())
    }
}

fn likelihood(clean: Matrix<'_, f32>, labels: &[u32], rows: &[usize], transition: &Transition) -> f64 {
    let mut room = vec![0.0; clean.columns()];
    let one = |&row: &usize| {
        floored(clean.row(row), &mut room);
        transition.observed(&room, labels[row] as usize).ln()
    };
    rows.iter().map(one).sum()
}

/// Probabilities of which none is zero.
fn floored(row: &[f32], out: &mut [f64]) {
    out.iter_mut().zip(row).for_each(|(out, &p)| *out = f64::from(p).max(LEAST));
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Rows of classes that overlap, what a model that knows all says of them, and labels of which a share is wrong.
    fn rows(classes: usize, wrong: f64, seed: u64) -> (Vec<f32>, Vec<u32>, Vec<bool>) {
        let mut rng = Rng::new(seed, 0);
        let (mut clean, mut labels, mut flipped) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..4000 {
            let scores: Vec<f64> = (0..classes).map(|_| (2.0 * rng.normal()).exp()).collect();
            let sum: f64 = scores.iter().sum();
            let mut draw = rng.uniform() * sum;
            let truth = scores.iter().position(|score| {
                draw -= score;
                draw < 0.0
            });
            let truth = truth.unwrap_or(0);
            let is_wrong = rng.uniform() < wrong;
            labels.push(if is_wrong { (truth + 1 + rng.below(classes - 1)) % classes } else { truth } as u32);
            flipped.push(is_wrong);
            clean.extend(scores.iter().map(|score| (score / sum) as f32));
        }
        (clean, labels, flipped)
    }

    fn trained_on(classes: usize, rate: f64) -> NoiseModel {
        let transition = Transition::uniform(classes, rate).unwrap();
        NoiseModel::known(transition, &vec![1.0 / classes as f64; classes]).unwrap()
    }

    #[test]
    fn the_rate_is_that_of_the_labels_whatever_the_models_learned_from() {
        for classes in [2, 4] {
            for wrong in [0.0, 0.1, 0.3] {
                let (clean, labels, flipped) = rows(classes, wrong, 7);
                let clean = Matrix::new(&clean, classes).unwrap();
                let found = LabelNoise::estimate(clean, &labels, &trained_on(classes, 0.2)).unwrap();
                assert!((found.rate - wrong).abs() < 0.025, "{wrong}: {found:?}");
                let [low, high] = found.interval;
                assert!(low <= wrong + 0.005 && wrong <= high + 0.005 && high - low < 0.06, "{wrong}: {found:?}");
                // As many labels are wrong as the probabilities add up to, surely wrong ones above all.
                let told = found.wrong_probabilities(clean, &labels).unwrap();
                let of = |is: bool| {
                    let rows = told.iter().zip(&flipped).filter(|(_, flipped)| **flipped == is);
                    let values: Vec<f32> = rows.map(|(p, _)| *p).collect();
                    values.iter().sum::<f32>() / values.len().max(1) as f32
                };
                let sum: f32 = told.iter().sum();
                assert!((f64::from(sum) / 4000.0 - found.rate).abs() < 0.01, "{sum}");
                assert!(wrong == 0.0 || of(true) > 2.0 * of(false), "{} {}", of(true), of(false));
            }
        }
    }

    #[test]
    fn noise_of_the_form_of_the_training_labels_is_told_from_noise_alike_for_all() {
        let classes = 3;
        let (clean, _, _) = rows(classes, 0.0, 3);
        let clean = Matrix::new(&clean, classes).unwrap();
        // Every class is taken for the next one: a tenth of the training labels, a fifth of the new ones.
        let circular = |rate: f64| {
            let entry = |at: usize| match (at % classes + classes - at / classes) % classes {
                0 => 1.0 - rate,
                1 => rate,
                _ => 0.0,
            };
            let entries: Vec<f64> = (0..classes * classes).map(entry).collect();
            Transition::new(Matrix::new(&entries, classes).unwrap()).unwrap()
        };
        let mut rng = Rng::new(5, 0);
        let mut draw = |shares: &[f64]| {
            let mut left = rng.uniform();
            shares.iter().position(|share| {
                left -= share;
                left < 0.0
            })
        };
        let noise = circular(0.2);
        let observed = |row: &[f32]| {
            let shares: Vec<f64> = row.iter().map(|&p| f64::from(p)).collect();
            let truth = draw(&shares).unwrap_or(0);
            draw(noise.row(truth)).unwrap_or(truth) as u32
        };
        let labels: Vec<u32> = clean.iter_rows().map(observed).collect();
        let trained_on = NoiseModel::known(circular(0.1), &[1.0 / 3.0; 3]).unwrap();
        let found = LabelNoise::estimate(clean, &labels, &trained_on).unwrap();
        assert!(found.by_pair && (found.rate - 0.2).abs() < 0.03, "{found:?}");
        assert!(found.transition.probability(0, 1) > 0.15 && found.transition.probability(0, 2) < 0.01, "{found:?}");
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let (clean, labels, _) = rows(2, 0.1, 1);
        let clean = Matrix::new(&clean, 2).unwrap();
        assert!(LabelNoise::estimate(clean, &labels[1..], &trained_on(2, 0.1)).is_err());
        assert!(LabelNoise::estimate(clean, &labels, &trained_on(3, 0.1)).is_err());
        assert!(LabelNoise::estimate(Matrix::new(&[][..], 2).unwrap(), &[], &trained_on(2, 0.1)).is_err());
    }
}
