//! Forests, whose out-of-bag predictions need no folds, and boosting by folds.

use cmrm::scores::softmax;
use cmrm_data::preprocess::{Encoder, Fill, Preprocess};
use cmrm_train::Stop;
use cmrm_train::trees::{
    Bins, Boosting, BoostingConfig, Codes, CrossEntropy, Forest, ForestConfig, HeldOut, TreeColumn, TreeColumns,
};
use cmrm_train::vote::{Calibration, Member, choose};

use super::chosen::VOTES;
use super::linear::by_setting;
use super::setting::{Setting, codes_read};
use super::task::{Fold, Learned, Task, at, each_fold};
use crate::error::{Error, Result};

/// Codes that boosting reads, from which on it has to show on one fold that it is worth the others: a few seconds of one core.
const COSTLY_CODES: usize = 200_000_000;

/// Trees of a forest.
pub(super) const TREES: usize = 200;

/// The rows as trees read them. Bins are learned once for all folds, since no label has a part in them.
pub(super) struct Binned {
    bins: Bins,
    codes: Codes,
}

impl Binned {
    pub fn new(task: &Task<'_>) -> Result<Self> {
        let x = task.part().data.x()?;
        let bins = Bins::learn(x, &tree_columns(&task.rows.preprocess)?, None)?;
        let codes = bins.codes(x)?;
        Ok(Binned { bins, codes })
    }
}

/// Trains forests.
pub(super) fn learn_forests(
    task: &Task<'_>,
    binned: &Binned,
    settings: &[Setting],
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    let labels = &task.part().data.labels;
    let one = |&setting: &Setting| {
        let Setting::Forest { min_leaf } = setting else {
            return Err(Error::Internal("a forest with the settings of another learner".into()));
        };
        let config = ForestConfig { trees: TREES, min_leaf, seed: task.config.seed, ..ForestConfig::default() };
        let (forest, out_of_bag) =
            Forest::fit(&binned.bins, &binned.codes, labels, task.classes, weights, &config, stop)?;
        Ok(Learned::new(setting, out_of_bag.probabilities, vec![Member::Forest(forest)]))
    };
    settings.iter().map(one).collect()
}

/// Trains boosting fold by fold, once for all numbers of rounds. Where that takes long, the first fold decides whether it is worth
/// it: nothing is returned if the `rivals` would not let it vote there.
pub(super) fn learn_boosting(
    task: &Task<'_>,
    binned: &Binned,
    settings: &[Setting],
    rivals: &Rivals<'_>,
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    let rounds: Vec<usize> = settings
        .iter()
        .filter_map(|setting| match setting {
            Setting::Boosting { rounds } => Some(*rounds),
            _ => None,
        })
        .collect();
    let most = rounds.iter().copied().max().unwrap_or(1);
    let one = |fold: &Fold| boost(task, binned, &rounds, fold, weights, stop);
    let mut folds = Vec::with_capacity(task.folds.len());
    if !rivals.learned.is_empty() && codes_read(&task.part().data, most) > COSTLY_CODES {
        let copies = one(&task.folds[0])?;
        if !rivals.ask(task, &task.folds[0], &copies) {
            return Ok(Vec::new());
        }
        folds.push(copies);
    }
    folds.extend(each_fold(&task.folds[folds.len()..], stop, one)?);
    Ok(by_setting(task, settings, folds))
}

