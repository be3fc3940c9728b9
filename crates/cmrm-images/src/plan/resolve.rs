//! From a plan to its runs: every arm with every seed, checked.

use cmrm::envelope::{Envelope, EnvelopeConfig, Preset, PresetOverrides, Start};
use cmrm::loss::LossConfig;
use cmrm::noise::NoiseConfig;
use cmrm_run::BASE;
use serde::Serialize;

use super::{ArmPlan, Plan, Precision};
use crate::data::{Augmentation, Normalisation};
use crate::error::{Error, Result};
use crate::network::Architecture;

/// One training, with nothing left open.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSpec {
    /// Name of the plan.
    pub plan: String,
    /// Name of the arm.
    pub arm: String,
    /// Seed of weights, order and noise.
    pub seed: u64,
    /// Which network.
    pub network: Architecture,
    /// Base loss.
    pub loss: LossConfig,
    /// Envelope, and the first epoch that has it on.
    pub envelope: Option<(Envelope, usize)>,
    /// Noise in the labels.
    pub noise: Option<NoiseConfig>,
    /// Epochs in all.
    pub epochs: usize,
    /// Images a step.
    pub batch: usize,
    /// How numbers are held.
    pub precision: Precision,
    /// What images are centred and scaled by.
    pub normalise: Normalisation,
    /// What happens to training images.
    pub augment: Augmentation,
    /// Learning rates: from which epoch on, and which.
    pub rates: Vec<(usize, f64)>,
    /// Epochs over which the rate first rises.
    pub warmup_epochs: usize,
    /// Momentum.
    pub momentum: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Judged after every so many epochs, besides the last; 0 for the last alone.
    pub judge_every: usize,
    /// Whose state it goes on from.
    pub fork: Option<Fork>,
    /// Epochs after which other arms want this one's state.
    pub forked_at: Vec<usize>,
    /// β of every running margin to keep from the first epoch on: that of the arm's own envelope, and those of the arms that
    /// go on from it, so that their filters know the rows when they come on.
    pub running: Vec<f64>,
    /// Lower ones start first.
    pub rank: i64,
    /// Whether its kernels go before others'.
    pub urgent: bool,
    /// The arm without an envelope that is the same in all else.
    pub base: Option<String>,
    /// A plan of this run alone, as TOML.
    pub settings: String,
}

/// A state to go on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fork {
    /// The other arm.
    pub from: String,
    /// Epochs that arm has done then.
    pub epoch: usize,
}

impl RunSpec {
    /// The folder of the run, inside the folder of all runs.
    pub fn folder(&self) -> String {
        folder_name(&self.plan, &self.arm, self.seed)
    }

    /// Name of the arm in its report and metrics: a run without an envelope is the base.
    pub fn arm_in_reports(&self) -> &str {
        if self.envelope.is_some() { &self.arm } else { BASE }
    }

    /// The folder of the run that this one is compared with.
    pub fn base_folder(&self) -> Option<String> {
        self.base.as_ref().map(|base| folder_name(&self.plan, base, self.seed))
    }

    /// Whether this run is the fair control of `other`: no envelope, the same in all else.
    fn is_base_of(&self, other: &RunSpec) -> bool {
        let same = (&self.loss, &self.noise, self.epochs, &self.rates, self.seed)
            == (&other.loss, &other.noise, other.epochs, &other.rates, other.seed);
        same && self.envelope.is_none() && other.envelope.is_some()
    }

    fn is_fork_of(&self, arm: &str) -> bool {
        self.fork.as_ref().is_some_and(|fork| fork.from == arm)
    }

    /// β of the running margin that the arm's own envelope reads.
    fn own_running(&self) -> Option<f64> {
        self.envelope.as_ref().and_then(|(envelope, _)| envelope.config().running)
    }

    /// The folder of the run that this one goes on from.
    pub fn parent_folder(&self) -> Option<String> {
        self.fork.as_ref().map(|fork| folder_name(&self.plan, &fork.from, self.seed))
    }

