//! From out-of-sample probabilities and observed labels to a model of the noise.

use serde::{Deserialize, Serialize};

use super::likelihood::{Judged, sharpness};
use super::shape::Shape;
use super::transition::Transition;
use crate::conformal::check_probabilities;
use crate::error::{Error, Result, check_labels, check_length, check_parameter};
use crate::matrix::Matrix;

/// Numbers that the search may look at: of larger tables it takes rows evenly spread.
const MOST_CELLS: usize = 200_000;
const MOST_ROWS: usize = 20_000;
/// Logarithm of the prior's odds for noise: a rate that is larger by 0.1 may explain the labels worse by one unit. Without it nothing
/// speaks against "no noise, but classes that overlap by as much".
const PREFERENCE: f64 = 10.0;
/// Half of the 90 % quantile of chi-squared with one degree of freedom: where the interval ends.
const INTERVAL_DROP: f64 = 1.35;
/// Rates of the pairs of classes have to explain the labels better by this much: classes that are alike look as if they were
/// taken for each other.
const STRUCTURE_GAIN: f64 = 25.0;
/// With more classes, rows are too few to tell pairs of them apart, and each matrix takes classes³ steps.
const MOST_PAIRED_CLASSES: usize = 100;
/// The share of labels drawn at random: few steps where most data is, up to nearly all.
const FINE_STEPS: usize = 10;
const FINE_END: f64 = 0.1;
const COARSE_STEPS: usize = 53;
const COARSE_END: f64 = 0.9;
/// Places between two rates of the grid at which the likelihood is interpolated.
const BETWEEN: usize = 8;

/// What is known of the noise in the labels; made by [`NoiseModel::estimate`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseModel {
    /// Share of the labels that are wrong.
    pub rate: f64,
    /// The ends of its 90 % interval: rates that explain the labels nearly as well. It covers the sampling of rows, not a wrong form of the noise.
    pub interval: [f64; 2],
    /// Whether the pairs of classes have rates of their own; else all wrong labels are alike.
    pub by_pair: bool,
    /// What the classes are observed as.
    pub transition: Transition,
    /// How much surer the models could have been of true classes than they are: the exponent of their probabilities.
    pub sharpness: f64,
}

impl NoiseModel {
    /// Finds the rate and the form of the noise that explain the observed labels best.
    ///
    /// `probabilities`, `[rows, classes]`, come from models that have not seen the row they judge and speak of observed labels. For a
    /// transition matrix `T` and an exponent, `s ∝ max(q T⁻¹, 0.0001)^exponent` are the clean probabilities, and `Tᵀs` judges
    /// the labels by its likelihood. Three forms of `T` compete: all pairs alike, and pairs by what the surer rows of each class
    /// are observed as or predicted as. Of each form the rate is searched. Two classes, and more than 100, have the first form only: labels that
    /// are wrong in one direction alone look like classes that overlap.
    pub fn estimate(probabilities: Matrix<'_, f32>, labels: &[u32]) -> Result<Self> {
        let (rows, classes) = (probabilities.rows(), probabilities.columns());
        check_length("labels against rows of probabilities", rows, labels.len())?;
        check_parameter("classes", classes as f64, classes >= 2, "at least 2")?;
        check_labels(labels, classes)?;
        check_probabilities(probabilities)?;
        if rows == 0 {
            return Err(Error::Empty { what: "the set of labels" });
        }
        let judged = Judged { p: probabilities, labels };
        let all = spread(rows, (MOST_CELLS / classes).clamp(1, MOST_ROWS));
        let rates: Vec<f64> = random_shares().map(|share| share * (classes - 1) as f64 / classes as f64).collect();
        let alike = judged.profile(&[(all.clone(), Shape::uniform(classes))], &rates)?;
        let mut best = (Shape::uniform(classes), alike, false);
        if (3..=MOST_PAIRED_CLASSES).contains(&classes) {
            // The labels that a shape is counted from must not judge it.
            let (even, odd): (Vec<usize>, Vec<usize>) =
                (all.iter().copied().step_by(2).collect(), all.iter().copied().skip(1).step_by(2).collect());
            let counted = |rows: &[usize]| Shape::counted(probabilities, labels, rows);
            let parts = [(even.clone(), counted(&odd)), (odd, counted(&even))];
            let by_labels = (counted(&all), judged.profile(&parts, &rates)?);
            let told = || Shape::told(probabilities, &all);
            let by_models = (told(), judged.profile(&[(all.clone(), told())], &rates)?);
            let mut needed = highest(&best.1) + STRUCTURE_GAIN;
            for (shape, profile) in [by_labels, by_models] {
                if highest(&profile) > needed {
                    needed = highest(&profile);
                    best = (shape, profile, true);
                }
            }
        }
        let (shape, profile, by_pair) = best;
        let (rate, interval) = Posterior::new(&rates, &profile).summary();
        let transition = shape.at(rate)?;
        let (_, place) = judged.likelihood(&all, &transition, 0);
        Ok(NoiseModel { rate, interval, by_pair, transition, sharpness: sharpness(place) })
    }

