//! The fit of several learners side by side: judged by rows that they have not seen, weighed, fitted again, and voted.
//!
//! 1. Every learner is trained on the labels as they are, so that each row is judged by copies that have not seen it (folds,
//!    out-of-bag trees, left-out rows of a kernel machine).
//! 2. Each is calibrated, since some speak of the observed labels and some of clean ones ([`cmrm_train::vote::Calibration`]),
//!    and observed labels choose who votes, and how much each counts ([`cmrm_train::vote::choose`]).
//! 3. The margins of that vote become weights of the rows ([`cmrm::envelope::out_of_sample_weights`]).
//! 4. The kinds that vote are trained again with the weights, and observed labels choose again among their settings: with less
//!    noise to fear, more flexible ones win. Both votes count alike: weights gain most where many labels are wrong, and the first vote keeps
//!    what they would cost where a class is just hard.

mod chosen;
mod clock;
mod copies;
mod kernel;
mod linear;
mod need;
mod neighbours;
mod network;
mod scaling;
mod setting;
mod task;
mod trees;

pub(crate) use need::of_vote;
use setting::Setting;

use cmrm::Matrix;
use cmrm::envelope::{EnvelopeConfig, Fade, OUT_OF_SAMPLE, out_of_sample_weights};
use cmrm_run::BASE;
use cmrm_run::summary::{MemberSummary, WEIGHTED};
use cmrm_train::Stop;
use cmrm_train::train::ClassWeights;
use cmrm_train::vote::Vote;

use self::chosen::Chosen;
use self::clock::Clock;
use self::copies::Copies;
use self::task::{Learned, Task};
use self::trees::{Binned, Rivals};
use crate::FitOutcome;
use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::kinds::LearnerKind;
use crate::outcome::FittedArm;
use crate::prepare::Prepared;
use crate::progress::Progress;
use crate::split::Split;

/// The margins of a vote are surer than those of one learner: a tenth of the labels in doubt is enough for the filter to act in
/// full.
const FADE: Fade = Fade { margin: -0.3, share: 0.1 };

/// What the learners of a vote have in common while they are trained.
struct Learners<'a> {
    task: Task<'a>,
    /// What the rows count, whatever their labels.
    own_weights: Option<&'a [f32]>,
    /// Made when the first trees need it.
    binned: Option<Binned>,
}

impl Learners<'_> {
    /// Trains the learners of a kind, unless the `rivals` trained before make it superfluous, and calibrates it.
    fn learn(
        &mut self,
        kind: LearnerKind,
        settings: &[Setting],
        rivals: &[Learned],
        weights: Option<&[f32]>,
        stop: &Stop,
    ) -> Result<Vec<Learned>> {
        let task = &self.task;
        if settings.is_empty() {
            return Ok(Vec::new());
        }
        if matches!(kind, LearnerKind::Forest | LearnerKind::Boosting) && self.binned.is_none() {
            self.binned = Some(Binned::new(task)?);
        }
        let mut learned = match (kind, &self.binned) {
            (LearnerKind::Forest, Some(binned)) => trees::learn_forests(task, binned, settings, weights, stop),
            (LearnerKind::Boosting, Some(binned)) => {
                let rivals = Rivals { learned: rivals, own_weights: self.own_weights };
                trees::learn_boosting(task, binned, settings, &rivals, weights, stop)
            }
            (LearnerKind::Linear, _) => linear::learn(task, settings, weights, stop),
            (LearnerKind::Kernel, _) => kernel::learn(task, settings, weights, stop),
            (LearnerKind::Neighbours, _) => neighbours::learn(task, settings, weights, stop),
            (LearnerKind::Network, _) => network::learn(task, settings, weights, stop),
            _ => Err(Error::Internal("trees without bins".into())),
        }?;
        let labels = &task.part().data.labels;
        for one in &mut learned {
            stop.check()?;
            one.calibrate(labels, self.own_weights, task.classes);
        }
        Ok(learned)
    }
}

/// Share of the budget that the first copies of the learners may take, and that all may; the rest is for the report.
const FIRST_SHARE: f64 = 0.5;
const LEARNING_SHARE: f64 = 0.9;

impl Fit {
    /// Trains the learners that the settings' model names, chooses, weighs and trains again. `watch` hears of every learner. A
    /// learner that the budget does not suffice for does not vote; the first always does. If `watch` asks for an early end, that
    /// is an error: [`cmrm_train::Error::Stopped`].
    pub fn run_vote(self, watch: &mut dyn Progress) -> Result<FitOutcome> {
        self.check_memory()?;
        let stop = watch.stop();
        stop.check()?;
        let all = self.rows();
        let Voted { base, robust, weights, members } = match Copies::of(&all.train)? {
            None => vote(self.config(), all, &stop, watch)?,
            Some((distinct, copies)) => {
                let split =
                    Split { train: (0..distinct.data.len()).collect(), validation: Vec::new(), test: Vec::new() };
                let rows = Prepared::split(all.name.clone(), all.preprocess.clone(), distinct, split)?;
                vote(self.config(), &rows, &stop, watch)?.of_all(&copies, rows.train.data.classes.len())
            }
        };
        let mut arms = Vec::new();
        let judged = base.out_of_sample.clone();
        if self.config().base {
            arms.push(base.named(BASE));
        }
        arms.push(robust.named(self.config().preset.name()));
        self.finish_vote(arms, &judged, weights, members)
    }
}

