//! The settings of a fit: defaults, then a TOML file, then flags.

use std::path::PathBuf;

use cmrm::Rows;
use cmrm::envelope::{EnvelopeConfig, Fade, Filter, Preset, PresetOverrides, Scale, Scope, Start};
use cmrm::loss::LossConfig;
use cmrm::noise::NoiseConfig;
use cmrm_data::preprocess::PreprocessOptions;
use cmrm_data::read::Format;
use cmrm_train::model::{Head, Init, ModelConfig};
use cmrm_train::optim::{AdamConfig, AdamWConfig, Clip, LbfgsConfig, OptimiserConfig, SgdConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{ClassWeights, Method, Selection, TrainConfig};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::kinds::{Keep, LearnerKind, ModelKind, OptimiserKind, RowOrder};
use crate::transition::TransitionSetting;

/// Everything that decides the result of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FitConfig {
    /// What to learn from: a file, a folder or pattern of files, `-` for standard input, or a data set of the catalogue.
    pub data: String,
    /// Column of the labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A file of labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Column that names the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The format of the data; detected if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The character between cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// Whether the first row names no columns.
    pub no_header: bool,
    /// Lines to skip at the start of a text file.
    #[serde(skip_serializing_if = "is_default")]
    pub skip_lines: usize,
    /// Whether a cell that is not of its column's kind is refused, instead of a few of them counting as missing.
    #[serde(skip_serializing_if = "is_default")]
    pub strict: bool,
    /// A file to test on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Whether rows without a label are kept aside.
    pub hold_out_unlabelled: bool,
    /// Noise to inject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseConfig>,
    /// In which order rows are taken.
    #[serde(skip_serializing_if = "is_default")]
    pub row_order: RowOrder,
    /// Share of the rows to test on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_share: Option<f64>,
    /// Share of the training rows for validation and calibration; that of the model if absent
    /// ([`FitConfig::validation_share`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_share: Option<f64>,
    /// Where the settings of the envelope come from.
    pub preset: Preset,
    /// Weight of the envelope, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Share of the margins below the threshold, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Width of the soft filter, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Share of the epochs before the envelope is on, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// How margins become weights, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Whether each class has a threshold, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// At 1 a threshold of probabilities has no ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<f64>,
    /// What the weight is multiplied by, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Whether the filter acts on the base loss too, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_base: Option<bool>,
    /// Memory β of a row's running margin, over the preset; at 0 there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<f64>,
    /// Limit ρ of the risk's gradient by the base loss's, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// A threshold for each of two classes, on probabilities; the temperature plays no part then.
    pub class_conditional: bool,
    /// Whether the base arm is trained too.
    pub base: bool,
    /// The model; as the other settings have it if absent ([`FitConfig::model`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelKind>,
    /// Kinds of learners that the model `auto` may let vote; those that suit the rows if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learners: Option<Vec<LearnerKind>>,
    /// Seconds that a vote of learners may take; as many as it needs if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Share of hidden units dropped in a step.
    pub dropout: f64,
    /// The optimiser; that of the model if absent ([`FitConfig::optimiser`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimiser: Option<OptimiserKind>,
    /// Learning rate.
    pub learning_rate: f64,
    /// Passes over the rows, or the most iterations of L-BFGS; those of the model if absent ([`FitConfig::epochs`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<usize>,
    /// Steps of the optimiser, in place of epochs: the rows decide how many epochs that is ([`FitConfig::for_rows`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// L-BFGS ends when no entry of the gradient is larger. The gradient is that of the mean loss of a row plus the penalty.
    pub tolerance: f64,
    /// Rows in a batch; 0 for all at once.
    pub batch: usize,
    /// Penalty on the weights: half of this times the sum of their squares, beside the mean loss of a row; that of the
    /// model if absent ([`FitConfig::l2`]), which for a linear model the rows decide ([`crate::with_penalty`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2: Option<f64>,
    /// The optimiser's decay; its usual one if absent ([`FitConfig::weight_decay`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f64>,
    /// Bound on the norm of a gradient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
    /// Whether classes weigh alike.
    pub balance_classes: bool,
    /// Which epoch's model is kept; as the model and the rows have it if absent ([`FitConfig::keep`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Epochs without a better one before the training ends, 0 for no early end; the best is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<usize>,
    /// Seed of splits, noise, weights and order.
    pub seed: u64,
    /// Base loss: the method.
    #[serde(alias = "method")]
    pub loss: LossConfig,
    /// How the classes are observed, for a method that needs to know; estimated if absent ([`crate::Fit::decide_transition`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<TransitionSetting>,
    /// How the envelope withdraws where few labels are in doubt, over the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fade: Option<Fade>,
    /// How the learning rate changes; as the model's training does if absent ([`FitConfig::schedule`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleConfig>,
    /// How columns become numbers.
    pub preprocess: PreprocessOptions,
}

