//! The arms of a cell: base, the paper's and the authors' forms, candidates for the default, and ablations.

use cmrm::envelope::{EnvelopeConfig, Filter, MarginKind, Preset, Scale, Scope, Start};
use cmrm::loss::LossConfig;
use cmrm_train::train::{Arm, Term};

/// Where the search for a default started: the paper's bounded form, sharp, switched on after a quarter of the epochs.
fn origin() -> EnvelopeConfig {
    EnvelopeConfig {
        lambda: 1.0,
        alpha: 0.5,
        temperature: 0.2,
        start: Start::Fraction(0.25),
        ..Preset::Paper.config(&LossConfig::CrossEntropy)
    }
}

/// What a candidate changes.
type Change = fn(EnvelopeConfig) -> EnvelopeConfig;

/// Candidates for the default; they run with every loss. Names say what differs from the origin: `doubt` scales the risk
/// by the share in doubt, `ceiling` keeps the threshold at or below 0, `class` takes it class by class.
pub const CANDIDATES: [(&str, Change); 11] = [
    ("λ1", |c| c),
    ("λ1 ceiling", |c| EnvelopeConfig { ceiling: Some(0.0), ..c }),
    ("λ3 ceiling", |c| EnvelopeConfig { lambda: 3.0, ceiling: Some(0.0), ..c }),
    ("λ3 ceiling class", |c| EnvelopeConfig { lambda: 3.0, ceiling: Some(0.0), scope: Scope::Class, ..c }),
    ("λ10 doubt ceiling", |c| EnvelopeConfig { lambda: 10.0, scale: Scale::Doubt, ceiling: Some(0.0), ..c }),
    ("λ20 doubt ceiling", |c| EnvelopeConfig { lambda: 20.0, scale: Scale::Doubt, ceiling: Some(0.0), ..c }),
    ("λ10 doubt ceiling class", |c| EnvelopeConfig {
        lambda: 10.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        ..c
    }),
    ("λ20 doubt ceiling class", |c| EnvelopeConfig {
        lambda: 20.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        ..c
    }),
    ("λ40 doubt ceiling class", |c| EnvelopeConfig {
        lambda: 40.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        ..c
    }),
    ("λ20 doubt class", |c| EnvelopeConfig { lambda: 20.0, scale: Scale::Doubt, scope: Scope::Class, ..c }),
    ("λ20 doubt ceiling class start.5", |c| EnvelopeConfig {
        lambda: 20.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        start: Start::Fraction(0.5),
        ..c
    }),
];

/// One thing at a time, from the origin and from a candidate; they run with cross-entropy only.
pub const ABLATIONS: [(&str, Change); 19] = [
    ("λ3", |c| EnvelopeConfig { lambda: 3.0, ..c }),
    ("λ10", |c| EnvelopeConfig { lambda: 10.0, ..c }),
    ("λ10 doubt", |c| EnvelopeConfig { lambda: 10.0, scale: Scale::Doubt, ..c }),
    ("no filter", |c| EnvelopeConfig { filter: Filter::Off, ..c }),
    ("hard filter", |c| EnvelopeConfig { filter: Filter::Hard, ..c }),
    ("α.1", |c| EnvelopeConfig { alpha: 0.1, ..c }),
    ("α.3", |c| EnvelopeConfig { alpha: 0.3, ..c }),
    ("temp.1", |c| EnvelopeConfig { temperature: 0.1, ..c }),
    ("temp1", |c| EnvelopeConfig { temperature: 1.0, ..c }),
    ("start0", |c| EnvelopeConfig { start: Start::Fraction(0.0), ..c }),
    ("start.5", |c| EnvelopeConfig { start: Start::Fraction(0.5), ..c }),
    ("class", |c| EnvelopeConfig { scope: Scope::Class, ..c }),
    ("λ3 start0", |c| EnvelopeConfig { lambda: 3.0, start: Start::Fraction(0.0), ..c }),
    ("λ20 doubt no filter", |c| EnvelopeConfig { lambda: 20.0, scale: Scale::Doubt, filter: Filter::Off, ..c }),
    ("λ20 doubt ceiling class hard", |c| EnvelopeConfig {
        lambda: 20.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        filter: Filter::Hard,
        ..c
    }),
    ("λ20 doubt ceiling class α.3", |c| EnvelopeConfig {
        lambda: 20.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        alpha: 0.3,
        ..c
    }),
    ("λ20 doubt ceiling class temp.1", |c| EnvelopeConfig {
        lambda: 20.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        temperature: 0.1,
        ..c
    }),
    ("λ20 doubt ceiling class temp.5", |c| EnvelopeConfig {
        lambda: 20.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        temperature: 0.5,
        ..c
    }),
    ("λ20 doubt ceiling class start0", |c| EnvelopeConfig {
        lambda: 20.0,
        scale: Scale::Doubt,
        ceiling: Some(0.0),
        scope: Scope::Class,
        start: Start::Fraction(0.0),
        ..c
    }),
];

/// The arms of a cell with this loss; the base arm and those of `wanted`, if not all are wanted.
pub fn arms_of(loss: LossConfig, wanted: Option<&[String]>) -> Vec<Arm> {
    let mut arms = arms(loss);
    arms.retain(|arm| arm.name == "base" || wanted.is_none_or(|names| names.contains(&arm.name)));
    arms
}

fn arms(loss: LossConfig) -> Vec<Arm> {
    let mut arms = vec![Arm::base(loss)];
    arms.extend([Preset::Paper, Preset::Authors].map(|p| Arm::envelope(p.name(), loss, p.config(&loss))));
    let ablations: &[_] = if loss == LossConfig::CrossEntropy { &ABLATIONS } else { &[] };
    let more = CANDIDATES.iter().chain(ablations);
    arms.extend(more.map(|(name, change)| Arm::envelope(*name, loss, change(origin()))));
    arms
}

/// Whether an arm has the settings of the preset `robust`.
pub fn is_robust(name: &str) -> bool {
    let robust = Term::Envelope(Preset::Robust.config(&LossConfig::CrossEntropy));
    arms(LossConfig::CrossEntropy).iter().any(|arm| arm.name == name && arm.term == robust)
}

/// Weight, share, temperature and start of an arm with cross-entropy, and what else is unlike the paper's form.
pub fn describe(name: &str) -> String {
    let arms = arms(LossConfig::CrossEntropy);
    let Some(Term::Envelope(c)) = arms.iter().find(|arm| arm.name == name).map(|arm| arm.term) else {
        return "no envelope".into();
    };
    let start = match c.start {
        Start::Fraction(share) => share,
        Start::Epoch(epoch) => epoch as f64,
    };
    let mut words = format!("λ {}, α {}, {}, {start}", c.lambda, c.alpha, c.temperature);
    let extras = [
        (c.margin == MarginKind::Logit, "logits"),
        (c.filter == Filter::Hard, "hard filter"),
        (c.filter == Filter::Off, "no filter"),
        (c.scope == Scope::Class, "by class"),
        (c.ceiling == Some(0.0), "ceiling 0"),
        (c.scale == Scale::Doubt, "scaled by doubt"),
    ];
    extras.iter().filter(|(is, _)| *is).for_each(|(_, word)| words += &format!(", {word}"));
    words
}
