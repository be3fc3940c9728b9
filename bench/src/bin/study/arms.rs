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

/// The three guards together: thresholds by class, none above 0, and a risk that is scaled by the share in doubt.
fn safe(lambda: f64, from: EnvelopeConfig) -> EnvelopeConfig {
    EnvelopeConfig { lambda, scope: Scope::Class, ceiling: Some(0.0), scale: Scale::Doubt, ..from }
}

/// Candidates for the default; they run with every loss. Names say what differs from the origin: `doubt` scales the risk
/// by the share in doubt, `ceiling` keeps the threshold at or below 0, `class` takes it class by class, `safe` is all three.
pub const CANDIDATES: [(&str, Change); 13] = [
    ("λ1", |c| c),
    ("λ1 ceiling", |c| EnvelopeConfig { ceiling: Some(0.0), ..c }),
    ("λ3 ceiling class", |c| EnvelopeConfig { lambda: 3.0, ceiling: Some(0.0), scope: Scope::Class, ..c }),
    ("λ10 doubt ceiling", |c| EnvelopeConfig { lambda: 10.0, scale: Scale::Doubt, ceiling: Some(0.0), ..c }),
    ("λ20 doubt class", |c| EnvelopeConfig { lambda: 20.0, scale: Scale::Doubt, scope: Scope::Class, ..c }),
    ("safe λ10", |c| safe(10.0, c)),
    ("safe λ20", |c| safe(20.0, c)),
    ("safe λ40", |c| safe(40.0, c)),
    ("safe λ20 α.3", |c| EnvelopeConfig { alpha: 0.3, ..safe(20.0, c) }),
    ("safe λ20 start.5", |c| EnvelopeConfig { start: Start::Fraction(0.5), ..safe(20.0, c) }),
    ("safe λ10 α.3 start.5", |c| EnvelopeConfig { alpha: 0.3, start: Start::Fraction(0.5), ..safe(10.0, c) }),
    ("safe λ20 α.3 start.5", |c| EnvelopeConfig { alpha: 0.3, start: Start::Fraction(0.5), ..safe(20.0, c) }),
    ("safe λ40 α.3 start.5", |c| EnvelopeConfig { alpha: 0.3, start: Start::Fraction(0.5), ..safe(40.0, c) }),
];

/// One thing at a time, from the origin and from a candidate; they run with cross-entropy only.
pub const ABLATIONS: [(&str, Change); 20] = [
    ("λ3", |c| EnvelopeConfig { lambda: 3.0, ..c }),
    ("λ10", |c| EnvelopeConfig { lambda: 10.0, ..c }),
    ("λ10 doubt", |c| EnvelopeConfig { lambda: 10.0, scale: Scale::Doubt, ..c }),
    ("λ3 ceiling", |c| EnvelopeConfig { lambda: 3.0, ceiling: Some(0.0), ..c }),
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
    ("safe λ20, not by class", |c| EnvelopeConfig { scope: Scope::Batch, ..safe(20.0, c) }),
    ("safe λ20, no filter", |c| EnvelopeConfig { filter: Filter::Off, ..safe(20.0, c) }),
    ("safe λ20, hard filter", |c| EnvelopeConfig { filter: Filter::Hard, ..safe(20.0, c) }),
    ("safe λ20 temp.1", |c| EnvelopeConfig { temperature: 0.1, ..safe(20.0, c) }),
    ("safe λ20 temp.5", |c| EnvelopeConfig { temperature: 0.5, ..safe(20.0, c) }),
    ("safe λ20 start0", |c| EnvelopeConfig { start: Start::Fraction(0.0), ..safe(20.0, c) }),
];

/// The arms of a cell with this loss.
pub fn arms(loss: LossConfig) -> Vec<Arm> {
    let mut arms = vec![Arm::base(loss)];
    arms.extend([Preset::Paper, Preset::Authors].map(|p| Arm::envelope(p.name(), loss, p.config(&loss))));
    let ablations: &[_] = if loss == LossConfig::CrossEntropy { &ABLATIONS } else { &[] };
    let more = CANDIDATES.iter().chain(ablations);
    arms.extend(more.map(|(name, change)| Arm::envelope(*name, loss, change(origin()))));
    arms
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
