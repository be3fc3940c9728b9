//! What a search tries.

use cmrm::envelope::Preset;
use cmrm::loss::{Gce, LossConfig};
use cmrm_train::train::{Arm, Selection, TrainConfig};
use cmrm_train::tune::Setting;
use serde::{Deserialize, Serialize};

use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::kinds::OptimiserKind;

/// Lists of values to try; every combination is a setting. An empty list stands for the search's own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// Presets to try; all if absent. Only robust is varied, the others are tried as they are.
    pub presets: Vec<Preset>,
    /// Weights of the envelope; a third, once and three times the preset's if absent.
    pub lambdas: Vec<f64>,
    /// Shares of the margins below the threshold; 0.3 and the preset's if absent.
    pub alphas: Vec<f64>,
    /// Widths of the soft filter; half, once and twice the preset's if absent.
    pub temperatures: Vec<f64>,
    /// Base losses; the configured one if absent, and gce beside cross-entropy.
    pub losses: Vec<LossConfig>,
    /// Learning rates; the configured one if absent.
    pub learning_rates: Vec<f64>,
    /// Penalties on the weights; the configured one if absent.
    pub l2s: Vec<f64>,
    /// Lengths of the training; the configured one and, but for L-BFGS, a quarter of it if absent.
    pub epoch_counts: Vec<usize>,
}

/// A setting, and the configuration that `fit` takes for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its configuration.
    pub config: FitConfig,
    /// What the search trains.
    pub setting: Setting,
}

impl Candidate {
    fn new(config: FitConfig, name: String, keep: bool) -> Result<Self> {
        // Other losses of the search may need it.
        let transition = config.transition.clone().filter(|_| config.loss.needs_transition());
        let config = FitConfig { transition, ..config };
        // The rows that a fit would choose the epoch by are those that the search scores on: it takes the last epochs.
        let train = TrainConfig { selection: Selection::Last, ..config.train_config() };
        if config.patience.is_some() {
            return Err(Error::refused(
                "--patience would choose the epoch by the rows that the search scores on; leave out --patience",
            ));
        }
        config.check()?;
        let envelope = config.envelope();
        // Without its weight the envelope is the base loss; the plain arm computes the same and faster.
        let arm = match (envelope.lambda, envelope.filter_base) {
            (0.0, false) => Arm::base(config.loss),
            _ => Arm::envelope("", config.loss, envelope),
        };
        let arm = arm.with_transition(config.transition_matrix());
        Ok(Candidate { config, setting: Setting { name, train, arm, keep } })
    }
}

impl Space {
    /// With the lists of `other` where this one has none.
    #[must_use]
    pub fn or(self, other: Option<&Space>) -> Self {
        fn or<T: Clone>(list: Vec<T>, other: &[T]) -> Vec<T> {
            if list.is_empty() { other.to_vec() } else { list }
        }
        let Some(other) = other else { return self };
        Space {
            presets: or(self.presets, &other.presets),
            lambdas: or(self.lambdas, &other.lambdas),
            alphas: or(self.alphas, &other.alphas),
            temperatures: or(self.temperatures, &other.temperatures),
            losses: or(self.losses, &other.losses),
            learning_rates: or(self.learning_rates, &other.learning_rates),
            l2s: or(self.l2s, &other.l2s),
            epoch_counts: or(self.epoch_counts, &other.epoch_counts),
        }
    }

