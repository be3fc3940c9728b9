//! The settings whose default depends on the model, in one place.

use cmrm::envelope::{Fade, Preset, Start};
use cmrm::loss::LossConfig;
use cmrm_train::schedule::{Advance, Decay, ScheduleConfig};

use crate::config::FitConfig;
use crate::kinds::{Keep, ModelKind, OptimiserKind};

/// How a model is trained where nothing is said.
struct Defaults {
    optimiser: OptimiserKind,
    /// The most iterations of L-BFGS; nothing where steps count.
    epochs: Option<usize>,
    /// Penalty on the weights; nothing where the rows decide ([`crate::with_penalty`]).
    l2: Option<f64>,
}

/// A model without layers of its own to regularise, in passes. Steps count: a small table takes more passes than a large one to
/// learn as much.
const IN_PASSES: Defaults = Defaults { optimiser: OptimiserKind::Adam, epochs: None, l2: Some(0.0) };

/// A network's weights decay as it trains. That costs nothing where labels are clean and is worth points where they are not, with
/// the envelope and without it.
const NETWORK: Defaults = Defaults { optimiser: OptimiserKind::Adamw, ..IN_PASSES };

/// A network's decay by AdamW where none is given: with a rate that falls from 0.001 to zero over 2,000 steps, what is learned in the first
/// steps has lost two thirds of its weight in the end.
const DECAY: f64 = 1.0;

/// A network sees its rows tens of times, enough to learn the wrong ones by heart, if the filter comes late or holds back: it
/// begins when learning by heart does (training rows five points ahead), and is in full force where a tenth of the labels is in doubt.
const NETWORK_START: Start = Start::Onset(0.05);
const NETWORK_FADE: Fade = Fade { margin: -0.3, share: 0.1 };

/// Fewest validation rows that an epoch is chosen by: of fewer, chance would choose. Where a tenth is held back, a table of
/// about 500 rows has them.
pub(crate) const ENOUGH_TO_CHOOSE: usize = 50;

/// The model where neither it nor a setting that only a network or a linear model has is given.
const USUAL_MODEL: ModelKind = ModelKind::Auto;
/// Share of the rows held back to choose the epoch and to calibrate by. A vote is judged and calibrated by out-of-sample
/// probabilities of the rows that it learns from, and holds none back.
const VALIDATION_SHARE: f64 = 0.1;

/// Steps of the optimiser where neither these nor epochs are given.
const STEPS: usize = 2000;
/// Fewest epochs that steps become: a large table is seen more than once or twice, so that the envelope has passes to act in.
const FEWEST_EPOCHS: usize = 15;
/// Most epochs that steps become: a tiny table is learned by heart long before its steps are used up.
const MOST_EPOCHS: usize = 500;
/// Passes where steps cannot say: of chunks, whose rows are not known beforehand, and of L-BFGS on a network, where a pass is
/// an iteration.
const PASSES: usize = 40;

/// A linear model has one optimum, and L-BFGS finds it; the tolerance is met long before the iterations are used up. The
/// penalty, not an early end, keeps wrong labels from being learned by heart. `research/peers/linear` compares it with
/// scikit-learn.
const TO_THE_OPTIMUM: Defaults = Defaults { optimiser: OptimiserKind::Lbfgs, epochs: Some(1000), l2: None };

impl FitConfig {
    /// The model. Whoever sets what only a network or a linear model has means a network.
    pub fn model(&self) -> ModelKind {
        self.model.unwrap_or(if self.network_setting().is_some() { ModelKind::Mlp } else { USUAL_MODEL })
    }

    /// Whether the model is a vote of learners ([`ModelKind::is_vote`]).
    pub fn is_vote(&self) -> bool {
        self.model().is_vote()
    }

    /// Share of the training rows for validation and calibration.
    pub fn validation_share(&self) -> f64 {
        self.validation_share.unwrap_or(if self.is_vote() { 0.0 } else { VALIDATION_SHARE })
    }

    /// The optimiser.
    pub fn optimiser(&self) -> OptimiserKind {
        self.optimiser.unwrap_or(self.defaults().optimiser)
    }

    /// Passes over the rows, or the most iterations of L-BFGS; nothing as long as [`FitConfig::steps`] count and the rows
    /// are not known ([`FitConfig::for_rows`]).
    pub fn epochs(&self) -> Option<usize> {
        self.epochs.or(self.defaults().epochs)
    }

    /// Steps of the optimiser to train for; nothing where epochs say how long.
    pub fn steps(&self) -> Option<usize> {
        if self.epochs().is_some() { None } else { Some(self.steps.unwrap_or(STEPS)) }
    }

    /// Penalty on the weights; nothing as long as the rows are to decide ([`crate::with_penalty`]).
    pub fn l2(&self) -> Option<f64> {
        self.l2.or(self.defaults().l2)
    }

