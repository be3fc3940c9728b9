//! The arms of a fit: the base loss alone, and inside the envelope.

use cmrm::envelope::binary::BinaryConfig;
use cmrm::envelope::{EnvelopeConfig, Preset};
use cmrm_train::train::{Arm, Term};

use crate::config::FitConfig;

/// The envelope's arm last; before it the base arm, unless it is unwanted.
pub fn arms(config: &FitConfig) -> Vec<Arm> {
    let mut arms = Vec::new();
    if config.base {
        arms.push(base_arm(config));
    }
    arms.push(envelope_arm(config, config.preset.name(), config.envelope()));
    arms
}

/// The base loss alone.
pub fn base_arm(config: &FitConfig) -> Arm {
    Arm::base(config.loss).with_transition(config.transition_matrix())
}

/// The base loss inside an envelope of the run's form: one threshold, or one for each of two classes.
pub fn envelope_arm(config: &FitConfig, name: &str, envelope: EnvelopeConfig) -> Arm {
    let arm = Arm::envelope(name, config.loss, envelope).with_transition(config.transition_matrix());
    if !config.class_conditional {
        return arm;
    }
    let EnvelopeConfig { mut lambda, alpha, start, fresh_optimiser, .. } = envelope;
    // The weight of `robust` counts as far as labels are in doubt; this form knows no doubt, and its own weight is one.
    if config.preset == Preset::Robust && config.lambda.is_none() && lambda == config.usual_lambda() {
        lambda = 1.0;
    }
    let binary = match config.preset {
        Preset::Authors => BinaryConfig::authors(lambda, lambda, alpha, alpha),
        Preset::Paper | Preset::Robust => BinaryConfig::paper(lambda, lambda, alpha, alpha),
    };
    Arm { term: Term::Binary { config: binary, start, fresh_optimiser }, ..arm }
}
