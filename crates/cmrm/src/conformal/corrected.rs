//! Thresholds for true classes from labels that are partly wrong.
//!
//! Let `W[i][k]` be what is known of row i being of class k: the probability of it given the row and its label
//! ([`crate::noise_model::NoiseModel::posteriors`]), or a number whose mean over the noise is 1 for the true class and 0 for others
//! ([`crate::noise_model::Transition::unbiased_weights`]). Then the scores of true classes have the distribution function
//!
//! ```text
//! F(t) = (1/n) Σ_i Σ_k W[i][k] · 1[score(i, k) ≤ t]
//! ```
//!
//! For uniform noise of rate ε, with e = εK/(K−1), the second choice gives `(F_obs(t) − e·F_all(t))/(1 − e)` (Einbinder et al., 2024). The
//! threshold is the least score t with `F(t) ≥ coverage·(n+1)/n`, as in split conformal prediction; with clean labels as W it is the same
//! threshold.
//!
//! **What holds.** If calibration and new rows are exchangeable and W is right on average (the noise depends on the row through its class
//! alone and its rates are known; or the posteriors are calibrated), the sets hold the true class with probability `coverage` up to the sampling error
//! of F, of the order `1/√n`, times about `1/(1 − e)` for the unbiased choice. Unlike with clean labels this is not a guarantee:
//! rates that are taken too high make sets too small.
//!
//! **A guarantee for known noise.** With the unbiased choice and [`Assurance::Guaranteed`], the threshold is the least t with
//! `F(t) ≥ coverage + c`, where c bounds the mean of `sup_t (F(t) − true F(t))` ([`Transition::deviation`]). Then new rows are covered
//! with probability at least `coverage`, on average over calibration samples of any size, if the rates are those given and the noise
//! depends on the row through its class alone.

use super::calibrate::Conformal;
use super::check::{check_probabilities, check_uniforms};
use super::config::{ScoreKind, ThresholdKind};
use super::predictor::SetPredictor;
use super::ranking::Scratch;
use super::threshold::Thresholds;
use crate::error::{Error, Result, check_length};
use crate::matrix::Matrix;
use crate::noise_model::Transition;

/// How much of the sampling error of thresholds for true classes is allowed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Assurance {
    /// None: the coverage is neither more nor less than asked for, up to that error.
    #[default]
    Estimated,
    /// All: the coverage is at least what is asked for, and sets are larger.
    Guaranteed,
}

impl Conformal {
    /// Thresholds for true classes from rows that the model was not trained on, with noise in their labels that is known. A guarantee
    /// is for one threshold, not for one a class. `uniforms` as in [`Conformal::scores`].
    pub fn calibrate_known_noise<T: Copy + Into<f64>>(
        &self,
        probabilities: Matrix<'_, T>,
        labels: &[u32],
        noise: &Transition,
        assurance: Assurance,
        uniforms: &[f64],
    ) -> Result<SetPredictor> {
        check_length("classes of the noise", noise.classes(), probabilities.columns())?;
        let weights = noise.unbiased_weights(labels)?;
        let weights = Matrix::new(&weights, noise.classes())?;
        let more = match assurance {
            Assurance::Estimated => 0.0,
            Assurance::Guaranteed if self.config().thresholds == ThresholdKind::PerClass => {
                return Err(Error::Invalid {
                    what: "assurance",
                    reason: "a guarantee is for one threshold; leave it out, or do not ask for one a class".into(),
                });
            }
            Assurance::Guaranteed => noise.deviation(labels)?,
        };
        self.calibrate_weighted(probabilities, weights, more, uniforms)
    }

    /// Thresholds from rows that the model was not trained on; `weights`, `[rows, classes]`, say what is known of their true classes.
    /// `uniforms` as in [`Conformal::scores`].
    pub fn calibrate_corrected<T: Copy + Into<f64>>(
        &self,
        probabilities: Matrix<'_, T>,
        weights: Matrix<'_, f32>,
        uniforms: &[f64],
    ) -> Result<SetPredictor> {
        self.calibrate_weighted(probabilities, weights, 0.0, uniforms)
    }

    /// With a coverage that is larger by `more`.
    fn calibrate_weighted<T: Copy + Into<f64>>(
        &self,
        probabilities: Matrix<'_, T>,
        weights: Matrix<'_, f32>,
        more: f64,
        uniforms: &[f64],
    ) -> Result<SetPredictor> {
        let (rows, classes) = (probabilities.rows(), probabilities.columns());
        check_length("rows of weights against rows of probabilities", rows, weights.rows())?;
        check_length("columns of weights against classes", classes, weights.columns())?;
        check_probabilities(probabilities)?;
        if let Some(at) = weights.values().iter().position(|weight| !weight.is_finite()) {
            return Err(Error::non_finite("weight", at / classes, at % classes, f64::from(weights.values()[at])));
        }
        if self.config().score == ScoreKind::ApsRandomised {
            check_uniforms(uniforms, rows)?;
        }
        if rows == 0 {
            return Err(Error::Empty { what: "the calibration set" });
        }
        let mut scratch = Scratch::default();
        // A class that has no part in a row does not move its threshold.
        let mut scored = |class: usize| -> Vec<(f64, f64)> {
            let rows = probabilities.iter_rows().zip(weights.iter_rows()).enumerate();
            rows.filter(|(_, (_, weights))| weights[class] != 0.0)
                .map(|(i, (row, weights))| {
                    (self.score(row, class, i, uniforms, &mut scratch), f64::from(weights[class]))
                })
                .collect()
        };
        let coverage = self.config().coverage + more;
        // Too few rows for the coverage, as with clean labels; unbiased weights of a rare class may even add up to less than none.
        let threshold = |scored: &mut [(f64, f64)], of: f64| match coverage * (of + 1.0) {
            share if share > of + 1e-9 => f64::INFINITY,
            share => corrected_threshold(scored, share),
        };
        let thresholds = match self.config().thresholds {
            ThresholdKind::Marginal => {
                let mut all: Vec<(f64, f64)> = (0..classes).flat_map(&mut scored).collect();
                Thresholds::Marginal(threshold(&mut all, rows as f64))
            }
            ThresholdKind::PerClass => {
                let one = |class: usize| {
                    let mut scored = scored(class);
                    let rows = scored.iter().map(|(_, weight)| weight).sum();
                    threshold(&mut scored, rows)
                };
                Thresholds::PerClass((0..classes).map(one).collect())
            }
        };
        Ok(SetPredictor { config: self.config().clone(), classes, thresholds })
    }
}

/// The least score at which the weights of all scores up to it reach `share`, or +∞ if they never do. Orders `scored`, pairs of
/// a score and its weight.
pub fn corrected_threshold(scored: &mut [(f64, f64)], share: f64) -> f64 {
    scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    // Sums of thousands of weights err in the last digits; ranks that are reached exactly must count as reached.
    let reached = share - share.abs() * 1e-12;
    let mut sum = 0.0;
    for equal in scored.chunk_by(|a, b| a.0 == b.0) {
        sum += equal.iter().map(|(_, weight)| weight).sum::<f64>();
        if sum >= reached {
            return equal[0].0;
        }
    }
    f64::INFINITY
}