    /// Learning rate of an epoch.
    pub fn rate(&self, epoch: usize) -> f64 {
        let base = self.rates.iter().rev().find(|(from, _)| *from <= epoch).map_or(0.0, |(_, rate)| *rate);
        if epoch < self.warmup_epochs { base * (epoch + 1) as f64 / self.warmup_epochs as f64 } else { base }
    }

    /// The envelope of an epoch, if it is on.
    pub fn envelope_at(&self, epoch: usize) -> Option<&Envelope> {
        self.envelope.as_ref().filter(|(_, start)| epoch >= *start).map(|(envelope, _)| envelope)
    }

    /// Whether the momentum is cleared before an epoch.
    pub fn clears_momentum(&self, epoch: usize) -> bool {
        self.envelope.as_ref().is_some_and(|(envelope, start)| *start == epoch && envelope.config().fresh_optimiser)
    }

    /// Whether the classifier is a cosine layer.
    pub fn is_cosine(&self) -> bool {
        matches!(self.loss, LossConfig::Ldam { .. })
    }
}

fn folder_name(plan: &str, arm: &str, seed: u64) -> String {
    format!("{plan}/{arm}-seed{seed}")
}

impl Plan {
    /// All runs, lowest rank first, otherwise in the plan's order with the seeds of an arm side by side.
    pub fn runs(&self) -> Result<Vec<RunSpec>> {
        let mut runs = Vec::new();
        for (position, arm) in self.arms.iter().enumerate() {
            if self.arms[..position].iter().any(|other| other.name == arm.name) {
                return Err(Error::settings(format!("two arms are named '{}'", arm.name)));
            }
            for &seed in arm.seeds.as_ref().unwrap_or(&self.seeds) {
                runs.push(self.run(arm, seed)?);
            }
        }
        self.check_forks(&runs)?;
        if self.decisions.is_some() && runs.iter().any(|run| run.noise.is_some()) {
            return Err(Error::settings("`decisions` apply to the original labels; set `noise` to none"));
        }
        for at in 0..runs.len() {
            let forks = || runs.iter().filter(|run| run.seed == runs[at].seed && run.is_fork_of(&runs[at].arm));
            let mut wanted: Vec<usize> = forks().filter_map(|run| Some(run.fork.as_ref()?.epoch)).collect();
            wanted.sort_unstable();
            wanted.dedup();
            let mut running: Vec<f64> = forks().chain([&runs[at]]).filter_map(RunSpec::own_running).collect();
            running.sort_by(f64::total_cmp);
            running.dedup();
            (runs[at].forked_at, runs[at].running) = (wanted, running);
            runs[at].base = runs.iter().find(|run| run.is_base_of(&runs[at])).map(|run| run.arm.clone());
        }
        runs.sort_by_key(|run| run.rank);
        if runs.is_empty() { Err(Error::settings("the plan has no arms or no seeds")) } else { Ok(runs) }
    }

