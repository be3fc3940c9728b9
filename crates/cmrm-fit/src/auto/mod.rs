//! The fit of several learners side by side: judged by rows that they have not seen, weighed, fitted again, and voted.
//!
//! 1. Every learner is trained on the labels as they are, so that each row is judged by copies that have not seen it (folds,
//!    out-of-bag trees, left-out rows of a kernel machine).
//! 2. Observed labels choose who votes, and how much each counts ([`cmrm_train::vote::choose`]).
//! 3. The margins of that vote become weights of the rows ([`cmrm::envelope::out_of_sample_weights`]).
//! 4. Those who vote are trained again with the weights. First and second copies vote together: weights gain most where many
//!    labels are wrong, and the first copies keep what they would cost where a class is just hard.

mod clock;
mod copies;
mod kernel;
mod linear;
mod need;
mod neighbours;
mod network;
mod setting;
mod task;
mod trees;

pub(crate) use need::of_vote;
use setting::{Family, Setting};

use cmrm::Matrix;
use cmrm::envelope::{EnvelopeConfig, Fade, OUT_OF_SAMPLE, out_of_sample_weights};
use cmrm::scores::most_likely;
use cmrm_run::BASE;
use cmrm_run::summary::MemberSummary;
use cmrm_train::Stop;
use cmrm_train::train::ClassWeights;
use cmrm_train::vote::{Vote, Voter, brier_score, choose};

use self::clock::Clock;
use self::copies::Copies;
use self::task::{Learned, Task};
use self::trees::Binned;
use crate::FitOutcome;
use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::outcome::FittedArm;
use crate::prepare::Prepared;
use crate::progress::Progress;
use crate::split::Split;

/// Most votes that are cast; a learner may have several of them.
const VOTES: usize = 8;

/// The margins of a vote are surer than those of one learner: a tenth of the labels in doubt is enough for the filter to act in
/// full.
const FADE: Fade = Fade { margin: -0.3, share: 0.1 };

/// What the learners of a vote have in common while they are trained.
struct Learners<'a> {
    task: Task<'a>,
    /// Made when the first trees need it.
    binned: Option<Binned>,
}

impl Learners<'_> {
    fn learn(
        &mut self,
        family: Family,
        settings: &[Setting],
        weights: Option<&[f32]>,
        stop: &Stop,
    ) -> Result<Vec<Learned>> {
        let task = &self.task;
        if matches!(family, Family::Forest | Family::Boosting) && self.binned.is_none() {
            self.binned = Some(Binned::new(task)?);
        }
        match (family, &self.binned) {
            (Family::Forest, Some(binned)) => trees::learn_forests(task, binned, settings, weights, stop),
            (Family::Boosting, Some(binned)) => trees::learn_boosting(task, binned, settings, weights, stop),
            (Family::Linear, _) => linear::learn(task, settings, weights, stop),
            (Family::Kernel, _) => kernel::learn(task, settings, weights, stop),
            (Family::Neighbours, _) => neighbours::learn(task, settings, weights, stop),
            (Family::Network, _) => network::learn(task, weights, stop),
            _ => Err(Error::Internal("trees without bins".into())),
        }
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
        if self.config().base {
            arms.push(base.named(BASE));
        }
        arms.push(robust.named(self.config().preset.name()));
        self.finish_vote(arms, weights, members)
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
    let families = Family::of(config.model());
    let steps = 2 * families.len();
    let clock = Clock::new(config.budget, stop);
    let mut learners = Learners { task, binned: None };
    let mut first = Vec::new();
    for (at, &family) in families.iter().enumerate() {
        watch.step(at, steps, family.name());
        let settings = family.settings(&rows.train.data);
        if settings.is_empty() {
            continue;
        }
        let mut learn = |stop: &Stop| learners.learn(family, &settings, own_weights, stop);
        let learned = if at == 0 { Some(learn(stop)?) } else { clock.within(FIRST_SHARE, learn)? };
        first.extend(learned.into_iter().flatten());
    }
    let candidates: Vec<&[f32]> = first.iter().map(|one| one.out_of_sample.as_slice()).collect();
    let chosen = choose(&candidates, labels, own_weights, classes, VOTES);
    let judged = Matrix::new(&chosen.out_of_sample, classes)?;
    let envelope = EnvelopeConfig { fade: Some(FADE), ..OUT_OF_SAMPLE }.validate()?;
    let weighed = out_of_sample_weights(&envelope, judged, labels, own_weights)?;
    let all_votes: usize = chosen.votes.iter().map(|(_, count)| count).sum();
    let share = |votes: usize| votes as f64 / all_votes as f64;
    let member = |&(place, votes): &(usize, usize)| worth(&first[place], share(votes), labels, own_weights, classes);
    let members = chosen.votes.iter().map(member).collect();
    let mut votes = take(first, &chosen.votes);
    let base = Arm { vote: vote_of(&votes)?, out_of_sample: chosen.out_of_sample };
    let mut out_of_sample = base.out_of_sample.clone();
    let mut again = None;
    // Where no label is in doubt, the second copies would be the first.
    if weighed.fade < 1.0 {
        let weights: Vec<f32> = match own_weights {
            Some(own) => weighed.weights.iter().zip(own).map(|(weight, own)| weight * own).collect(),
            None => weighed.weights.clone(),
        };
        again = learn_again(&mut learners, &families, &votes, &weights, &clock, watch)?;
    }
    if let Some(again) = again {
        out_of_sample.iter_mut().for_each(|p| *p *= 0.5);
        for ((learned, count), again) in votes.iter_mut().zip(again) {
            let half = 0.5 * share(*count) as f32;
            out_of_sample.iter_mut().zip(&again.out_of_sample).for_each(|(sum, p)| *sum += half * p);
            learned.copies.extend(again.copies);
        }
    }
    watch.step(steps, steps, "");
    Ok(Voted { base, robust: Arm { vote: vote_of(&votes)?, out_of_sample }, weights: weighed.weights, members })
}

