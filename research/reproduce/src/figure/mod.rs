//! Figures: one arm and its base, trained once more with a record of every step.

mod binary;
mod data;
mod probe;

pub(crate) use data::{FigureGroup, Source};

use cmrm::envelope::EnvelopeConfig;
use cmrm_train::train::Term;
use serde::{Deserialize, Serialize};

use crate::binary::{ArmName, BinaryCell};
use crate::error::{Error, Result};
use crate::experiment::{Experiment, find};
use crate::probe::ProbeCell;

/// The figures of one row of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figures {
    /// The experiment of the table.
    pub of: String,
    /// The loss, or the kind of labels.
    pub row: String,
    /// The arm.
    pub arm: String,
    /// The seed, where there is one.
    #[serde(default)]
    pub seed: u64,
    /// λ of a probe's arm.
    pub lambda: Option<f64>,
    /// α of a probe's arm.
    pub alpha: Option<f64>,
    /// Values of α to show accuracy against.
    #[serde(default)]
    pub alphas: Vec<f64>,
    /// Values of λ to show accuracy against.
    #[serde(default)]
    pub lambdas: Vec<f64>,
}

/// What a set of figures is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureCell {
    /// An arm of a binary table and its fair base.
    Binary(BinaryCell),
    /// A probe and its base, and further values of α and λ.
    Probe {
        /// The fit.
        cell: ProbeCell,
        /// Values of α.
        alphas: Vec<f64>,
        /// Values of λ.
        lambdas: Vec<f64>,
    },
}

impl Figures {
    /// Refuses a table, row or arm that does not exist.
    pub(crate) fn check(&self) -> Result<()> {
        self.resolve().map(|_| ())
    }

    /// The table, and what the figures are made from.
    pub(crate) fn resolve(&self) -> Result<(Experiment, FigureCell)> {
        let table = find(&self.of)?;
        let unknown = |what: &str, name: &str| Error::Unknown(format!("{} has no {what} '{name}'", self.of));
        let cell = if let Some(binary) = &table.binary {
            let row = binary.rows.iter().find(|row| row.name == self.row).ok_or_else(|| unknown("loss", &self.row))?;
            let arm = ArmName::ALL.into_iter().find(|arm| arm.name() == self.arm && arm.is_envelope());
            let arm = arm.ok_or_else(|| unknown("envelope", &self.arm))?;
            FigureCell::Binary(row.cell(&binary.data, binary.noise, arm, self.seed))
        } else if let Some(probe) = &table.probe {
            let variant = probe.variants.iter().find(|variant| variant.name == self.row);
            let variant = variant.ok_or_else(|| unknown("kind of labels", &self.row))?;
            let arm = probe.arms.iter().find(|arm| arm.name == self.arm);
            let own = arm.ok_or_else(|| unknown("arm", &self.arm))?.settings()[0];
            let (lambda, alpha) = (self.lambda.unwrap_or(own.lambda), self.alpha.unwrap_or(own.alpha));
            let setting = EnvelopeConfig { lambda, alpha, ..own };
            setting.validate()?;
            let (alphas, lambdas) = (self.alphas.clone(), self.lambdas.clone());
            FigureCell::Probe { cell: probe.chosen(variant, setting), alphas, lambdas }
        } else {
            return Err(unknown("table of trainings", "binary or probe"));
        };
        Ok((table, cell))
    }
}

impl FigureCell {
    /// The settings of the envelope, where it is one by margins.
    fn envelope(&self) -> Option<EnvelopeConfig> {
        let term = match self {
            FigureCell::Binary(cell) => cell.term,
            FigureCell::Probe { cell, .. } => cell.terms.first().copied()?,
        };
        match term {
            Term::Envelope(config) => Some(config),
            _ => None,
        }
    }
}
