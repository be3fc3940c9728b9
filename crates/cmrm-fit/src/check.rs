//! Settings that cannot work, or hardly ever do.

use cmrm::envelope::Preset;
use cmrm::loss::{Cores, LossConfig};
use cmrm_train::schedule::ScheduleConfig;

use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::kinds::{Keep, LearnerKind, ModelKind, OptimiserKind};

/// Above this β logits ran away on digits with 40 % wrong labels.
const BOUNDED_CORES: f64 = 0.3;

impl FitConfig {
    /// The first setting that differs from its default and that only a network or a linear model has.
    pub(crate) fn network_setting(&self) -> Option<&'static str> {
        let usual = FitConfig::default();
        [
            ("preset", self.preset != Preset::Robust),
            ("lambda", self.lambda.is_some()),
            ("alpha", self.alpha.is_some()),
            ("temperature", self.temperature.is_some()),
            ("start", self.start.is_some()),
            ("filter", self.filter.is_some()),
            ("scope", self.scope.is_some()),
            ("ceiling", self.ceiling.is_some()),
            ("scale", self.scale.is_some()),
            ("filter-base", self.filter_base.is_some()),
            ("running", self.running.is_some()),
            ("limit", self.limit.is_some()),
            ("fade", self.fade.is_some()),
            ("class-conditional", self.class_conditional),
            ("loss", self.loss != usual.loss),
            ("transition", self.transition.is_some()),
            ("hidden", self.hidden != usual.hidden),
            ("dropout", self.dropout != usual.dropout),
            ("optimiser", self.optimiser.is_some()),
            ("learning-rate", self.learning_rate != usual.learning_rate),
            ("schedule", self.schedule.is_some()),
            ("epochs", self.epochs.is_some()),
            ("steps", self.steps.is_some()),
            ("tolerance", self.tolerance != usual.tolerance),
            ("batch", self.batch != usual.batch),
            ("l2", self.l2.is_some()),
            ("weight-decay", self.weight_decay.is_some()),
            ("clip-norm", self.clip_norm.is_some()),
            ("keep", self.keep.is_some()),
            ("patience", self.patience.is_some()),
        ]
        .into_iter()
        .find_map(|(name, given)| given.then_some(name))
    }

    /// The same settings for what trains one network or linear model: a network where no model is given. A vote of learners
    /// is refused; `what` names the work that cannot take it.
    pub fn for_one_model(&self, what: &str) -> Result<FitConfig> {
        match self.model {
            Some(model) if model.is_vote() => Err(Error::refused(format!(
                "{what} needs a single network or linear model, which the model {} is not; set the model to mlp or linear, or \
                 leave it out",
                model.name()
            ))),
            model => Ok(FitConfig { model: Some(model.unwrap_or(ModelKind::Mlp)), ..self.clone() }),
        }
    }

    /// Refuses settings that the model does not have.
    fn check_model(&self) -> Result<()> {
        let model = self.model();
        if let Some(setting) = self.network_setting().filter(|_| model.is_vote()) {
            return Err(Error::refused(format!(
                "{setting} is a setting of a network or a linear model, and the model {} is neither alone; leave {setting} \
                 out, or set the model to mlp",
                model.name()
            )));
        }
        if let Some(learners) = &self.learners {
            let names: Vec<&str> = learners.iter().map(|kind| kind.name()).collect();
            if learners.is_empty() {
                let all = LearnerKind::ALL.map(LearnerKind::name).join(", ");
                return Err(Error::refused(format!("learners names none; leave it out, or name some of {all}")));
            }
            if model != ModelKind::Auto {
                return Err(Error::refused(format!(
                    "learners = {} says who votes in the model auto, and the model is {}; leave learners out, or set the model to auto",
                    names.join(", "),
                    model.name()
                )));
            }
        }
        match self.budget {
            Some(budget) if !(budget > 0.0 && budget.is_finite()) => {
                Err(Error::refused(format!("budget = {budget} is out of range: expected a positive number of seconds")))
            }
            Some(budget) if !model.is_vote() => Err(Error::refused(format!(
                "budget = {budget} limits the time of a vote of learners, and the model {} is a single one; leave budget out, \
                 or set the model to auto",
                model.name()
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses settings that cannot work.
    pub fn check(&self) -> Result<()> {
        self.check_model()?;
        for (name, share) in [("validation-share", self.validation_share), ("test-share", self.test_share)] {
            if let Some(share) = share
                && !(0.0..1.0).contains(&share)
            {
                return Err(Error::refused(format!("{name} = {share} is out of range: expected 0 to below 1")));
            }
        }
        if self.test.is_some() && self.test_share.is_some_and(|share| share > 0.0) {
            return Err(Error::refused("both a test file and a test-share are given; leave one out"));
        }
        if let (Some(epochs), Some(steps)) = (self.epochs, self.steps) {
            return Err(Error::refused(format!("both epochs = {epochs} and steps = {steps} are given; leave one out")));
        }
        if let (Some(Keep::Last), Some(patience)) = (self.keep, self.patience) {
            return Err(Error::refused(format!(
                "patience = {patience} keeps the best epoch, which keep = \"last\" forbids; leave one out"
            )));
        }
        if self.steps == Some(0) {
            return Err(Error::refused("steps = 0 is out of range: expected at least 1"));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            let found = self.tolerance;
            return Err(Error::refused(format!(
                "tolerance = {found} is out of range: expected a finite number, 0 or more"
            )));
        }
        if self.optimiser() == OptimiserKind::Lbfgs && self.dropout > 0.0 {
            return Err(Error::refused(format!(
                "dropout = {} is not supported by L-BFGS, which needs a fixed objective; leave it out, or set the optimiser to \
                 adam",
                self.dropout
            )));
        }
        if self.optimiser() == OptimiserKind::Lbfgs && matches!(self.loss, LossConfig::Elr { .. }) {
            return Err(Error::refused(
                "the loss elr is not supported by L-BFGS, which needs a fixed objective: the targets of elr move while it \
                 trains; set the optimiser to adam, or choose another loss",
            ));
        }
        if self.optimiser() == OptimiserKind::Lbfgs && matches!(self.loss, LossConfig::BootstrapSoft { .. }) {
            return Err(Error::refused(
                "the loss bootstrap-soft is not supported by L-BFGS, which needs a fixed objective: its target moves with the model; set \
                 the optimiser to adam, or choose another loss",
            ));
        }
        self.envelope().validate()?;
        self.train_config().validate()?;
        Ok(())
    }

    /// A word on settings that work, but hardly ever well or not as they may be meant.
    pub fn advice(&self) -> Option<String> {
        if self.transition.is_some() && !self.loss.needs_transition() {
            return Some(format!(
                "the method {} reads no transition matrix, and ignores the one that is given",
                self.loss.name()
            ));
        }
        if let LossConfig::Cores { beta } = self.loss
            && beta > BOUNDED_CORES
        {
            return Some(format!(
                "cores with a beta above {BOUNDED_CORES} has no optimum on most data, and logits run away; try cores:{}",
                Cores::DEFAULT_BETA
            ));
        }
        if self.optimiser() != OptimiserKind::Lbfgs {
            return None;
        }
        if self.l2() == Some(0.0) {
            return Some("without a penalty, L-BFGS memorises wrong labels; try l2 = 0.01".into());
        }
        let usual = FitConfig::default();
        let unused: Vec<&str> = [
            ("learning-rate", self.learning_rate != usual.learning_rate),
            ("batch", self.batch != usual.batch),
            ("steps", self.steps.is_some()),
            ("schedule", self.schedule.as_ref().is_some_and(|schedule| *schedule != ScheduleConfig::default())),
            ("weight-decay", self.weight_decay.is_some_and(|decay| decay > 0.0)),
            ("clip-norm", self.clip_norm != usual.clip_norm),
        ]
        .into_iter()
        .filter_map(|(name, changed)| changed.then_some(name))
        .collect();
        (!unused.is_empty()).then(|| {
            let unused = unused.join(", ");
            format!("L-BFGS takes all rows at once and ignores {unused}; these settings are for other optimisers, such as adam")
        })
    }
}
