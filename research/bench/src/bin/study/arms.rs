//! The arms of a cell: base, `robust`, what `robust` is without a look at held-back rows and was before, and with one thing changed.

use cmrm::envelope::{EnvelopeConfig, Preset, Scale, Scope, Start};
use cmrm::loss::LossConfig;
use cmrm_fit::{FitConfig, ModelKind};
use cmrm_train::train::Arm;

/// The arm without an envelope.
pub const BASE: &str = "base";
/// The preset as it is; base and this arm are in every cell.
pub const ROBUST: &str = "robust";
/// The preset as it is trained: where held-back rows say that it did harm, `robust` has the base arm's model, and this arm its own.
pub const UNCHECKED: &str = "unchecked";
/// The preset as it was.
pub const BEFORE: &str = "before";

/// The vote of the model's own kind of learner, whose rows are weighed by out-of-sample margins; with cross-entropy only.
pub const VOTE: &str = "vote";
/// The same before any row is weighed.
pub const FIRST_VOTE: &str = "first vote";

/// `robust` with one thing changed.
type Change = fn(EnvelopeConfig) -> EnvelopeConfig;

/// What each part of `robust` is worth; for the network with cross-entropy only.
pub const ABLATIONS: [(&str, Change); 6] = [
    ("no filter", |c| EnvelopeConfig { filter_base: false, ..c }),
    ("no running", |c| EnvelopeConfig { running: None, ..c }),
    ("no limit", |c| EnvelopeConfig { limit: None, ..c }),
    ("no fade", |c| EnvelopeConfig { fade: None, ..c }),
    ("λ 0", |c| EnvelopeConfig { lambda: 0.0, ..c }),
    ("start .25", |c| EnvelopeConfig { start: Start::Fraction(0.25), ..c }),
];

/// The arms of a cell by name: base, `robust`, and those of `wanted` that exist for this model and loss.
pub fn names(model: ModelKind, loss: &LossConfig, wanted: &[String]) -> Vec<&'static str> {
    let ablated = model == ModelKind::Mlp && *loss == LossConfig::CrossEntropy;
    let ablations = ABLATIONS.iter().map(|(name, _)| *name).filter(|_| ablated);
    let votes = Some(VOTE).filter(|_| *loss == LossConfig::CrossEntropy);
    let more =
        std::iter::once(BEFORE).chain(votes).chain(ablations).filter(|name| wanted.iter().any(|other| other == name));
    [BASE, ROBUST].into_iter().chain(more).collect()
}

/// Every name that can be wanted.
pub fn known() -> Vec<&'static str> {
    [BEFORE, VOTE].into_iter().chain(ABLATIONS.iter().map(|(name, _)| *name)).collect()
}

/// Arms that are trained side by side; a vote is none of them. Those of a group start together, so that none waits for another before its epochs
/// count; base goes with `robust`, as in the command.
pub fn groups(config: &FitConfig, names: &[&str]) -> Vec<Vec<Arm>> {
    let robust = config.envelope();
    let mut groups: Vec<(Start, Vec<Arm>)> = Vec::new();
    for &name in names.iter().filter(|name| **name != VOTE) {
        let envelope = match name {
            BASE | ROBUST => robust,
            BEFORE => before(config),
            _ => ABLATIONS.iter().find(|(other, _)| *other == name).map_or(robust, |(_, change)| change(robust)),
        };
        let arm = if name == BASE { Arm::base(config.loss) } else { Arm::envelope(name, config.loss, envelope) };
        match groups.iter_mut().find(|(start, _)| *start == envelope.start) {
            Some((_, arms)) => arms.push(arm),
            None => groups.push((envelope.start, vec![arm])),
        }
    }
    groups.into_iter().map(|(_, arms)| arms).collect()
}

/// The preset as it was before the filter acted on the base loss, with the weight that each model had.
fn before(config: &FitConfig) -> EnvelopeConfig {
    EnvelopeConfig {
        lambda: if config.model() == ModelKind::Linear { 3.0 } else { 10.0 },
        alpha: 0.5,
        temperature: 0.2,
        start: Start::Fraction(0.25),
        scope: Scope::Class,
        ceiling: Some(0.0),
        scale: Scale::Doubt,
        ..Preset::Paper.config(&config.loss)
    }
}
