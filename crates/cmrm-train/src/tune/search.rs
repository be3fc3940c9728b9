//! The search itself: fold by fold, giving up the worse half of the settings after each.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use cmrm::criterion::{Criterion, Ensemble};
use cmrm::error::{check_length, check_parameter};
use cmrm::scores::most_likely;
use cmrm::{Matrix, OwnedRows};

use super::choice::{Standing, standings};
use super::{Folds, Setting, Trial};
use crate::error::{Error, Result};
use crate::stop::Stop;
use crate::train::{EpochStats, Examples, Observer, Trained, Trainer};

/// How a search goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchConfig {
    /// Folds; 1 is a hold-out.
    pub folds: usize,
    /// Share of the rows that a hold-out judges by.
    pub hold_out: f64,
    /// What decides who goes on.
    pub criterion: Criterion,
    /// Settings that are never given up before the last fold, besides those to keep.
    pub finalists: usize,
    /// Seed of the folds.
    pub seed: u64,
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig { folds: 5, hold_out: 0.2, criterion: Criterion::Observed, finalists: 6, seed: 0 }
    }
}

/// Watches a search.
pub trait Progress {
    /// What asks the search to stop, from another thread: it ends soon, without the fold under way.
    fn stop(&self) -> Option<Stop> {
        None
    }

    /// Before a training: how many settings run side by side in which fold.
    fn training(&mut self, _fold: usize, _settings: usize) {}

