//! The arm that goes by out-of-sample margins: the model's own kind of learner, alone in the vote that `cmrm fit` takes.

use cmrm::metric::{accuracy, predicted_classes};
use cmrm_bench::Result;
use cmrm_data::preprocess::PreprocessOptions;
use cmrm_data::table::Values;
use cmrm_data::{Array, Column, Features, Input};
use cmrm_fit::{Fit, FitConfig, LearnerKind, Loaded, ModelKind};
use cmrm_train::Stop;
use cmrm_train::train::Silent;

use crate::arms::{FIRST_VOTE, VOTE};
use crate::cells::Cell;
use crate::split::{Part, Parts};
use crate::train::ArmResult;

/// Fits copies of the network or the linear model by folds, weighs the rows by what these say of rows that they have not seen, and fits
/// again. It learns from the training and the validation rows of the others: it needs none to choose an epoch by.
pub fn train(cell: &Cell<'_>, parts: &Parts) -> Result<[ArmResult; 2]> {
    let learner = if cell.model == ModelKind::Linear { LearnerKind::Linear } else { LearnerKind::Network };
    let config = FitConfig {
        model: Some(ModelKind::Auto),
        learners: Some(vec![learner]),
        seed: cell.seed,
        // They are standardised already.
        preprocess: PreprocessOptions { standardise: false, ..PreprocessOptions::default() },
        ..FitConfig::default()
    };
    let names: Vec<String> = (0..cell.set.classes).map(|class| class.to_string()).collect();
    let rows = input(&[&parts.train, &parts.validation], cell.set.width, &names)?;
    let test = Some(input(&[&parts.test], cell.set.width, &names)?);
    let loaded = Loaded { test, classes: Some(names), ..Loaded::new(cell.set.name, rows) };
    let outcome = Fit::new(&config, &loaded, &Stop::default())?.run(&mut Silent)?;
    let base = outcome.base_arm().ok_or("a vote without a base arm")?;
    // Without the columns that are the same in all rows to learn from.
    let (test, _) = outcome.rows.test.as_ref().ok_or("no test rows")?;
    let observed = &outcome.rows.train.data.labels;
    let judged = |name: &str, arm: &cmrm_fit::FittedArm| -> Result<ArmResult> {
        let said = arm.out_of_sample.as_deref().ok_or("a vote without out-of-sample probabilities")?;
        let said = predicted_classes(cmrm::Matrix::new(said, cell.set.classes)?)?;
        let clean = accuracy(&arm.model.predict(test.x()?)?, &test.labels)?;
        Ok(ArmResult { name: name.into(), epoch: 0, observed: accuracy(&said, observed)?, chosen: clean, last: clean })
    };
    Ok([judged(VOTE, outcome.envelope_arm()?)?, judged(FIRST_VOTE, base)?])
}

fn input(parts: &[&Part], width: usize, names: &[String]) -> Result<Input> {
    let x: Vec<f32> = parts.iter().flat_map(|part| part.x.iter().copied()).collect();
    let codes: Vec<u32> = parts.iter().flat_map(|part| part.labels.iter().copied()).collect();
    let labels = Column::new("label", Values::Categorical { codes, levels: names.to_vec() });
    Ok(Input {
        features: Features::Array(Array::new(x, width)?),
        labels: Some(labels),
        ids: None,
        source: "study".into(),
    })
}
