//! From out-of-sample probabilities and observed labels to a model of the noise.

use serde::{Deserialize, Serialize};

use super::likelihood::{Judged, sharpness};
use super::rates::{Posterior, highest, random_shares};
use super::shape::Shape;
use super::transition::Transition;
use crate::conformal::check_probabilities;
use crate::error::{Error, Result, check_labels, check_length, check_parameter};
use crate::matrix::Matrix;

/// Numbers that the search may look at: of larger tables it takes rows evenly spread.
const MOST_CELLS: usize = 200_000;
const MOST_ROWS: usize = 20_000;
/// Models of the noise that stand for all that are plausible.
const PLAUSIBLE: usize = 8;
/// Rates of the pairs of classes have to explain the labels better by this much: classes that are alike look as if they were
/// taken for each other.
const STRUCTURE_GAIN: f64 = 25.0;
/// With more classes, rows are too few to tell pairs of them apart, and each matrix takes classes³ steps.
const MOST_PAIRED_CLASSES: usize = 100;

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
        Ok(PlausibleNoise::of(probabilities, labels)?.likeliest)
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

/// All models of the noise that the labels allow.
#[derive(Debug, Clone, PartialEq)]
pub struct PlausibleNoise {
    /// The likeliest: of rates that explain the labels about as well, a large one is preferred.
    pub likeliest: NoiseModel,
    /// Models of the same form whose rates are about equally likely, by ascending rate.
    pub models: Vec<NoiseModel>,
}

impl PlausibleNoise {
    /// See [`NoiseModel::estimate`].
    pub fn of(probabilities: Matrix<'_, f32>, labels: &[u32]) -> Result<Self> {
        let (rows, classes) = (probabilities.rows(), probabilities.columns());
        check_length("labels against rows of probabilities", rows, labels.len())?;
        check_parameter("classes", classes as f64, classes >= 2, "at least 2")?;
        check_labels(labels, classes)?;
        check_probabilities(probabilities)?;
        if rows == 0 {
            return Err(Error::Empty { what: "the set of labels" });
        }
        let judged = Judged { p: probabilities, labels };
        let all = spread(rows, classes);
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
        let posterior = Posterior::new(&rates, &profile);
        let (rate, interval) = posterior.summary();
        let at = |rate: f64| -> Result<NoiseModel> {
            let transition = shape.at(rate)?;
            let (_, place) = judged.likelihood(&all, &transition, 0);
            Ok(NoiseModel { rate, interval, by_pair, transition, sharpness: sharpness(place) })
        };
        let models = posterior.equally_likely(PLAUSIBLE).into_iter().map(at).collect::<Result<_>>()?;
        Ok(PlausibleNoise { likeliest: at(rate)?, models })
    }
}

/// Rows to look at, evenly spread over all.
pub(super) fn spread(rows: usize, classes: usize) -> Vec<usize> {
    let taken = rows.min((MOST_CELLS / classes).clamp(1, MOST_ROWS));
    (0..taken).map(|at| at * rows / taken).collect()
}
