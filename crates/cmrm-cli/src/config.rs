//! The settings of a fit: defaults, then a TOML file, then flags.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use cmrm::envelope::{EnvelopeConfig, Filter, Preset, Scale, Scope, Start};
use cmrm::loss::LossConfig;
use cmrm::noise::NoiseConfig;
use cmrm_data::preprocess::{MissingCells, PreprocessOptions};
use cmrm_train::model::{Head, Init, ModelConfig};
use cmrm_train::optim::{AdamConfig, AdamWConfig, Clip, LbfgsConfig, OptimiserConfig, SgdConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{ClassWeights, Method, Selection, TrainConfig};
use serde::{Deserialize, Serialize};

use crate::args::{FitArgs, ModelArgs, ReadArgs};
use crate::failure::{Failure, Result, in_file};

/// Sets the fields whose flags were given.
macro_rules! set {
    ($config:ident, $args:ident, $($field:ident),+) => {
        $(if let Some(value) = $args.$field.clone() { $config.$field = value; })+
    };
}

/// The same for fields that may stay empty.
macro_rules! set_optional {
    ($config:ident, $args:ident, $($field:ident),+) => {
        $(if $args.$field.is_some() { $config.$field = $args.$field.clone(); })+
    };
}

/// Which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    Mlp,
    Linear,
    Svm,
    Cosine,
}

/// Which optimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserKind {
    Adam,
    Adamw,
    Sgd,
    Lbfgs,
}

/// Everything that decides the result of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FitConfig {
    pub data: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    pub no_header: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub hold_out_unlabelled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_share: Option<f64>,
    pub validation_share: f64,
    pub preset: Preset,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// At 1 a threshold of probabilities has no ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// A threshold for each of two classes, on probabilities; the temperature plays no part then.
    pub class_conditional: bool,
    pub base: bool,
    pub model: ModelKind,
    pub hidden: Vec<usize>,
    pub dropout: f64,
    pub optimiser: OptimiserKind,
    pub learning_rate: f64,
    pub epochs: usize,
    pub batch: usize,
    pub l2: f64,
    pub weight_decay: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
    pub balance_classes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<usize>,
    pub seed: u64,
    pub loss: LossConfig,
    pub schedule: ScheduleConfig,
    pub preprocess: PreprocessOptions,
}

impl Default for FitConfig {
    fn default() -> Self {
        FitConfig {
            data: String::new(),
            label: None,
            labels: None,
            id: None,
            delimiter: None,
            no_header: false,
            test: None,
            hold_out_unlabelled: false,
            noise: None,
            test_share: None,
            validation_share: 0.1,
            preset: Preset::Robust,
            lambda: None,
            alpha: None,
            temperature: None,
            start: None,
            filter: None,
            scope: None,
            ceiling: None,
            scale: None,
            class_conditional: false,
            base: true,
            model: ModelKind::Mlp,
            hidden: vec![128, 64],
            dropout: 0.0,
            optimiser: OptimiserKind::Adam,
            learning_rate: 1e-3,
            epochs: 40,
            batch: 128,
            l2: 0.0,
            weight_decay: 0.0,
            clip_norm: None,
            balance_classes: false,
            patience: None,
            seed: 0,
            loss: LossConfig::CrossEntropy,
            schedule: ScheduleConfig::default(),
            preprocess: PreprocessOptions::default(),
        }
    }
}

impl FitConfig {
    /// Defaults, the file, the flags, in this order.
    pub fn resolve(args: &FitArgs) -> Result<Self> {
        let mut config = match (&args.model.config, &args.out) {
            // The run's own settings are all that is needed to go on with it.
            (None, Some(out)) if args.resume => FitConfig::read(&out.join("config.toml"))?,
            (file, _) => FitConfig::read_or_default(file.as_deref())?,
        };
        set!(config, args, data, validation_share);
        set_optional!(config, args, test, noise, test_share);
        config.base &= !args.no_base;
        config.class_conditional |= args.class_conditional;
        config.apply(&args.read, &args.model);
        config.check()?;
        Ok(config)
    }

    /// The settings of a verb that trains on `data` and keeps no run.
    pub fn resolve_for(data: &str, read: &ReadArgs, model: &ModelArgs) -> Result<Self> {
        let mut config = FitConfig::read_or_default(model.config.as_deref())?;
        config.data = data.to_owned();
        config.apply(read, model);
        config.check()?;
        Ok(config)
    }

    fn read_or_default(file: Option<&Path>) -> Result<Self> {
        file.map_or_else(|| Ok(FitConfig::default()), FitConfig::read)
    }

