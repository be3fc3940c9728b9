//! What to tell someone whose training stopped at a number that is not finite.

use cmrm::Error as MethodError;
use cmrm::Scalar;
use cmrm::envelope::{MarginKind, Normaliser};

use super::arm::{ArmState, CheckedTerm};
use super::config::{Method, TrainConfig};
use crate::error::Error;

/// Where training was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub arm: &'a str,
    pub epoch: usize,
    pub batch: usize,
}

/// Turns a non-finite number of a step into an error with place and likely cause; other errors pass through.
pub(super) fn explain<T: Scalar>(error: Error, place: Place<'_>, config: &TrainConfig, arm: &ArmState<T>) -> Error {
    match error {
        Error::Method(source @ MethodError::NonFinite { .. }) => Error::Diverged {
            arm: place.arm.to_owned(),
            epoch: place.epoch,
            batch: place.batch,
            source: Box::new(source),
            cause: likely_cause(config, arm, arm.is_on(place.epoch)),
        },
        other => other,
    }
}

fn likely_cause<T: Scalar>(config: &TrainConfig, arm: &ArmState<T>, on: bool) -> String {
    if let (CheckedTerm::Envelope(envelope), true) = (&arm.term, on) {
        let settings = envelope.config();
        if settings.margin == MarginKind::Logit && settings.normaliser == Normaliser::Weights {
            return format!(
                "an envelope on logits is unbounded below and λ = {} lets it dominate the base loss; lower lambda, or use \
                 the preset robust",
                settings.lambda
            );
        }
    }
    match &config.method {
        Method::Stochastic { learning_rate, .. } => {
            format!(
                "a learning rate of {learning_rate} is too high for these features; lower it, standardise the features, or clip gradients"
            )
        }
        Method::FullBatch(_) => "features that are far from standardised; standardise them, or raise l2".to_owned(),
    }
}