impl Default for FitConfig {
    fn default() -> Self {
        FitConfig {
            data: String::new(),
            label: None,
            labels: None,
            id: None,
            format: None,
            delimiter: None,
            no_header: false,
            skip_lines: 0,
            strict: false,
            test: None,
            hold_out_unlabelled: false,
            noise: None,
            row_order: RowOrder::Given,
            test_share: None,
            validation_share: None,
            preset: Preset::Robust,
            lambda: None,
            alpha: None,
            temperature: None,
            start: None,
            filter: None,
            scope: None,
            ceiling: None,
            scale: None,
            filter_base: None,
            running: None,
            limit: None,
            class_conditional: false,
            base: true,
            model: None,
            learners: None,
            budget: None,
            hidden: vec![128, 64],
            dropout: 0.0,
            optimiser: None,
            learning_rate: 1e-3,
            epochs: None,
            steps: None,
            tolerance: 1e-4,
            batch: 128,
            l2: None,
            weight_decay: None,
            clip_norm: None,
            balance_classes: false,
            keep: None,
            patience: None,
            seed: 0,
            loss: LossConfig::CrossEntropy,
            transition: None,
            fade: None,
            schedule: None,
            preprocess: PreprocessOptions::default(),
        }
    }
}

impl FitConfig {
    /// The defaults, for the data at `path` with its labels in the column `label`. A run says so in its settings, and
    /// `cmrm review` reads the rows from there.
    pub fn for_path(path: impl Into<String>, label: impl Into<String>) -> Self {
        FitConfig { data: path.into(), label: Some(label.into()), ..FitConfig::default() }
    }

