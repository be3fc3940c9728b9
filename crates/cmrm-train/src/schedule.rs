//! Learning-rate schedules.
//!
//! Lengths are counted in epochs. A schedule advances per epoch (every step of an epoch has the same rate, as in the
//! authors' code and in PyTorch's usual loop) or per step (the same curve, sampled at every step).

use cmrm::error::{Error, check_parameter};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// How the rate falls after the warm-up.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Decay {
    /// It stays.
    #[default]
    Constant,
    /// It is multiplied by `gamma` at every milestone.
    Step {
        /// Epochs from zero, counted from the start of training (warm-up included), strictly ascending: at milestone 160
        /// the 161st epoch is the first with the lower rate.
        milestones: Vec<u64>,
        /// Factor at a milestone, in (0, 1]; 0.1 if not stated.
        gamma: f64,
    },
    /// Half a cosine wave from the base rate at the end of the warm-up down to the floor at the end of training.
    Cosine {
        /// The floor, as a share of the base rate, in [0, 1]; 0 if not stated.
        floor_fraction: f64,
    },
}

/// When the rate changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advance {
    /// At the start of every epoch.
    #[default]
    Epoch,
    /// At every step.
    Step,
}

/// A schedule as a configuration file states it: the keys `kind` (`constant`, `step` or `cosine`), the kind's own keys
/// `milestones` and `gamma` or `floor_fraction`, and `warmup_epochs` and `advance`. Other keys are refused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct ScheduleConfig {
    /// How the rate falls after the warm-up.
    pub decay: Decay,
    /// Epochs over which the rate first rises in equal parts to the base rate; 0 for none.
    pub warmup_epochs: u64,
    /// When the rate changes.
    pub advance: Advance,
}

/// All keys side by side, so that an unknown or misplaced one is an error.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flat {
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    milestones: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gamma: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    floor_fraction: Option<f64>,
    #[serde(default)]
    warmup_epochs: u64,
    #[serde(default)]
    advance: Advance,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Constant,
    Step,
    Cosine,
}

impl TryFrom<Flat> for ScheduleConfig {
    type Error = &'static str;

    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        let Flat { kind, milestones, gamma, floor_fraction, warmup_epochs, advance } = flat;
        let decay = match (kind, milestones, gamma, floor_fraction) {
            (Kind::Constant, None, None, None) => Decay::Constant,
            (Kind::Constant, ..) => return Err("a constant schedule takes no milestones, gamma or floor_fraction"),
            (Kind::Step, Some(milestones), gamma, None) => Decay::Step { milestones, gamma: gamma.unwrap_or(0.1) },
            (Kind::Step, None, ..) => return Err("a step schedule needs milestones: a list of epochs"),
            (Kind::Step, ..) => return Err("a step schedule takes no floor_fraction"),
            (Kind::Cosine, None, None, floor) => Decay::Cosine { floor_fraction: floor.unwrap_or(0.0) },
            (Kind::Cosine, ..) => return Err("a cosine schedule takes no milestones or gamma"),
        };
        Ok(ScheduleConfig { decay, warmup_epochs, advance })
    }
}

impl From<ScheduleConfig> for Flat {
    fn from(config: ScheduleConfig) -> Self {
        let ScheduleConfig { decay, warmup_epochs, advance } = config;
        let flat = Flat { warmup_epochs, advance, ..Flat::default() };
        match decay {
            Decay::Constant => flat,
            Decay::Step { milestones, gamma } => {
                Flat { kind: Kind::Step, milestones: Some(milestones), gamma: Some(gamma), ..flat }
            }
            Decay::Cosine { floor_fraction } => {
                Flat { kind: Kind::Cosine, floor_fraction: Some(floor_fraction), ..flat }
            }
        }
    }
}

impl ScheduleConfig {
    /// The schedule with this base learning rate; refuses settings out of range.
    pub fn validate(&self, base: f64) -> Result<Schedule> {
        check_parameter("learning rate", base, base > 0.0 && base.is_finite(), "a finite number above 0")?;
        match &self.decay {
            Decay::Constant => {}
            Decay::Step { milestones, gamma } => {
                check_parameter("gamma", *gamma, *gamma > 0.0 && *gamma <= 1.0, "above 0 and at most 1")?;
                if let Some(pair) = milestones.windows(2).find(|pair| pair[1] <= pair[0]) {
                    let value = pair[1] as f64;
                    return Err(
                        Error::Parameter { name: "milestones", value, expected: "strictly ascending epochs" }.into()
                    );
                }
            }
            Decay::Cosine { floor_fraction } => {
                check_parameter("floor_fraction", *floor_fraction, (0.0..=1.0).contains(floor_fraction), "0 to 1")?;
            }
        }
        Ok(Schedule { config: self.clone(), base })
    }
}

/// A checked schedule; [`ScheduleConfig::validate`] makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    config: ScheduleConfig,
    base: f64,
}

impl Schedule {
    /// The base learning rate.
    pub fn base(&self) -> f64 {
        self.base
    }

