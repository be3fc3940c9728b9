//! Binary tables: one loss in several arms that share data, start and the first steps.

mod arm;
mod judge;
mod train;

pub use arm::ArmName;
pub(crate) use judge::{METRICS, Metric};
pub(crate) use train::{Group, fork_config, model, seconds_of};

use cmrm::envelope::binary::{BinaryConfig, TailNormaliser};
use cmrm::envelope::{EnvelopeConfig, Preset, Start};
use cmrm::loss::LossConfig;
use cmrm_train::train::Term;
use serde::{Deserialize, Serialize};

use crate::data::TableData;
use crate::error::{Error, Result};

/// Steps of full-batch Adam at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// How many.
    pub steps: usize,
    /// Learning rate.
    pub rate: f64,
    /// Factor of `½‖w‖²`.
    #[serde(default)]
    pub l2: f64,
}

/// The paper's settings of the class-conditional envelope.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tails {
    /// λ⁺.
    pub lambda_plus: f64,
    /// λ⁻.
    pub lambda_minus: f64,
    /// α⁺.
    pub alpha_plus: f64,
    /// α⁻.
    pub alpha_minus: f64,
}

/// A loss of a binary table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LossRow {
    /// The paper's name for it.
    pub name: String,
    /// The loss.
    pub loss: LossConfig,
    /// Widths of the hidden layers; none is the linear machine with one score.
    #[serde(default = "paper_widths")]
    pub hidden: Vec<usize>,
    /// What the authors' base arm gets.
    pub base: Phase,
    /// What precedes the envelope: the base loss alone.
    pub warm: Phase,
    /// What the envelope's arm gets after that, with a fresh optimiser.
    pub envelope: Phase,
    /// Settings of the envelope.
    pub tails: Tails,
    /// The arms.
    #[serde(default = "ArmName::usual")]
    pub arms: Vec<ArmName>,
}

fn paper_widths() -> Vec<usize> {
    vec![512, 512]
}

impl LossRow {
    /// Refuses settings out of range.
    pub(crate) fn check(&self) -> Result<()> {
        self.loss.validate(&[1.0, 1.0])?;
        if self.hidden.is_empty() != (self.loss == LossConfig::Hinge) {
            return Err(Error::Unknown("the hinge loss has no hidden layers, and every other loss has some".into()));
        }
        for phase in [self.base, self.warm, self.envelope] {
            model(&self.hidden, phase, 0).validate()?;
        }
        for arm in ArmName::ALL {
            if let Term::Binary { config, .. } = self.term(arm) {
                config.validate()?;
            }
        }
        Ok(())
    }

    /// What an arm adds to the base loss.
    fn term(&self, arm: ArmName) -> Term {
        let Tails { lambda_plus, lambda_minus, alpha_plus, alpha_minus } = self.tails;
        let paper = BinaryConfig::paper(lambda_plus, lambda_minus, alpha_plus, alpha_minus);
        let authors = BinaryConfig::authors(lambda_plus, lambda_minus, alpha_plus, alpha_minus);
        // The schedule decides when it is on: an arm is a training of its own that starts where the trunk ended.
        let binary = |config| Term::Binary { config, start: Start::Epoch(0), fresh_optimiser: false };
        match arm {
            ArmName::Base | ArmName::BaseWarm | ArmName::BaseFresh => Term::Base,
            // Dead units leave hundreds of rows with one score, and their code divides by them all.
            ArmName::Penalise => binary(BinaryConfig { normaliser: TailNormaliser::TailWithTies, ..authors }),
            ArmName::PenaliseStrict => binary(authors),
            ArmName::Relax => binary(paper),
            ArmName::RelaxTail => binary(BinaryConfig { normaliser: TailNormaliser::Tail, ..paper }),
            ArmName::Robust => Term::Envelope(EnvelopeConfig {
                start: Start::Epoch(0),
                fresh_optimiser: false,
                ..Preset::Robust.config(&self.loss)
            }),
        }
    }

    /// Everything an arm's numbers depend on, but for the data themselves.
    pub(crate) fn cell(&self, data: &TableData, noise: f64, arm: ArmName, seed: u64) -> BinaryCell {
        let (warm, phase) = match arm {
            ArmName::Base => (None, self.base),
            ArmName::BaseWarm => (None, self.warm),
            _ => (Some(self.warm), self.envelope),
        };
        let (loss, hidden, term) = (self.loss, self.hidden.clone(), self.term(arm));
        BinaryCell { data: data.clone(), noise, loss, hidden, warm, phase, term, seed }
    }
}

/// One arm of one loss on one data set by one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryCell {
    /// The data.
    pub data: TableData,
    /// Share of the training labels that are flipped.
    pub noise: f64,
    /// The base loss.
    pub loss: LossConfig,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Steps of the base loss before the optimiser is made fresh; none where there is no restart.
    pub warm: Option<Phase>,
    /// The steps after that.
    pub phase: Phase,
    /// What is added to the loss in them.
    pub term: Term,
    /// Seed of split, noise and weights.
    pub seed: u64,
}