    fn run(&self, arm: &ArmPlan, seed: u64) -> Result<RunSpec> {
        let in_arm = |error: String| Error::settings(format!("arm '{}': {error}", arm.name));
        let plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
        if !plain(&arm.name) || !plain(&self.name) {
            return Err(in_arm("names of plans and arms may contain letters, digits, '-', '_' and '.'".into()));
        }
        let noise = arm.noise.as_ref().unwrap_or(&self.noise);
        let noise = match noise.as_str() {
            "none" => None,
            text => Some(text.parse::<NoiseConfig>().map_err(|error| in_arm(error.to_string()))?),
        };
        let epochs = arm.epochs.unwrap_or(self.epochs);
        let rates = arm.rates.clone().unwrap_or_else(|| self.rates.clone());
        if epochs == 0 || self.batch < 2 {
            return Err(in_arm("needs at least one epoch and a batch of two".into()));
        }
        let ascending = rates.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if rates.first().is_none_or(|first| first.0 != 0)
            || !ascending
            || rates.iter().any(|(_, r)| !r.is_finite() || *r < 0.0)
        {
            return Err(in_arm("rates are pairs of epoch and rate, with ascending epochs from 0".into()));
        }
        let envelope = match &arm.envelope {
            None => None,
            Some(plan) => {
                let config = of_images(plan, &arm.loss);
                let envelope = config.validate().map_err(|error| in_arm(error.to_string()))?;
                Some((envelope, config.start.first_epoch(epochs)))
            }
        };
        Ok(RunSpec {
            plan: self.name.clone(),
            arm: arm.name.clone(),
            seed,
            network: self.network,
            loss: arm.loss,
            envelope,
            noise,
            epochs,
            batch: self.batch,
            precision: self.precision,
            normalise: self.normalise.clone(),
            augment: self.augment,
            rates,
            warmup_epochs: self.warmup_epochs,
            momentum: self.momentum,
            weight_decay: self.weight_decay,
            judge_every: self.judge_every,
            fork: arm.fork.as_ref().map(|fork| Fork { from: fork.from.clone(), epoch: fork.epoch }),
            forked_at: Vec::new(),
            running: Vec::new(),
            rank: arm.rank,
            urgent: arm.urgent,
            base: None,
            settings: self.alone(arm, seed)?,
        })
    }

    /// A plan of one run: its arm, and the arm it goes on from.
    fn alone(&self, arm: &ArmPlan, seed: u64) -> Result<String> {
        let parent = arm.fork.as_ref().and_then(|fork| self.arms.iter().find(|other| other.name == fork.from));
        let arms = parent.into_iter().chain([arm]).cloned().map(|arm| ArmPlan { seeds: None, ..arm }).collect();
        let plan = Plan { seeds: vec![seed], arms, ..self.clone() };
        toml::to_string(&plan).map_err(|error| Error::settings(format!("arm '{}': {error}", arm.name)))
    }

    /// A fork needs a parent of the same seed, noise and head that gets as far.
    fn check_forks(&self, runs: &[RunSpec]) -> Result<()> {
        for run in runs {
            let Some(fork) = &run.fork else { continue };
            let refuse =
                |why: &str| Err(Error::settings(format!("arm '{}', fork from '{}': {why}", run.arm, fork.from)));
            let Some(parent) = runs.iter().find(|other| other.arm == fork.from && other.seed == run.seed) else {
                return refuse(&format!("no such arm with seed {}", run.seed));
            };
            if parent.arm == run.arm || parent.fork.is_some() {
                return refuse("it must be another arm that is not a fork itself");
            }
            if parent.noise != run.noise || parent.is_cosine() != run.is_cosine() {
                return refuse("both arms need the same noise and the same kind of classifier");
            }
            if let (LossConfig::Elr { beta, .. }, other) = (run.loss, parent.loss)
                && !matches!(other, LossConfig::Elr { beta: kept, .. } if kept == beta)
            {
                return refuse(
                    "elr keeps targets from the first epoch on; fork from an arm with elr and the same beta",
                );
            }
            if fork.epoch == 0 || fork.epoch > parent.epochs || fork.epoch >= run.epochs {
                return refuse("the fork's epoch must be within the parent's epochs and before the arm's last");
            }
        }
        Ok(())
    }
}

/// The settings of an arm's envelope. A network that learns images from nothing has hardly learned many of them yet when its rates
/// fall, and the filter cannot tell these from wrong labels: on CIFAR-100 it costs clean labels 0.7 points
/// (`research/images/README.md`). So `robust` is its risk alone here, after a quarter of the epochs, unless the plan asks for the
/// filter.
fn of_images(overrides: &PresetOverrides, loss: &LossConfig) -> EnvelopeConfig {
    let config = overrides.config(loss);
    if overrides.preset != Preset::Robust || overrides.filter_base == Some(true) {
        return config;
    }
    EnvelopeConfig {
        filter_base: false,
        running: overrides.running,
        limit: overrides.limit,
        fade: overrides.fade,
        start: overrides.start.unwrap_or(Start::Fraction(0.25)),
        ..config
    }
}
