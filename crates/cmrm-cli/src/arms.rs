//! The arms of a fit: the base loss alone, and inside the envelope.

use cmrm_train::train::Arm;

use crate::config::FitConfig;

/// Name of the arm without an envelope.
pub const BASE: &str = "base";

/// The envelope's arm last; before it the base arm, unless it is unwanted.
pub fn arms(config: &FitConfig) -> Vec<Arm> {
    let mut arms = Vec::new();
    if config.base {
        arms.push(Arm::base(config.loss));
    }
    arms.push(Arm::envelope(config.preset.name(), config.loss, config.envelope()));
    arms
}
