//! Linear probes on frozen features with human labels: settings by noisy cross-validation, then one fit.

mod data;
mod train;

pub(crate) use data::Probed;
pub(crate) use train::{ProbeGroup, choose, fit, settings};

use cmrm::envelope::{EnvelopeConfig, Preset, Start};
use cmrm::loss::LossConfig;
use cmrm_train::train::Term;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A table of linear probes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Probe {
    /// The data set, for names.
    pub set: String,
    /// Number of classes.
    pub classes: usize,
    /// Files of features, in the folder of the data.
    pub files: FeatureFiles,
    /// The kinds of human labels: a name, and the column of the file of labels.
    pub variants: Vec<Variant>,
    /// The factor of `½‖W‖²` is one over this.
    pub c: f64,
    /// Most iterations of L-BFGS.
    pub iterations: usize,
    /// Parts of the cross-validation.
    pub folds: usize,
    /// Rows of each class that calibrate the sets.
    pub calibration: usize,
    /// The envelopes, besides the base arm.
    pub arms: Vec<ProbeArm>,
}

/// Where features and labels are, relative to the folder of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FeatureFiles {
    /// Training rows: arrays one after the other.
    pub train: Vec<String>,
    /// Test rows.
    pub test: String,
    /// Clean labels of the test rows.
    pub test_labels: String,
    /// A table with a column of labels for each variant.
    pub labels: String,
}

/// A kind of human labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its column.
    pub column: String,
}

/// An envelope with the settings to choose from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeArm {
    /// Its name in tables.
    pub name: String,
    /// The form of the envelope.
    pub preset: Preset,
    /// Values of λ; the preset's own if empty.
    #[serde(default)]
    pub lambda: Vec<f64>,
    /// Values of α; the preset's own if empty.
    #[serde(default)]
    pub alpha: Vec<f64>,
}

impl ProbeArm {
    /// All settings, λ by λ.
    pub(crate) fn settings(&self) -> Vec<EnvelopeConfig> {
        let own = self.preset.config(&LossConfig::CrossEntropy);
        // The authors' code for features has no warm start; `robust` keeps the one that is part of it.
        let start = if self.preset == Preset::Robust { own.start } else { Start::Epoch(0) };
        let own = EnvelopeConfig { start, fresh_optimiser: false, ..own };
        let or = |values: &[f64], own: f64| if values.is_empty() { vec![own] } else { values.to_vec() };
        let alphas = or(&self.alpha, own.alpha);
        let pairs = or(&self.lambda, own.lambda).into_iter();
        pairs.flat_map(|lambda| alphas.iter().map(move |&alpha| EnvelopeConfig { lambda, alpha, ..own })).collect()
    }
}

impl Probe {
    /// Refuses settings out of range.
    pub(crate) fn check(&self) -> Result<()> {
        let fits =
            self.c > 0.0 && self.folds >= 2 && self.iterations >= 1 && self.calibration >= 1 && self.classes >= 2;
        if !fits || self.variants.is_empty() || self.files.train.is_empty() {
            return Err(Error::Unknown(
                "c, folds (2 or more), iterations, calibration, classes, variants or files".into(),
            ));
        }
        for setting in self.arms.iter().flat_map(ProbeArm::settings) {
            setting.validate()?;
        }
        Ok(())
    }

    fn fit(&self, variant: &Variant, terms: Vec<Term>, fold: Option<usize>) -> ProbeCell {
        ProbeCell {
            set: self.set.clone(),
            files: self.files.clone(),
            classes: self.classes,
            column: variant.column.clone(),
            c: self.c,
            iterations: self.iterations,
            folds: self.folds,
            calibration: self.calibration,
            fold,
            terms,
        }
    }

    /// The base arm.
    pub(crate) fn base(&self, variant: &Variant) -> ProbeCell {
        self.fit(variant, vec![Term::Base], None)
    }

    /// One part of an arm's cross-validation: all its settings.
    pub(crate) fn fold(&self, variant: &Variant, arm: &ProbeArm, fold: usize) -> ProbeCell {
        self.fit(variant, arm.settings().into_iter().map(Term::Envelope).collect(), Some(fold))
    }

    /// An arm with one of its settings, on all rows.
    pub(crate) fn chosen(&self, variant: &Variant, setting: EnvelopeConfig) -> ProbeCell {
        self.fit(variant, vec![Term::Envelope(setting)], None)
    }
}

/// One or several fits of the same rows, each from the base's solution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeCell {
    /// The data set, for names.
    pub set: String,
    /// Where the data came from.
    pub files: FeatureFiles,
    /// Number of classes.
    pub classes: usize,
    /// The column of observed labels.
    pub column: String,
    /// One over the factor of `½‖W‖²`.
    pub c: f64,
    /// Most iterations.
    pub iterations: usize,
    /// Parts of the cross-validation.
    pub folds: usize,
    /// Rows of each class that calibrate the sets.
    pub calibration: usize,
    /// The part that is held out; none trains on all rows and is judged by clean test labels.
    pub fold: Option<usize>,
    /// What is added to cross-entropy, one fit each.
    pub terms: Vec<Term>,
}