    /// Every combination, the plain ones first. The configured settings are always among them, and kept to the end.
    pub fn candidates(&self, config: &FitConfig) -> Result<Vec<Candidate>> {
        // What the configured settings leave open is settled by them, not anew by each setting.
        let config = &config.resolved();
        let or = |list: &[f64], own: &[f64]| if list.is_empty() { own.to_vec() } else { list.to_vec() };
        // Steps, as long as no rows have made them epochs.
        let own = (config.epochs, config.steps);
        let quarter = |length: Option<usize>| length.map(|length| (length / 4).max(1));
        let lengths = match &self.epoch_counts[..] {
            // How far L-BFGS comes is a matter of its tolerance.
            [] if config.optimiser() == OptimiserKind::Lbfgs => vec![own],
            [] => vec![own, (quarter(own.0), quarter(own.1))],
            list => list.iter().map(|&epochs| (Some(epochs), None)).collect(),
        };
        let l2s: Vec<Option<f64>> = match &self.l2s[..] {
            [] => vec![config.l2()],
            list => list.iter().copied().map(Some).collect(),
        };
        let losses = match (&self.losses[..], config.loss) {
            ([], LossConfig::CrossEntropy) => vec![config.loss, LossConfig::Gce { q: Gce::DEFAULT_Q }],
            ([], loss) => vec![loss],
            (list, _) => list.to_vec(),
        };
        let mut found: Vec<Candidate> = Vec::new();
        let mut add = |config: FitConfig, keep: bool| -> Result<()> {
            let name = name_of(&config);
            if found.iter().all(|candidate| candidate.setting.name != name) {
                found.push(Candidate::new(config, name, keep)?);
            }
            Ok(())
        };
        add(config.clone(), true)?;
        for learning_rate in or(&self.learning_rates, &[config.learning_rate]) {
            for &l2 in &l2s {
                for &(epochs, steps) in &lengths {
                    for &loss in &losses {
                        let shared = FitConfig { learning_rate, l2, epochs, steps, loss, ..config.clone() };
                        for changed in self.envelopes(&shared) {
                            add(changed, false)?;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// The base loss, the presets as they are, and `robust` varied.
    fn envelopes(&self, config: &FitConfig) -> Vec<FitConfig> {
        let or = |list: &[f64], own: &[f64]| if list.is_empty() { own.to_vec() } else { list.to_vec() };
        let presets = if self.presets.is_empty() { Preset::ALL.to_vec() } else { self.presets.clone() };
        let plain = FitConfig {
            preset: Preset::Robust,
            lambda: None,
            alpha: None,
            temperature: None,
            start: None,
            ..config.clone()
        };
        let mut all = vec![FitConfig { lambda: Some(0.0), filter_base: None, ..plain.clone() }];
        // What is set over one preset has no place in another, whose margins may be of another kind.
        let of_preset = |preset: Preset| match preset == config.preset {
            true => FitConfig { preset, ..plain.clone() },
            false => FitConfig {
                preset,
                filter: None,
                scope: None,
                ceiling: None,
                scale: None,
                filter_base: None,
                running: None,
                limit: None,
                fade: None,
                ..plain.clone()
            },
        };
        all.extend(presets.iter().map(|&preset| of_preset(preset)));
        let preset = if presets.contains(&Preset::Robust) { Some(Preset::Robust) } else { presets.first().copied() };
        let Some(preset) = preset else { return all };
        let varied = of_preset(preset);
        let own = varied.envelope();
        for lambda in or(&self.lambdas, &[own.lambda / 3.0, own.lambda, own.lambda * 3.0]) {
            for alpha in or(&self.alphas, &[0.3, own.alpha]) {
                for temperature in
                    or(&self.temperatures, &[own.temperature / 2.0, own.temperature, own.temperature * 2.0])
                {
                    // A value that is the preset's own is not written down as another.
                    let set = |value: f64, own: f64| (value != own).then_some(value);
                    all.push(FitConfig {
                        preset,
                        lambda: set(lambda, own.lambda),
                        alpha: set(alpha, own.alpha),
                        temperature: set(temperature, own.temperature),
                        ..varied.clone()
                    });
                }
            }
        }
        all
    }
}

/// The short list of `fit --auto`: the settings as they are, no envelope, and the weights and share that matter most.
pub fn auto_candidates(config: &FitConfig) -> Result<Vec<Candidate>> {
    let own = config.envelope();
    // A weight of 0 that is set turns the filter off too; the preset's own does not.
    let with = |lambda: f64, alpha: f64| {
        let lambda = if lambda == own.lambda { config.lambda } else { Some(lambda) };
        FitConfig { lambda, alpha: Some(alpha), ..config.clone() }
    };
    let list = [
        FitConfig { lambda: Some(0.0), filter_base: None, ..config.clone() },
        with(own.lambda / 3.0, own.alpha),
        with(own.lambda * 3.0, own.alpha),
        with(own.lambda, 0.3),
        with(own.lambda * 3.0, 0.3),
    ];
    let mut found = vec![Candidate::new(config.clone(), name_of(config), true)?];
    for config in list {
        let name = name_of(&config);
        if found.iter().all(|candidate| candidate.setting.name != name) {
            found.push(Candidate::new(config, name, false)?);
        }
    }
    Ok(found)
}

/// What a setting is called: its values in full, so that the same values have the same name.
fn name_of(config: &FitConfig) -> String {
    let envelope = config.envelope();
    let envelope = match (envelope.lambda, envelope.filter_base) {
        (0.0, false) => "base".to_owned(),
        (lambda, _) => format!(
            "{} λ {} α {} temp {}",
            config.preset.name(),
            tidy(lambda),
            tidy(envelope.alpha),
            tidy(envelope.temperature)
        ),
    };
    let loss = config.loss;
    let l2 = match config.l2() {
        Some(0.0) => String::new(),
        Some(l2) => format!(", l2 {l2}"),
        None => ", l2 by the rows".to_owned(),
    };
    let rate = match config.optimiser() {
        OptimiserKind::Lbfgs => String::new(),
        _ => format!("rate {}, ", config.learning_rate),
    };
    let length = match (config.epochs(), config.steps()) {
        (None, Some(steps)) => format!("{steps} steps"),
        (epochs, _) => format!("{} epochs", epochs.unwrap_or_default()),
    };
    format!("{envelope}, {loss}, {rate}{length}{l2}")
}

/// Four digits are enough to tell settings apart.
fn tidy(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