    /// The rate of step `step` (from zero) of a training of `total` steps with `steps_per_epoch` steps per epoch.
    ///
    /// With w ticks of warm-up in T ticks of training (a tick is an epoch or a step, by [`Advance`]; a started epoch
    /// counts), tick t has
    /// - base·(t+1)/w while t < w, so that the first tick is not idle and the last of the warm-up has the base rate;
    /// - base·gamma^(milestones at or before t) for `step`;
    /// - floor + (base − floor)·(1 + cos(π(t−w)/(T−w)))/2 for `cosine`, and the floor from T on.
    ///
    /// Zero steps per epoch count as one.
    pub fn lr_at(&self, step: u64, steps_per_epoch: u64, total: u64) -> f64 {
        let per_epoch = steps_per_epoch.max(1);
        let (tick, ticks_per_epoch, end) = match self.config.advance {
            Advance::Epoch => (step / per_epoch, 1, total.div_ceil(per_epoch)),
            Advance::Step => (step, per_epoch, total),
        };
        let warmup = self.config.warmup_epochs.saturating_mul(ticks_per_epoch);
        if tick < warmup {
            return self.base * ((tick + 1) as f64 / warmup as f64);
        }
        match &self.config.decay {
            Decay::Constant => self.base,
            Decay::Step { milestones, gamma } => {
                let passed = milestones.iter().filter(|&&epoch| epoch.saturating_mul(ticks_per_epoch) <= tick);
                passed.fold(self.base, |rate, _| rate * gamma)
            }
            Decay::Cosine { floor_fraction } => {
                let floor = floor_fraction * self.base;
                let (done, span) = (tick - warmup, end.saturating_sub(warmup));
                if done >= span {
                    return floor;
                }
                let wave = 0.5 * (1.0 + (std::f64::consts::PI * (done as f64 / span as f64)).cos());
                floor + (self.base - floor) * wave
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(text: &str) -> Schedule {
        serde_json::from_str::<ScheduleConfig>(text).unwrap().validate(0.1).unwrap()
    }

    #[test]
    fn per_epoch_rates_are_constant_within_an_epoch() {
        let schedule = schedule(r#"{"kind":"step","milestones":[2],"warmup_epochs":1}"#);
        let rates: Vec<f64> = (0..9).map(|step| schedule.lr_at(step, 3, 9)).collect();
        let low = 0.1 * 0.1;
        assert_eq!(rates, [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, low, low, low]);
    }

    #[test]
    fn per_step_rates_rise_at_every_step() {
        let schedule = schedule(r#"{"kind":"constant","warmup_epochs":2,"advance":"step"}"#);
        for step in 0..8 {
            assert_eq!(schedule.lr_at(step, 4, 40), 0.1 * ((step + 1) as f64 / 8.0));
        }
        assert_eq!(schedule.lr_at(8, 4, 40), 0.1);
    }

    #[test]
    fn the_authors_warm_up_is_reproduced() {
        // lr · epoch / 5 for their epochs 1 to 5.
        let schedule = schedule(r#"{"kind":"step","milestones":[160,180],"gamma":0.01,"warmup_epochs":5}"#);
        for epoch in 0..5 {
            assert!((schedule.lr_at(epoch, 1, 200) - 0.1 * (epoch + 1) as f64 / 5.0).abs() < 1e-16);
        }
        assert_eq!(schedule.lr_at(159, 1, 200), 0.1);
        assert!((schedule.lr_at(160, 1, 200) - 0.001).abs() < 1e-18);
    }

    #[test]
    fn edges_do_not_panic() {
        let text = r#"{"kind":"cosine","floor_fraction":0.5,"warmup_epochs":18446744073709551615,"advance":"step"}"#;
        for (step, per_epoch, total) in [(0, 0, 0), (u64::MAX, u64::MAX, u64::MAX), (5, 1, 2)] {
            assert!(schedule(text).lr_at(step, per_epoch, total).is_finite());
        }
        assert_eq!(schedule(r#"{"kind":"cosine","floor_fraction":0.5}"#).lr_at(7, 1, 5), 0.05);
    }

    #[test]
    fn a_configuration_survives_text_and_misplaced_keys_do_not() {
        for text in [
            r#"{"kind":"constant","warmup_epochs":0,"advance":"epoch"}"#,
            r#"{"kind":"step","milestones":[3,9],"gamma":0.5,"warmup_epochs":2,"advance":"step"}"#,
            r#"{"kind":"cosine","floor_fraction":0.25,"warmup_epochs":0,"advance":"epoch"}"#,
        ] {
            let config: ScheduleConfig = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&config).unwrap(), text);
        }
        for text in [
            r#"{"kind":"constant","gamma":0.5}"#,
            r#"{"kind":"step"}"#,
            r#"{"kind":"step","milestones":[3],"floor_fraction":0.5}"#,
            r#"{"kind":"cosine","milestones":[3]}"#,
            r#"{"kind":"cosine","florr_fraction":0.5}"#,
            r#"{"kind":"linear"}"#,
        ] {
            assert!(serde_json::from_str::<ScheduleConfig>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bad_settings_are_refused() {
        for text in [
            r#"{"kind":"step","milestones":[5,5]}"#,
            r#"{"kind":"step","milestones":[5],"gamma":0.0}"#,
            r#"{"kind":"step","milestones":[5],"gamma":1.5}"#,
            r#"{"kind":"cosine","floor_fraction":-0.1}"#,
        ] {
            assert!(serde_json::from_str::<ScheduleConfig>(text).unwrap().validate(0.1).is_err(), "{text}");
        }
        for base in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(ScheduleConfig::default().validate(base).is_err());
        }
    }
}
