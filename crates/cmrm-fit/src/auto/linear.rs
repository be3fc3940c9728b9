//! Linear models, to their optimum.

use cmrm::loss::LossConfig;
use cmrm_train::Stop;
use cmrm_train::train::{Arm, Method, Selection, TrainConfig, Trainer};
use cmrm_train::vote::Member;

use super::setting::Setting;
use super::task::{Learned, Task, at, each_fold};
use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::kinds::ModelKind;

/// Trains them fold by fold. Each penalty starts where the next stronger one ended, and every other loss where cross-entropy did, whose
/// optimum is the only one.
pub(super) fn learn(
    task: &Task<'_>,
    settings: &[Setting],
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    let config = FitConfig { model: Some(ModelKind::Linear), seed: task.config.seed, ..FitConfig::default() };
    let method = Method::FullBatch(config.lbfgs_to_compare(task.part().data.x()?));
    let config = TrainConfig { method, selection: Selection::Last, ..config.train_config() };
    let folds = each_fold(&task.folds, stop, |fold| {
        let (train, held) = (task.part().data.gather(&fold.train)?, task.part().data.gather(&fold.held)?);
        let weights = at(weights, &fold.train);
        let mut rows = cmrm_train::train::Examples::new(train.x()?, &train.labels);
        rows.row_weights = weights.as_deref();
        let mut optima: Vec<(f64, Vec<f32>)> = Vec::new();
        let mut copies = Vec::with_capacity(settings.len());
        for setting in settings {
            let Setting::Linear { loss, strength } = *setting else {
                return Err(Error::Internal("a linear model with the settings of another".into()));
            };
            let config = TrainConfig { l2: strength / train.len() as f64, ..config.clone() };
            let mut trainer = Trainer::new(config, vec![Arm::base(loss)], task.classes, rows, None)?;
            let of_the_same = optima.iter().find(|(other, _)| *other == strength);
            if let Some((_, parameters)) = of_the_same.or(optima.last()) {
                trainer = trainer.starting_from(parameters)?;
            }
            trainer.run(&mut stop.clone())?;
            stop.check()?;
            if loss == LossConfig::CrossEntropy {
                optima.push((strength, trainer.parameters_of(0)));
            }
            let model = trainer.current_model(0)?;
            let said = model.probabilities_in_blocks(held.x()?, stop)?;
            copies.push((Member::Network(model), said));
        }
        Ok(copies)
    })?;
    Ok(by_setting(task, settings, folds))
}

/// From copies by fold to copies by setting.
pub(super) fn by_setting(task: &Task<'_>, settings: &[Setting], folds: Vec<Vec<(Member, Vec<f32>)>>) -> Vec<Learned> {
    let mut folds: Vec<_> = folds.into_iter().map(Vec::into_iter).collect();
    let copies = |_| folds.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>();
    let copies: Vec<Vec<(Member, Vec<f32>)>> = settings.iter().map(copies).collect();
    settings.iter().zip(copies).map(|(&setting, copies)| task.learned(setting, copies)).collect()
}