/// Both arms of a vote, the weights of the rows, and what the learners are worth.
struct Voted {
    base: Arm,
    robust: Arm,
    weights: Vec<f32>,
    members: Vec<MemberSummary>,
}

impl Voted {
    /// The same, said of every copy of the rows.
    fn of_all(mut self, copies: &Copies, classes: usize) -> Self {
        for arm in [&mut self.base, &mut self.robust] {
            arm.out_of_sample = copies.spread(&arm.out_of_sample, classes);
        }
        self.weights = copies.spread(&self.weights, 1);
        self
    }
}

/// A vote, and its out-of-sample probabilities of the training rows.
struct Arm {
    vote: Vote,
    out_of_sample: Vec<f32>,
}

impl Arm {
    fn named(self, name: &str) -> FittedArm {
        let Arm { vote, out_of_sample } = self;
        FittedArm { name: name.into(), model: vote.into(), epoch: None, out_of_sample: Some(out_of_sample) }
    }
}

fn vote(config: &FitConfig, rows: &Prepared, stop: &Stop, watch: &mut dyn Progress) -> Result<Voted> {
    let task = Task::new(config, rows)?;
    let (classes, labels) = (task.classes, &rows.train.data.labels);
    let balance = if config.balance_classes { ClassWeights::Balanced } else { ClassWeights::Equal };
    let own_weights = rows.train.examples()?.combined_weights(&balance, classes)?;
    let own_weights = own_weights.as_deref();
    let clock = Clock::new(config.budget, stop);
    let mut learners = Learners { task, own_weights, binned: None };

    let of_kind = |kind: LearnerKind| (kind, kind.settings(config, &rows.train.data, learners.task.scalings()));
    let mut kinds: Vec<(LearnerKind, Vec<Setting>)> = LearnerKind::on(config, rows).into_iter().map(of_kind).collect();
    kinds.retain(|(_, settings)| !settings.is_empty());
    if kinds.is_empty() {
        return Err(Error::refused(format!(
            "none of the learners that are named is tried on {} rows; name others, or leave learners out",
            rows.train.data.len()
        )));
    }
    let mut first = Vec::new();
    for (at, (kind, settings)) in kinds.iter().enumerate() {
        watch.step(at, 2 * kinds.len(), kind.name());
        let mut learn = |stop: &Stop| learners.learn(*kind, settings, &first, own_weights, stop);
        let learned = if at == 0 { Some(learn(stop)?) } else { clock.within(FIRST_SHARE, learn)? };
        first.extend(learned.into_iter().flatten());
    }
    let first = Chosen::among(first, labels, own_weights, classes);
    let envelope = EnvelopeConfig { fade: Some(FADE), ..OUT_OF_SAMPLE }.validate()?;
    let judged = first.of_clean_labels(labels, classes);
    let weighed = out_of_sample_weights(&envelope, Matrix::new(&judged, classes)?, labels, own_weights)?;

    let mut again = Vec::new();
    // Where no label is in doubt, the second copies would be the first.
    if weighed.fade < 1.0 {
        let own = |row: usize| own_weights.map_or(1.0, |own| own[row]);
        let weights: Vec<f32> = weighed.weights.iter().enumerate().map(|(row, weight)| weight * own(row)).collect();
        for (at, (kind, _)) in kinds.iter().enumerate() {
            let settings = first.settings_of(*kind);
            if settings.is_empty() {
                continue;
            }
            watch.step(kinds.len() + at, 2 * kinds.len(), kind.name());
            let learn = |stop: &Stop| learners.learn(*kind, &settings, &[], Some(&weights), stop);
            let Some(learned) = clock.within(LEARNING_SHARE, learn)? else {
                // Half of a vote that lacks its best learners would be worse than none.
                again.clear();
                break;
            };
            again.extend(learned);
        }
    }
    watch.step(2 * kinds.len(), 2 * kinds.len(), "");
    let said = first.out_of_sample.clone();
    let (mut voters, mut members) = first.voters(&learners.task, "");
    let base = Arm { vote: Vote::new(voters.clone())?, out_of_sample: said };
    let mut out_of_sample = base.out_of_sample.clone();
    if !again.is_empty() {
        let again = Chosen::among(again, labels, own_weights, classes);
        out_of_sample.iter_mut().zip(&again.out_of_sample).for_each(|(p, again)| *p = 0.5 * (*p + again));
        let (more_voters, more_members) = again.voters(&learners.task, WEIGHTED);
        voters.extend(more_voters);
        members.extend(more_members);
        members.iter_mut().for_each(|member| member.share *= 0.5);
    }
    let robust = Arm { vote: Vote::new(voters)?, out_of_sample };
    Ok(Voted { base, robust, weights: weighed.weights, members })
}