/// The copies of one fold, one for each number of rounds, with what they say of the held-out rows.
fn boost(
    task: &Task<'_>,
    binned: &Binned,
    rounds: &[usize],
    fold: &Fold,
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<(Member, Vec<f32>)>> {
    let most = rounds.iter().copied().max().unwrap_or(1);
    let config = BoostingConfig { rounds: most, seed: task.config.seed, ..BoostingConfig::default() };
    let labels = &task.part().data.labels;
    let of = |rows: &[usize]| -> (Codes, Vec<u32>) {
        let places: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        (binned.codes.select(&places), rows.iter().map(|&row| labels[row]).collect())
    };
    let ((train, train_labels), (held, held_labels)) = (of(&fold.train), of(&fold.held));
    let weights = at(weights, &fold.train);
    let mut objective = CrossEntropy::new(&train_labels, task.classes, weights.as_deref())?;
    let mut said: Vec<Vec<f32>> = vec![Vec::new(); rounds.len()];
    let mut staged = |round: usize, logits: &[f32]| {
        for (said, _) in said.iter_mut().zip(rounds).filter(|(_, wanted)| **wanted == round) {
            *said = logits.to_vec();
            said.chunks_exact_mut(task.classes).for_each(softmax);
        }
    };
    let held_out = HeldOut { codes: &held, labels: &held_labels, staged: Some(&mut staged) };
    let fitted = Boosting::fit(&binned.bins, &train, &mut objective, &config, Some(held_out), stop)?;
    let copies = rounds.iter().zip(said).map(|(&rounds, mut said)| {
        let mut model = fitted.model.clone();
        model.truncate(rounds);
        // Training ends early where no leaf can be split any more: there were no later rounds to hear of.
        if said.is_empty() {
            said = model.probabilities(task.part().data.gather(&fold.held)?.x()?)?;
        }
        Ok((Member::Boosting(model), said))
    });
    copies.collect()
}

/// The learners that were trained before.
pub(super) struct Rivals<'a> {
    pub learned: &'a [Learned],
    /// What the rows count, whatever their labels.
    pub own_weights: Option<&'a [f32]>,
}

impl Rivals<'_> {
    /// Whether one of the copies of a fold would vote beside them, by the observed labels of the fold.
    fn ask(&self, task: &Task<'_>, fold: &Fold, copies: &[(Member, Vec<f32>)]) -> bool {
        let classes = task.classes;
        let labels: Vec<u32> = fold.held.iter().map(|&row| task.part().data.labels[row]).collect();
        let weights = at(self.own_weights, &fold.held);
        let of_rival = |one: &Learned| -> Vec<f32> {
            fold.held.iter().flat_map(|&row| &one.out_of_sample[row * classes..(row + 1) * classes]).copied().collect()
        };
        let calibrated = |(_, said): &(Member, Vec<f32>)| {
            let mut said = said.clone();
            Calibration::fit(&said, &labels, weights.as_deref(), classes).apply(&mut said, classes);
            said
        };
        let said: Vec<Vec<f32>> = self.learned.iter().map(of_rival).chain(copies.iter().map(calibrated)).collect();
        let candidates: Vec<&[f32]> = said.iter().map(Vec::as_slice).collect();
        let chosen = choose(&candidates, &labels, weights.as_deref(), classes, VOTES);
        chosen.votes.iter().any(|&(place, _)| place >= self.learned.len())
    }
}

/// How trees read the features that come of the columns: numbers whose missing cells are flagged, and names. Of words they read
/// none where there is anything else: each says little, and there are very many.
pub(super) fn tree_columns(preprocess: &Preprocess) -> Result<TreeColumns> {
    if !preprocess.has_other_than_words() {
        return Ok(TreeColumns::numbers(preprocess.width()));
    }
    let (mut columns, mut first) = (Vec::new(), 0);
    for plan in preprocess.columns() {
        let end = first + plan.width();
        let missing = plan.flag.then(|| end.saturating_sub(1));
        match &plan.encoder {
            Encoder::Dropped | Encoder::Text(_) => {}
            Encoder::Number(_) | Encoder::Days(_) | Encoder::Ordinal { .. } => {
                columns.push(TreeColumn::Number { at: first, missing });
            }
            Encoder::Parts(parts) => {
                columns.extend((0..parts.len()).map(|part| TreeColumn::Number { at: first + part, missing }));
            }
            Encoder::OneHot { levels } => {
                let own = usize::from(plan.fill == Some(Fill::OwnCategory));
                columns.push(TreeColumn::Names { at: first, levels: levels.len() + own });
                columns.extend(missing.map(|at| TreeColumn::Number { at, missing: None }));
            }
        }
        first = end;
    }
    Ok(TreeColumns::new(first, columns)?)
}