    /// After every epoch; breaking ends the search without the fold under way.
    fn epoch(&mut self, _done: usize, _of: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// After every fold, with all trials so far and where the settings stand.
    fn fold(&mut self, _fold: usize, _trials: &[Trial], _standings: &[Standing]) -> Result<()> {
        Ok(())
    }
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// All trials, fold by fold in the order of the settings.
    pub trials: Vec<Trial>,
    /// Whether every fold is done.
    pub complete: bool,
}

/// Runs the folds that `done` does not hold.
pub fn search(
    config: &SearchConfig,
    settings: &[Setting],
    data: Examples<'_, f32>,
    classes: usize,
    done: Vec<Trial>,
    progress: &mut dyn Progress,
) -> Result<Searched> {
    check_parameter("settings", settings.len() as f64, !settings.is_empty(), "at least one to try")?;
    let names: BTreeSet<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
    check_length("settings with unique names", settings.len(), names.len())?;
    data.check(classes)?;
    let folds = Folds::draw(data.labels, classes, config.folds, config.hold_out, config.seed)?;
    let mut trials: Vec<Trial> = Vec::new();
    let mut active: Vec<usize> = (0..settings.len()).collect();
    for fold in 0..folds.len() {
        let known = active.iter().map(|&i| {
            let is_it = |trial: &&Trial| trial.fold == fold && trial.setting == settings[i].name;
            done.iter().find(is_it).cloned()
        });
        let of_fold = match known.collect::<Option<Vec<Trial>>>() {
            Some(known) => known,
            None => match run_fold(settings, &active, &folds, fold, data, classes, progress) {
                Err(Error::Stopped) => return Ok(Searched { trials, complete: false }),
                of_fold => of_fold?,
            },
        };
        trials.extend(of_fold);
        let standings = standings(settings, &trials);
        progress.fold(fold, &trials, &standings)?;
        active = survivors(config, settings, &active, &standings);
    }
    Ok(Searched { trials, complete: true })
}

/// The better half by the criterion, but no fewer than the finalists; the leaders by every other criterion, so that what
/// they would choose can be told; and those to keep. A setting that failed is given up.
fn survivors(config: &SearchConfig, settings: &[Setting], active: &[usize], standings: &[Standing]) -> Vec<usize> {
    let ranked = |criterion: Criterion| {
        let score = |i: usize| standings[i].verdict.and_then(|verdict| verdict.by(criterion));
        let mut ranked: Vec<usize> = active.iter().copied().filter(|&i| score(i).is_some()).collect();
        // A stable sort: the first listed of equals.
        ranked.sort_by(|&a, &b| score(b).unwrap_or(f64::MIN).total_cmp(&score(a).unwrap_or(f64::MIN)));
        ranked
    };
    let mut kept: BTreeSet<usize> = active
        .iter()
        .copied()
        .filter(|&i| settings[i].keep && standings[i].verdict.is_some())
        .chain(Criterion::ALL.into_iter().filter_map(|criterion| ranked(criterion).first().copied()))
        .collect();
    kept.extend(ranked(config.criterion).into_iter().take((active.len().div_ceil(2)).max(config.finalists)));
    kept.into_iter().collect()
}

/// Trains the active settings for one fold, those with the same training side by side, and judges them together.
/// [`Error::Stopped`] if the search is to end here.
fn run_fold(
    settings: &[Setting],
    active: &[usize],
    folds: &Folds,
    fold: usize,
    data: Examples<'_, f32>,
    classes: usize,
    progress: &mut dyn Progress,
) -> Result<Vec<Trial>> {
    let stop = progress.stop().unwrap_or_default();
    let train = Gathered::gather(&data, &folds.training(fold));
    let held = Gathered::gather(&data, &folds.held(fold));
    let witnesses = Gathered::gather(&data, folds.witnesses());
    let held_x = held.x.view()?;
    // Probabilities of the held rows and classes of the witnesses, or why there are none.
    type Judged = std::result::Result<(Vec<f32>, Vec<u32>), String>;
    let mut judged: Vec<Option<Judged>> = vec![None; active.len()];
    while let Some(first) = judged.iter().position(Option::is_none) {
        let shared = &settings[active[first]].train;
        let group: Vec<usize> =
            (first..active.len()).filter(|&a| judged[a].is_none() && settings[active[a]].train == *shared).collect();
        progress.training(fold, group.len());
        let arms = group
            .iter()
            .map(|&a| crate::train::Arm { name: settings[active[a]].name.clone(), ..settings[active[a]].arm.clone() });
        let mut trainer = Trainer::new(shared.clone(), arms.collect(), classes, train.examples()?, None)?;
        let mut watch = Watch { progress: &mut *progress, broken: false };
        match trainer.run(&mut watch) {
            Ok(()) => {}
            // One setting that diverges does not take the others with it: they train again without it.
            Err(error @ Error::Diverged { .. }) => {
                let Error::Diverged { arm, .. } = &error else { continue };
                let at = group.iter().copied().find(|&a| settings[active[a]].name == *arm).unwrap_or(first);
                judged[at] = Some(Err(error.to_string()));
                continue;
            }
            Err(error) => return Err(error),
        }
        if watch.broken {
            return Err(Error::Stopped);
        }
        stop.check()?;
        for (&a, trained) in group.iter().zip(trainer.finish()?) {
            let witness = if witnesses.labels.is_empty() { Vec::new() } else { witnesses.predict(&trained)? };
            judged[a] = Some(Ok((trained.model.probabilities_in_blocks(held_x, &stop)?, witness)));
        }
    }
    let judged: Vec<Judged> = judged.into_iter().flatten().collect();
    let probabilities =
        judged.iter().flatten().map(|(p, _)| Matrix::new(p, classes)).collect::<std::result::Result<Vec<_>, _>>()?;
    let weighed = || Ensemble::new(&probabilities, &held.labels)?.with_row_weights(held.weights.as_deref());
    let ensemble = if probabilities.is_empty() { None } else { Some(weighed()?) };
    let mut trials = Vec::with_capacity(active.len());
    for (&i, judged) in active.iter().zip(judged) {
        let mut trial = Trial {
            setting: settings[i].name.clone(),
            fold,
            rows: held.labels.len(),
            verdict: None,
            failure: None,
            witness: Vec::new(),
        };
        match judged {
            Ok((p, witness)) => {
                let predicted: Vec<u32> = p.chunks_exact(classes).map(most_likely).collect();
                trial.verdict = ensemble.as_ref().map(|ensemble| ensemble.judge(&predicted)).transpose()?;
                trial.witness = witness;
            }
            Err(failure) => trial.failure = Some(failure),
        }
        trials.push(trial);
    }
    Ok(trials)
}

/// Rows side by side.
struct Gathered {
    x: OwnedRows<f32>,
    labels: Vec<u32>,
    weights: Option<Vec<f32>>,
}

impl Gathered {
    fn gather(data: &Examples<'_, f32>, rows: &[usize]) -> Self {
        Gathered {
            x: data.x.gather(rows),
            labels: rows.iter().map(|&row| data.labels[row]).collect(),
            weights: data.row_weights.map(|weights| rows.iter().map(|&row| weights[row]).collect()),
        }
    }

    fn examples(&self) -> Result<Examples<'_, f32>> {
        let examples = Examples::new(self.x.view()?, &self.labels);
        Ok(Examples { row_weights: self.weights.as_deref(), ..examples })
    }

    fn predict(&self, trained: &Trained<f32>) -> Result<Vec<u32>> {
        let logits = trained.model.logits_in_blocks(self.x.view()?, &Stop::default())?;
        Ok(logits.chunks_exact(trained.model.classes()).map(most_likely).collect())
    }
}

/// Hands a training's epochs on to whoever watches the search.
struct Watch<'a> {
    progress: &'a mut dyn Progress,
    broken: bool,
}

impl Observer<f32> for Watch<'_> {
    fn stop(&self) -> Option<Stop> {
        self.progress.stop()
    }

    fn epoch(&mut self, trainer: &Trainer<'_, f32>, _stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        let flow = self.progress.epoch(trainer.epochs_done(), trainer.epochs());
        self.broken = flow.is_break();
        Ok(flow)
    }
}
