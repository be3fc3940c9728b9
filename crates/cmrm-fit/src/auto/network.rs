//! The network of `--model mlp`, with its envelope.

use cmrm_train::vote::Member;
use cmrm_train::{Predictor, Stop};

use super::setting::Setting;
use super::task::{Fold, Learned, Task, at, each_fold};
use crate::arms::arms;
use crate::config::FitConfig;
use crate::defaults::ENOUGH_TO_CHOOSE;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::kinds::ModelKind;
use crate::part::Part;
use crate::prepare::Prepared;
use crate::split::{Split, draw};

/// Share of a fold's training rows that the epoch is chosen by.
const VALIDATION_SHARE: f64 = 0.1;

/// Trains one network a fold, loss by loss.
pub(super) fn learn(
    task: &Task<'_>,
    settings: &[Setting],
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    settings.iter().map(|&setting| learn_one(task, setting, weights, stop)).collect()
}

fn learn_one(task: &Task<'_>, setting: Setting, weights: Option<&[f32]>, stop: &Stop) -> Result<Learned> {
    let Setting::Network { loss } = setting else {
        return Err(Error::Internal("a network with the settings of another".into()));
    };
    let seed = task.config.seed;
    let config = FitConfig { model: Some(ModelKind::Mlp), loss, seed, base: false, ..FitConfig::default() };
    let copies = each_fold(&task.folds, stop, |fold| {
        let all = task.part();
        let Part { data, clean, .. } = all.clone();
        let weighted = Part { data, clean, weights: at(weights, &(0..all.data.len()).collect::<Vec<_>>()) };
        let split = split(task, fold)?;
        let rows = Prepared::split(task.rows.name.clone(), task.rows.preprocess.clone(), weighted, split)?;
        let fit = Fit { arms: arms(&config), ..Fit::of(config.clone(), rows) };
        let outcome = fit.run_training(&mut stop.clone())?;
        let Predictor::Network(model) = outcome.envelope_arm()?.model.clone() else {
            return Err(Error::Internal("a network that is a vote".into()));
        };
        let (held, _) = outcome.rows.test.as_ref().ok_or_else(|| Error::Internal("a fold without rows".into()))?;
        let said = model.probabilities_in_blocks(held.x()?, stop)?;
        Ok((Member::Network(model), said))
    })?;
    Ok(task.learned(setting, copies))
}

/// The rows to learn from, rows to choose the epoch by where there are enough, and the fold as test rows.
fn split(task: &Task<'_>, fold: &Fold) -> Result<Split> {
    let data = &task.part().data;
    let own: Vec<u32> = fold.train.iter().map(|&row| data.labels[row]).collect();
    let drawn = draw(&own, &data.classes, 0.0, VALIDATION_SHARE, task.config.seed)?;
    if drawn.validation.len() < ENOUGH_TO_CHOOSE {
        return Ok(Split { train: fold.train.clone(), validation: Vec::new(), test: fold.held.clone() });
    }
    let rows = |part: &[usize]| part.iter().map(|&place| fold.train[place]).collect();
    Ok(Split { train: rows(&drawn.train), validation: rows(&drawn.validation), test: fold.held.clone() })
}