    /// Reads settings from TOML; a key that is not known is refused with the closest one that is.
    pub fn from_toml(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            let words = error.to_string();
            let words = match did_you_mean(error.message()) {
                // The list of all that is known would bury the one that was meant.
                Some(near) => {
                    format!("{}, did you mean '{near}'?", words.split(", expected ").next().unwrap_or_default())
                }
                None => words,
            };
            Error::refused(words.trim_end())
        })
    }

    /// The settings as TOML; only what rows are to decide is left open.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(&self.resolved()).map_err(|error| Error::Internal(format!("settings as TOML: {error}")))
    }

    /// Share of the rows to test on.
    pub fn test_share(&self, has_test: bool) -> f64 {
        self.test_share.unwrap_or(if self.noise.is_some() && !has_test { 0.2 } else { 0.0 })
    }

    /// The envelope: the preset with whatever was set over it.
    pub fn envelope(&self) -> EnvelopeConfig {
        let overrides = PresetOverrides {
            lambda: self.lambda,
            alpha: self.alpha,
            temperature: self.temperature,
            start: self.start.map(Start::Fraction).or(self.usual_start()),
            filter: self.filter,
            scope: self.scope,
            ceiling: self.ceiling,
            scale: self.scale,
            // Without its weight the envelope is off as a whole, unless told otherwise.
            filter_base: self.filter_base.or((self.lambda == Some(0.0)).then_some(false)),
            running: self.running,
            limit: self.limit,
            fade: self.fade.or(self.usual_fade()),
            ..PresetOverrides::none(self.preset)
        };
        overrides.config(&self.loss)
    }

    /// L-BFGS to a tolerance of the gradient.
    pub(crate) fn lbfgs(&self, tolerance: f64) -> LbfgsConfig {
        LbfgsConfig {
            gradient_tolerance: tolerance,
            // Near an optimum the loss goes by the square of the gradient. At a kink of the envelope, where the gradient
            // does not vanish, this is what ends it.
            function_tolerance: 100.0 * self.tolerance.powi(2),
            max_search_evaluations: SEARCH_EVALUATIONS,
            ..LbfgsConfig::default()
        }
    }

    /// L-BFGS for trainings that are only compared. The gradient of a column that few rows have is small from the start, so that of sparse
    /// rows the loss says when to stop.
    pub(crate) fn lbfgs_to_compare(&self, rows: Rows<'_, f32>) -> LbfgsConfig {
        let config = self.lbfgs(GRADIENT_TO_COMPARE.max(self.tolerance));
        match rows {
            Rows::Dense(_) => config,
            Rows::Sparse(_) => LbfgsConfig { gradient_tolerance: 0.0, function_tolerance: LOSS_TO_COMPARE, ..config },
        }
    }

    /// What the engine takes.
    pub fn train_config(&self) -> TrainConfig {
        let (hidden, head, init) = match self.model() {
            ModelKind::Linear => (Vec::new(), Head::Linear, Init::Zeros),
            ModelKind::Svm => (Vec::new(), Head::Score, Init::Zeros),
            ModelKind::Cosine => (Vec::new(), Head::Cosine, Init::Kaiming),
            // Of a vote, its network.
            _ => (self.hidden.clone(), Head::Linear, Init::Kaiming),
        };
        let weight_decay = self.weight_decay();
        let optimiser = match self.optimiser() {
            OptimiserKind::Adam => OptimiserConfig::Adam(AdamConfig { weight_decay, ..AdamConfig::default() }),
            OptimiserKind::Adamw => OptimiserConfig::AdamW(AdamWConfig { weight_decay, ..AdamWConfig::default() }),
            _ => OptimiserConfig::Sgd(SgdConfig { momentum: 0.9, weight_decay, ..SgdConfig::default() }),
        };
        let method = match self.optimiser() {
            OptimiserKind::Lbfgs => Method::FullBatch(self.lbfgs(self.tolerance)),
            _ => Method::Stochastic {
                optimiser,
                learning_rate: self.learning_rate,
                schedule: self.schedule(),
                batch_rows: (self.batch > 0).then_some(self.batch),
            },
        };
        TrainConfig {
            model: ModelConfig { hidden, head, dropout: self.dropout, init },
            method,
            epochs: self.epochs().unwrap_or(UNDECIDED_EPOCHS),
            l2: self.l2().unwrap_or(UNDECIDED_L2),
            clip: self.clip_norm.map(Clip::Norm),
            class_weights: if self.balance_classes { ClassWeights::Balanced } else { ClassWeights::Equal },
            selection: match self.keep() {
                Some(Keep::Best) => Selection::Best { patience: self.patience.unwrap_or(0) },
                Some(Keep::Last) | None => Selection::Last,
            },
            seed: self.seed,
            keep_history: false,
        }
    }
}

/// A step that lowers the loss is found in a few evaluations or, at one of the envelope's kinks, not at all: there the
/// engine's own patience took twice as long as everything before.
const SEARCH_EVALUATIONS: u64 = 8;

/// Tolerance of the gradient, or of the loss, for trainings that are only compared: tighter ones change no choice.
const GRADIENT_TO_COMPARE: f64 = 1e-3;
const LOSS_TO_COMPARE: f64 = 1e-3;

/// Stands in for epochs that rows are to decide, as long as they have not.
const UNDECIDED_EPOCHS: usize = 1;

/// Stands in for a penalty that rows are to decide, as long as they have not.
const UNDECIDED_L2: f64 = 0.01;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// From serde's "unknown field `x`, expected one of `a`, `b`": the known field closest to `x`.
fn did_you_mean(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field ").or_else(|| message.strip_prefix("unknown variant "))?;
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let wrong = quoted.next()?;
    let known: Vec<&str> = quoted.collect();
    cmrm_data::table::closest(wrong, &known).into_iter().next()
}
