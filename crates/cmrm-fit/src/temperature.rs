//! How sure of itself a linear model may be: what rows that were held back say, by their observed labels.

use cmrm::Matrix;
use cmrm_train::train::{Method, Trained};
use cmrm_train::vote::{Calibration, brier_score};
use cmrm_train::{Model, Stop};

use crate::defaults::ENOUGH_TO_CHOOSE;
use crate::error::Result;
use crate::fit::Fit;
use crate::kinds::ModelKind;

impl Fit {
    /// The arms, each at its own temperature if they are linear models at their optimum. The penalty that keeps wrong labels
    /// from being learned by heart also leaves such a model less sure than it is right; an envelope lets it doubt labels, and
    /// makes up for that or more. What noise takes from the probability of observed labels is the floor of the calibration,
    /// which is left out: the arms speak of clean ones.
    ///
    /// The rows that decide calibrate prediction sets as well. As with the choice of an epoch, one of a few temperatures is
    /// too little to learn these rows by heart. Fewer rows than an epoch is chosen by decide nothing.
    pub(crate) fn at_their_temperatures(&self, mut arms: Vec<Trained<f32>>) -> Result<Vec<Trained<f32>>> {
        let held = &self.rows.validation;
        let config = self.config.train_config();
        let at_optimum = self.config.model() == ModelKind::Linear && matches!(config.method, Method::FullBatch(_));
        if !at_optimum || held.data.len() < ENOUGH_TO_CHOOSE {
            return Ok(arms);
        }
        let (examples, classes) = (held.examples()?, held.data.classes.len());
        // Classes that weighed alike in the training do so here.
        let weights = examples.combined_weights(&config.class_weights, classes)?;
        for arm in &mut arms {
            let said = |model: &Model<f32>| model.probabilities_in_blocks(examples.x, &Stop::default());
            let temperature = match self.config.transition_matrix() {
                None => {
                    Calibration::fit(&said(&arm.model)?, examples.labels, weights.as_deref(), classes).temperature()
                }
                // Such a model speaks of true classes, and the matrix says how they are observed: no floor is to be found.
                Some(transition) => {
                    let mut best = (f64::INFINITY, 1.0);
                    for temperature in Calibration::TEMPERATURES {
                        let clean = said(&arm.model.clone().at_temperature(f64::from(temperature)))?;
                        let observed = transition.observed_probabilities(Matrix::new(&clean, classes)?)?;
                        let score = brier_score(&observed, examples.labels, weights.as_deref(), classes);
                        if score < best.0 {
                            best = (score, temperature);
                        }
                    }
                    best.1
                }
            };
            arm.model = arm.model.clone().at_temperature(f64::from(temperature));
        }
        Ok(arms)
    }
}