    /// What the classes would be observed as with another share of wrong labels, and noise of the same form.
    pub fn at_rate(&self, rate: f64) -> Result<Transition> {
        check_parameter("noise rate", rate, (0.0..1.0).contains(&rate), "0 or more, and below 1")?;
        let shape = match self.rate > 0.0 {
            true => Shape::of(&self.transition, self.rate),
            false => Shape::uniform(self.transition.classes()),
        };
        shape.at(rate)
    }

    /// Noise that is known: nothing is estimated, and probabilities are taken to be as sure as they should be.
    pub fn known(transition: Transition, shares: &[f64]) -> Result<Self> {
        check_length("shares of the classes", transition.classes(), shares.len())?;
        let rate =
            shares.iter().enumerate().map(|(class, share)| share * (1.0 - transition.probability(class, class))).sum();
        Ok(NoiseModel { rate, interval: [rate, rate], by_pair: true, transition, sharpness: 1.0 })
    }
}

/// At most `most` of the rows, evenly spread.
fn spread(rows: usize, most: usize) -> Vec<usize> {
    let taken = rows.min(most);
    (0..taken).map(|at| at * rows / taken).collect()
}

/// Shares of labels that are drawn at random from all classes, ascending from 0.
fn random_shares() -> impl Iterator<Item = f64> {
    let fine = (0..=FINE_STEPS).map(|step| FINE_END * step as f64 / FINE_STEPS as f64);
    let width = (COARSE_END - FINE_END) / COARSE_STEPS as f64;
    fine.chain((1..=COARSE_STEPS).map(move |step| FINE_END + width * step as f64))
}

fn highest(profile: &[f64]) -> f64 {
    profile.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The likelihood of the rates with the prior's preference, interpolated.
struct Posterior {
    rates: Vec<f64>,
    logarithms: Vec<f64>,
}

impl Posterior {
    fn new(rates: &[f64], profile: &[f64]) -> Self {
        let mut found = Posterior { rates: Vec::new(), logarithms: Vec::new() };
        for at in 0..rates.len() {
            let next = (at + 1).min(rates.len() - 1);
            for step in 0..if next > at { BETWEEN } else { 1 } {
                let share = step as f64 / BETWEEN as f64;
                let between = |of: &[f64]| if step == 0 { of[at] } else { of[at] + share * (of[next] - of[at]) };
                found.rates.push(between(rates));
                found.logarithms.push(between(profile) + PREFERENCE * between(rates));
            }
        }
        found
    }

    /// The best rate, and the ends of the interval.
    fn summary(&self) -> (f64, [f64; 2]) {
        let best = highest(&self.logarithms);
        let mut rate = 0.0;
        let mut interval = [f64::INFINITY, 0.0];
        for (&at, &logarithm) in self.rates.iter().zip(&self.logarithms) {
            if logarithm >= best - INTERVAL_DROP {
                interval = [interval[0].min(at), interval[1].max(at)];
            }
            if logarithm == best {
                rate = at;
            }
        }
        (rate, [interval[0].min(rate), interval[1]])
    }
}