    /// Puts the flags over what is there.
    fn apply(&mut self, read: &ReadArgs, model: &ModelArgs) {
        set_optional!(self, read, label, labels, id, delimiter);
        self.no_header |= read.no_header;
        set!(self, model, preset, loss, model, hidden, optimiser, epochs, batch, learning_rate, l2, seed);
        set_optional!(self, model, lambda, alpha, temperature, start, patience);
        self.hold_out_unlabelled |= model.hold_out_unlabelled;
        if model.impute {
            self.preprocess.missing = MissingCells::Impute;
            self.preprocess.nan_is_missing = true;
        }
    }

    /// Reads a TOML file; a key that is not known is refused with the closest one that is.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| in_file(path, error))?;
        toml::from_str(&text).map_err(|error| {
            let words = error.to_string();
            let words = match did_you_mean(error.message()) {
                // The list of all that is known would bury the one that was meant.
                Some(near) => {
                    format!("{}, did you mean '{near}'?", words.split(", expected ").next().unwrap_or_default())
                }
                None => words,
            };
            Failure::input(format!("{}: {}", path.display(), words.trim_end()))
        })
    }

    /// The settings as TOML.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| Failure::input(format!("settings as TOML: {error}")))
    }

    fn check(&self) -> Result<()> {
        if self.data.is_empty() {
            return Err(Failure::input("no data: name a file, a folder or a data set, as in `cmrm fit digits`"));
        }
        for (name, share) in [("validation-share", Some(self.validation_share)), ("test-share", self.test_share)] {
            if let Some(share) = share
                && !(0.0..1.0).contains(&share)
            {
                return Err(Failure::input(format!("{name} = {share} is out of range: expected 0 to below 1")));
            }
        }
        if self.test.is_some() && self.test_share.is_some_and(|share| share > 0.0) {
            return Err(Failure::input("both a test file and a test-share are given; leave one out"));
        }
        self.envelope().validate()?;
        self.train_config().validate()?;
        Ok(())
    }

    /// Share of the rows to test on.
    pub fn test_share(&self, has_test: bool) -> f64 {
        self.test_share.unwrap_or(if self.noise.is_some() && !has_test { 0.2 } else { 0.0 })
    }

    /// The envelope: the preset with whatever was set over it.
    pub fn envelope(&self) -> EnvelopeConfig {
        let mut envelope = self.preset.config(&self.loss);
        envelope.lambda = self.lambda.unwrap_or(envelope.lambda);
        envelope.alpha = self.alpha.unwrap_or(envelope.alpha);
        envelope.temperature = self.temperature.unwrap_or(envelope.temperature);
        envelope.start = self.start.map_or(envelope.start, Start::Fraction);
        envelope.filter = self.filter.unwrap_or(envelope.filter);
        envelope.scope = self.scope.unwrap_or(envelope.scope);
        envelope.ceiling = self.ceiling.or(envelope.ceiling);
        envelope.scale = self.scale.unwrap_or(envelope.scale);
        envelope
    }

    /// What the engine takes.
    pub fn train_config(&self) -> TrainConfig {
        let (hidden, head, init) = match self.model {
            ModelKind::Mlp => (self.hidden.clone(), Head::Linear, Init::Kaiming),
            ModelKind::Linear => (Vec::new(), Head::Linear, Init::Zeros),
            ModelKind::Svm => (Vec::new(), Head::Score, Init::Zeros),
            ModelKind::Cosine => (Vec::new(), Head::Cosine, Init::Kaiming),
        };
        let weight_decay = self.weight_decay;
        let optimiser = match self.optimiser {
            OptimiserKind::Adam => OptimiserConfig::Adam(AdamConfig { weight_decay, ..AdamConfig::default() }),
            OptimiserKind::Adamw => OptimiserConfig::AdamW(AdamWConfig { weight_decay, ..AdamWConfig::default() }),
            _ => OptimiserConfig::Sgd(SgdConfig { momentum: 0.9, weight_decay, ..SgdConfig::default() }),
        };
        let method = match self.optimiser {
            OptimiserKind::Lbfgs => Method::FullBatch(LbfgsConfig::default()),
            _ => Method::Stochastic {
                optimiser,
                learning_rate: self.learning_rate,
                schedule: self.schedule.clone(),
                batch_rows: (self.batch > 0).then_some(self.batch),
            },
        };
        TrainConfig {
            model: ModelConfig { hidden, head, dropout: self.dropout, init },
            method,
            epochs: self.epochs,
            l2: self.l2,
            clip: self.clip_norm.map(Clip::Norm),
            class_weights: if self.balance_classes { ClassWeights::Balanced } else { ClassWeights::Equal },
            selection: self.patience.map_or(Selection::Last, |patience| Selection::Best { patience }),
            seed: self.seed,
            keep_history: false,
        }
    }
}

/// From serde's "unknown field `x`, expected one of `a`, `b`": the known field closest to `x`.
fn did_you_mean(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field ").or_else(|| message.strip_prefix("unknown variant "))?;
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let wrong = quoted.next()?;
    let known: Vec<&str> = quoted.collect();
    cmrm_data::table::closest(wrong, &known).into_iter().next()
}
