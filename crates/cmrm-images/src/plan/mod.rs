//! Plans: which arms are trained on which data, for which seeds, and in which order.

mod resolve;

pub use resolve::{Fork, RunSpec};

use std::path::{Path, PathBuf};

use cmrm::envelope::PresetOverrides;
use cmrm::loss::LossConfig;
use serde::{Deserialize, Serialize};

use crate::data::{Augmentation, Normalisation};
use crate::error::{Error, Result};
use crate::network::Architecture;

/// How numbers are held while the network computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Single precision throughout.
    F32,
    /// Single precision; convolutions on a card may round their factors to ten bits, as PyTorch does by itself.
    #[default]
    Tf32,
    /// Convolutions in bfloat16; normalisation, head, loss and update in single precision.
    Mixed,
}

impl Precision {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Tf32 => "tf32",
            Precision::Mixed => "mixed",
        }
    }
}

/// A plan as its TOML file states it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// Name of the folder the runs go to; the file's name if not stated.
    #[serde(default)]
    pub name: String,
    /// Folder of the data, relative to the plan's.
    pub data: PathBuf,
    /// Pixels of a side, to which the images of a folder of files are scaled and cut; needed where they differ in size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// File of decisions on the training images, as `cmrm review --export` writes it, relative to the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<PathBuf>,
    /// Which network.
    pub network: Architecture,
    /// Epochs of every arm that states none.
    pub epochs: usize,
    /// Images a step. Every step has as many: what is left at the end of an epoch waits for the next.
    #[serde(default = "default_batch")]
    pub batch: usize,
    /// How numbers are held.
    #[serde(default)]
    pub precision: Precision,
    /// What images are centred and scaled by.
    #[serde(default)]
    pub normalise: Normalisation,
    /// What happens to training images.
    #[serde(default = "default_augmentation")]
    pub augment: Augmentation,
    /// Noise in the training labels, as `superclass:0.2`, or `none`.
    #[serde(default = "default_noise")]
    pub noise: String,
    /// Seeds of weights, order and noise: one run each.
    #[serde(default = "default_seeds")]
    pub seeds: Vec<u64>,
    /// Learning rates: from which epoch on, and which.
    pub rates: Vec<(usize, f64)>,
    /// Epochs over which the rate first rises in equal parts.
    #[serde(default, alias = "warmup_epochs")]
    pub warmup_epochs: usize,
    /// Momentum of SGD.
    #[serde(default = "default_momentum")]
    pub momentum: f64,
    /// Weight decay, on all parameters.
    #[serde(default = "default_decay", alias = "weight_decay")]
    pub weight_decay: f64,
    /// Judge on the test images after every so many epochs, besides the last; 0 for the last alone. Nothing is selected
    /// by it.
    #[serde(default, alias = "judge_every")]
    pub judge_every: usize,
    /// What is compared.
    #[serde(rename = "arm")]
    pub arms: Vec<ArmPlan>,
}

/// An arm: a loss, perhaps an envelope, and what differs from the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmPlan {
    /// Its name.
    pub name: String,
    /// The base loss.
    #[serde(default = "default_loss")]
    pub loss: LossConfig,
    /// The envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<PresetOverrides>,
    /// Goes on from another arm's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkPlan>,
    /// Epochs in all, those before a fork included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epochs: Option<usize>,
    /// Noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
    /// Seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Vec<u64>>,
    /// Learning rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<Vec<(usize, f64)>>,
    /// Arms of a lower rank start first.
    #[serde(default)]
    pub rank: i64,
    /// Whether its kernels go before those of other runs on the card.
    #[serde(default)]
    pub urgent: bool,
}

/// Whose state an arm goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkPlan {
    /// The other arm.
    pub from: String,
    /// How many epochs that arm has then done.
    pub epoch: usize,
}

impl Plan {
    /// Reads a plan. Relative paths are taken relative to the plan's own folder.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::in_file(path, error))?;
        let mut plan: Plan = toml::from_str(&text).map_err(|error| Error::in_file(path, error))?;
        if plan.name.is_empty() {
            plan.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        }
        if let Some(folder) = path.parent() {
            // Absolute, so that a copy of the plan in a run's folder names the same data.
            for named in std::iter::once(&mut plan.data).chain(&mut plan.decisions) {
                let path = folder.join(&*named);
                *named = std::path::absolute(&path).map_err(|error| Error::in_file(&path, error))?;
            }
        }
        plan.runs().map_err(|error| Error::in_file(path, error))?;
        Ok(plan)
    }
}

fn default_batch() -> usize {
    128
}
fn default_augmentation() -> Augmentation {
    Augmentation { padding: 4, flip: true }
}
fn default_noise() -> String {
    "none".into()
}
fn default_seeds() -> Vec<u64> {
    vec![0]
}
fn default_momentum() -> f64 {
    0.9
}
fn default_decay() -> f64 {
    2e-4
}
fn default_loss() -> LossConfig {
    LossConfig::CrossEntropy
}