    /// Which epoch's model is kept; nothing as long as the rows are to decide ([`FitConfig::for_rows`]). L-BFGS goes to the
    /// optimum, so that its last iteration is the one to keep.
    pub fn keep(&self) -> Option<Keep> {
        let asked = self.keep.or(self.patience.map(|_| Keep::Best));
        asked.or((self.optimiser() == OptimiserKind::Lbfgs).then_some(Keep::Last))
    }

    /// How the learning rate changes. In passes it falls to zero, step by step: the last steps, which would learn wrong labels
    /// by heart, are the smallest.
    pub fn schedule(&self) -> ScheduleConfig {
        let falling =
            ScheduleConfig { decay: Decay::Cosine { floor_fraction: 0.0 }, warmup_epochs: 0, advance: Advance::Step };
        self.schedule.clone().unwrap_or(falling)
    }

    /// Decay of the weights in a step.
    pub fn weight_decay(&self) -> f64 {
        let decays = self.model() == ModelKind::Mlp && self.optimiser() == OptimiserKind::Adamw;
        self.weight_decay.unwrap_or(if decays { DECAY } else { 0.0 })
    }

    /// Weight of the envelope where none is given.
    pub(crate) fn usual_lambda(&self) -> f64 {
        self.preset.config(&self.loss).lambda
    }

    /// When `robust` comes on, where that differs from the preset.
    pub(crate) fn usual_start(&self) -> Option<Start> {
        self.is_robust_in_passes().then_some(NETWORK_START)
    }

    /// How `robust` fades, where that differs from the preset.
    pub(crate) fn usual_fade(&self) -> Option<Fade> {
        self.is_robust_in_passes().then_some(NETWORK_FADE)
    }

    fn is_robust_in_passes(&self) -> bool {
        self.preset == Preset::Robust && self.optimiser() != OptimiserKind::Lbfgs
    }

    /// The same settings with everything that needs no rows decided.
    pub fn resolved(&self) -> FitConfig {
        let (model, validation_share) = (Some(self.model()), Some(self.validation_share()));
        let decided = FitConfig { model, validation_share, ..self.clone() };
        if self.is_vote() {
            return decided;
        }
        FitConfig {
            optimiser: Some(self.optimiser()),
            epochs: self.epochs(),
            steps: self.steps(),
            l2: self.l2(),
            weight_decay: Some(self.weight_decay()),
            keep: self.keep(),
            // L-BFGS has no rate.
            schedule: if self.optimiser() == OptimiserKind::Lbfgs {
                self.schedule.clone()
            } else {
                Some(self.schedule())
            },
            ..decided
        }
    }

    /// The same settings with everything decided that the numbers of rows to train on and to validate by decide: steps become
    /// whole epochs, and the best of these is kept where there are rows enough to tell.
    #[must_use]
    pub fn for_rows(&self, train: usize, validation: usize) -> FitConfig {
        // Decided first: what follows are settings of a network.
        let decided = FitConfig { model: Some(self.model()), ..self.clone() };
        if self.is_vote() {
            return decided;
        }
        let batches = if self.batch == 0 { 1 } else { train.div_ceil(self.batch).max(1) };
        let of_steps = |steps: usize| steps.div_ceil(batches).clamp(FEWEST_EPOCHS, MOST_EPOCHS);
        let of_rows = if validation >= ENOUGH_TO_CHOOSE { Keep::Best } else { Keep::Last };
        FitConfig {
            epochs: self.epochs().or(self.steps().map(of_steps)),
            steps: None,
            keep: self.keep().or(Some(of_rows)),
            ..decided
        }
    }

    /// The same settings for rows that come in chunks, each of them seen once: what was left open is that of training in
    /// passes, whatever the model, since L-BFGS needs all rows at once.
    pub fn in_passes(&self) -> FitConfig {
        FitConfig {
            optimiser: self.optimiser.or(Some(IN_PASSES.optimiser)),
            epochs: self.epochs.or(Some(PASSES)),
            steps: None,
            l2: self.l2.or(IN_PASSES.l2),
            // No rows are held back to choose by.
            keep: Some(Keep::Last),
            patience: None,
            // How many passes will come is not known, so that no rate can fall towards the last.
            schedule: Some(ScheduleConfig::default()),
            ..self.clone()
        }
    }

    /// The hinge and hard bootstrapping have kinks, which L-BFGS cannot pass, and the targets of ELR and soft bootstrapping move; a
    /// linear model with another optimiser is trained in passes.
    fn defaults(&self) -> Defaults {
        let has_kinks = matches!(self.loss, LossConfig::Hinge | LossConfig::BootstrapHard { .. });
        let moves = matches!(self.loss, LossConfig::Elr { .. } | LossConfig::BootstrapSoft { .. });
        let fixed_and_smooth = !has_kinks && !moves;
        let smooth = self.model() == ModelKind::Linear && fixed_and_smooth;
        match self.optimiser {
            None | Some(OptimiserKind::Lbfgs) if smooth => TO_THE_OPTIMUM,
            None if self.model() == ModelKind::Mlp => NETWORK,
            Some(OptimiserKind::Lbfgs) => Defaults { epochs: Some(PASSES), ..IN_PASSES },
            _ => IN_PASSES,
        }
    }
}
