//! The settings whose default depends on the model, in one place.

use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;

use crate::config::{FitConfig, ModelKind, OptimiserKind};

/// How a model is trained where nothing is said.
struct Defaults {
    optimiser: OptimiserKind,
    epochs: usize,
    /// Penalty on the weights; nothing where the rows decide ([`crate::with_penalty`]).
    l2: Option<f64>,
    /// Weight of the envelope `robust`; that of the preset if absent.
    robust: Option<f64>,
}

/// A network stops early on purpose: the further it goes, the more wrong labels it has learned by heart.
const IN_PASSES: Defaults = Defaults { optimiser: OptimiserKind::Adam, epochs: 40, l2: Some(0.0), robust: None };

/// A linear model has one optimum, and L-BFGS finds it; the tolerance is met long before the iterations are used up. The
/// penalty, not an early end, keeps wrong labels from being learned by heart. At the optimum many rows are in doubt because
/// no line can separate them, not because their labels are wrong; the full weight of `robust` would give them all up.
/// `research/peers/linear` measures both against scikit-learn.
const TO_THE_OPTIMUM: Defaults =
    Defaults { optimiser: OptimiserKind::Lbfgs, epochs: 1000, l2: None, robust: Some(3.0) };

impl FitConfig {
    /// The optimiser.
    pub fn optimiser(&self) -> OptimiserKind {
        self.optimiser.unwrap_or(self.defaults().optimiser)
    }

    /// Passes over the rows, or the most iterations of L-BFGS.
    pub fn epochs(&self) -> usize {
        self.epochs.unwrap_or(self.defaults().epochs)
    }

    /// Penalty on the weights; nothing as long as the rows are to decide ([`crate::with_penalty`]).
    pub fn l2(&self) -> Option<f64> {
        self.l2.or(self.defaults().l2)
    }

    /// Weight of the envelope where none is given.
    pub(crate) fn usual_lambda(&self) -> f64 {
        let own = self.preset.config(&self.loss).lambda;
        if self.preset == Preset::Robust { self.defaults().robust.unwrap_or(own) } else { own }
    }

    /// The same settings with everything that needs no rows decided.
    pub fn resolved(&self) -> FitConfig {
        FitConfig { optimiser: Some(self.optimiser()), epochs: Some(self.epochs()), l2: self.l2(), ..self.clone() }
    }

    /// The same settings for rows that come in chunks, each of them seen once: what was left open is that of training in
    /// passes, whatever the model, since L-BFGS needs all rows at once.
    pub fn in_passes(&self) -> FitConfig {
        FitConfig {
            optimiser: self.optimiser.or(Some(IN_PASSES.optimiser)),
            epochs: self.epochs.or(Some(IN_PASSES.epochs)),
            l2: self.l2.or(IN_PASSES.l2),
            ..self.clone()
        }
    }

    /// The hinge has kinks, which L-BFGS cannot pass, and ELR's targets move; a linear model with another optimiser is
    /// trained in passes.
    fn defaults(&self) -> Defaults {
        let fixed_and_smooth = !matches!(self.loss, LossConfig::Hinge | LossConfig::Elr { .. });
        let smooth = self.model == ModelKind::Linear && fixed_and_smooth;
        let wanted = self.optimiser.is_none_or(|optimiser| optimiser == OptimiserKind::Lbfgs);
        if smooth && wanted { TO_THE_OPTIMUM } else { IN_PASSES }
    }
}
