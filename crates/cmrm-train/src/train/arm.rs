//! An arm of a training: a base loss, the term added to it, and their state while it trains.

use cmrm::Scalar;
use cmrm::envelope::binary::{BinaryConfig, BinaryEnvelope};
use cmrm::envelope::{Envelope, EnvelopeConfig, RowMemory, RunningMargins, RunningTargets, Start};
use cmrm::error::check_parameter;
use cmrm::loss::{BaseLoss, Loss, LossConfig};
use cmrm::noise_model::Transition;
use serde::{Deserialize, Serialize};

use super::evaluate::ArmScratch;
use crate::error::Result;

/// What is added to the base loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// Nothing: the base arm.
    Base,
    /// The margin envelope.
    Envelope(EnvelopeConfig),
    /// The class-conditional envelope for two classes.
    Binary {
        /// Its settings.
        config: BinaryConfig,
        /// When it is switched on.
        start: Start,
        /// Whether the optimiser's memory is cleared at that moment.
        fresh_optimiser: bool,
    },
}

/// One way to train: a base loss and what is added to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Name in reports and files.
    pub name: String,
    /// The base loss.
    pub loss: LossConfig,
    /// What is added.
    pub term: Term,
    /// Seed of the initial weights; the training's own if absent.
    pub seed: Option<u64>,
    /// How classes are observed, for a loss that needs to know ([`LossConfig::needs_transition`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<Transition>,
}

impl Arm {
    /// The base loss alone.
    pub fn base(loss: LossConfig) -> Self {
        Arm { name: "base".into(), loss, term: Term::Base, seed: None, transition: None }
    }

    /// The base loss inside an envelope.
    pub fn envelope(name: impl Into<String>, loss: LossConfig, config: EnvelopeConfig) -> Self {
        Arm { name: name.into(), term: Term::Envelope(config), ..Arm::base(loss) }
    }

    /// The same for labels with this noise, if the loss needs to know it.
    #[must_use]
    pub fn with_transition(self, transition: Option<&Transition>) -> Self {
        let transition = transition.filter(|_| self.loss.needs_transition()).cloned();
        Arm { transition, ..self }
    }
}

/// The checked form of a [`Term`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum CheckedTerm {
    Base,
    Envelope(Envelope),
    Binary(BinaryEnvelope),
}

impl CheckedTerm {
    /// The margin envelope, if that is what the term is and it is on.
    pub fn envelope(self, on: bool) -> Option<Envelope> {
        match self {
            CheckedTerm::Envelope(envelope) if on => Some(envelope),
            _ => None,
        }
    }
}

/// An arm in training.
#[derive(Debug)]
pub(crate) struct ArmState<T> {
    pub loss: BaseLoss,
    pub term: CheckedTerm,
    /// First epoch with the term on; nothing as long as an onset is awaited.
    pub start: Option<usize>,
    /// How far the training rows must be ahead of those held back for the term to come on, where that decides.
    pub onset: Option<f64>,
    /// Whether there is a term and it may start before the last epoch has passed.
    pub comes_on: bool,
    pub fresh_optimiser: bool,
    pub scratch: ArmScratch<T>,
    /// What is remembered of the training rows from one epoch to the next, if the loss or the term reads any of it.
    pub memory: Option<RowMemory<T>>,
}

impl<T: Scalar> ArmState<T> {
    /// `sees_onset` says whether learning by heart can be told from held-back rows.
    pub fn new(arm: &Arm, class_counts: &[f64], rows: usize, epochs: usize, sees_onset: bool) -> Result<Self> {
        let loss = arm.loss.validate_with(class_counts, arm.transition.as_ref())?;
        let (term, start, fresh_optimiser) = match arm.term {
            Term::Base => (CheckedTerm::Base, Start::Epoch(0), false),
            Term::Envelope(config) => (CheckedTerm::Envelope(config.validate()?), config.start, config.fresh_optimiser),
            Term::Binary { config, start, fresh_optimiser } => {
                let classes = class_counts.len();
                check_parameter("classes of the binary envelope", classes as f64, classes == 2, "two classes")?;
                check_no_targets(&arm.loss, "0 with the binary envelope, which remembers nothing of the rows")?;
                (CheckedTerm::Binary(config.validate()?), start, fresh_optimiser)
            }
        };
        let (start, onset) = match start {
            Start::Onset(gap) if sees_onset => (None, Some(gap)),
            start => (Some(start.first_epoch(epochs)), None),
        };
        let comes_on = !matches!(term, CheckedTerm::Base) && start.is_none_or(|start| start < epochs);
        let running = match arm.term {
            Term::Envelope(EnvelopeConfig { running: Some(beta), .. }) if comes_on => {
                Some(RunningMargins::new(rows, beta))
            }
            _ => None,
        };
        let targets = Loss::<T>::target_momentum(&loss).map(|_| RunningTargets::new(rows, class_counts.len()));
        let remembers = running.is_some() || targets.is_some();
        let memory = remembers.then_some(RowMemory { running, targets, frozen: None });
        Ok(ArmState { loss, term, start, onset, comes_on, fresh_optimiser, scratch: ArmScratch::default(), memory })
    }

    /// Whether part of the term is found from the margins and then held fixed: weights of the base loss, fade or limit.
    pub fn has_filter(&self) -> bool {
        match &self.term {
            CheckedTerm::Envelope(envelope) => {
                let EnvelopeConfig { filter_base, fade, limit, .. } = envelope.config();
                *filter_base || fade.is_some() || limit.is_some()
            }
            CheckedTerm::Base | CheckedTerm::Binary(_) => false,
        }
    }

    /// Whether the term is on in `epoch`.
    pub fn is_on(&self, epoch: usize) -> bool {
        self.comes_on && self.start.is_some_and(|start| epoch >= start)
    }

    /// Whether the term waits for the onset of learning by heart.
    pub fn awaits_onset(&self) -> bool {
        self.comes_on && self.start.is_none()
    }

    /// Whether `epoch` is the one that switches the term on and clears the optimiser.
    pub fn clears_optimiser(&self, epoch: usize) -> bool {
        self.fresh_optimiser && epoch > 0 && self.start == Some(epoch) && self.is_on(epoch)
    }
}

/// Refuses a loss whose targets move while it trains, where they cannot be kept.
pub(super) fn check_no_targets(loss: &LossConfig, expected: &'static str) -> Result<()> {
    if let LossConfig::Elr { lambda, .. } = *loss {
        check_parameter("lambda of elr", lambda, lambda == 0.0, expected)?;
    }
    Ok(())
}