/// Those of the learners that vote, with their votes.
fn take(learned: Vec<Learned>, votes: &[(usize, usize)]) -> Vec<(Learned, usize)> {
    let count = |place: usize| votes.iter().find(|(at, _)| *at == place).map(|(_, count)| *count);
    let counted = learned.into_iter().enumerate().filter_map(|(place, one)| Some((one, count(place)?)));
    counted.collect()
}

/// Trains those who vote with weights, in their order; nothing if the time does not suffice.
fn learn_again(
    learners: &mut Learners<'_>,
    families: &[Family],
    votes: &[(Learned, usize)],
    weights: &[f32],
    clock: &Clock<'_>,
    watch: &mut dyn Progress,
) -> Result<Option<Vec<Learned>>> {
    let mut again = Vec::with_capacity(votes.len());
    for (done, &family) in families.iter().enumerate() {
        let settings: Vec<Setting> =
            votes.iter().map(|(one, _)| one.setting).filter(|setting| setting.family() == family).collect();
        if settings.is_empty() {
            continue;
        }
        watch.step(families.len() + done, 2 * families.len(), family.name());
        let learn = |stop: &Stop| learners.learn(family, &settings, Some(weights), stop);
        match clock.within(LEARNING_SHARE, learn)? {
            Some(learned) => again.extend(learned),
            None => return Ok(None),
        }
    }
    Ok(Some(again))
}

fn vote_of(votes: &[(Learned, usize)]) -> Result<Vote> {
    let voter = |(learned, count): &(Learned, usize)| Voter {
        name: learned.setting.name(),
        share: *count as f64,
        copies: learned.copies.clone(),
    };
    Ok(Vote::new(votes.iter().map(voter).collect())?)
}

/// What one learner is worth, by observed labels of rows that it had not seen.
fn worth(learned: &Learned, share: f64, labels: &[u32], weights: Option<&[f32]>, classes: usize) -> MemberSummary {
    let rows = learned.out_of_sample.chunks_exact(classes).zip(labels);
    let right = rows.filter(|(row, label)| most_likely(row) == **label).count();
    MemberSummary {
        name: learned.setting.name(),
        share,
        accuracy: right as f64 / labels.len().max(1) as f64,
        brier: brier_score(&learned.out_of_sample, labels, weights, classes),
    }
}
