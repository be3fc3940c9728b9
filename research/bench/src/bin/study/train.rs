//! One cell: its arms on the same rows by the command's own recipe, judged by clean test labels.

use std::time::Instant;

use cmrm::metric::accuracy;
use cmrm_bench::Result;
use cmrm_fit::{FitConfig, gives_way, with_penalty};
use cmrm_train::predict::Model;
use cmrm_train::train::{Silent, Trainer};
use serde::{Deserialize, Serialize};

use crate::arms::{BASE, ROBUST, UNCHECKED, VOTE, groups};
use crate::cells::{Cell, model_name};
use crate::split::{Part, parts};
use crate::voted;

/// Validation rows that the command chooses anything by.
const ENOUGH: usize = 50;

/// A line of the results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellResult {
    pub key: String,
    pub set: String,
    pub model: String,
    pub noise: String,
    pub rate: f64,
    pub loss: String,
    pub seed: u64,
    /// Share of training labels that are wrong.
    pub wrong: f64,
    pub train_rows: usize,
    pub validation_rows: usize,
    pub test_rows: usize,
    pub epochs: usize,
    /// Seconds of one core.
    pub seconds: f64,
    pub arms: Vec<ArmResult>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArmResult {
    pub name: String,
    /// The epoch that the observed labels of the validation rows choose.
    pub epoch: usize,
    /// Accuracy on these labels, at this epoch.
    pub observed: f64,
    /// Accuracy on clean test labels, at this epoch.
    pub chosen: f64,
    /// The same at the last epoch.
    pub last: f64,
}

/// Trains the arms of these names.
pub fn train(cell: &Cell<'_>, names: &[&str]) -> Result<CellResult> {
    let start = (Instant::now(), core_seconds());
    let (set, classes) = (cell.set, cell.set.classes);
    let config = FitConfig { model: Some(cell.model), loss: cell.loss, seed: cell.seed, ..FitConfig::default() };
    let parts = parts(cell, config.validation_share())?;
    let (train, validation) = (parts.train.examples(set.width)?, parts.validation.examples(set.width)?);
    let config = config.for_rows(train.rows(), validation.rows());
    let config = with_penalty(&config, train, classes, &mut Silent)?;
    let right = |model: &Model<f32>, part: &Part| -> Result<f64> {
        Ok(accuracy(&model.predict(part.examples(set.width)?.x)?, &part.labels)?)
    };
    let mut arms = Vec::new();
    for group in groups(&config, names) {
        let copies = group.len();
        let mut trainer = Trainer::new(config.train_config(), group, classes, train, Some(validation))?;
        trainer.run(&mut Silent)?;
        let last = (0..copies).map(|copy| right(&trainer.current_model(copy)?, &parts.test));
        let last = last.collect::<Result<Vec<f64>>>()?;
        let (first, mut said) = (arms.len(), Vec::new());
        for (arm, last) in trainer.finish()?.into_iter().zip(last) {
            arms.push(ArmResult {
                epoch: arm.epoch,
                observed: right(&arm.model, &parts.validation)?,
                chosen: right(&arm.model, &parts.test)?,
                last,
                name: arm.name.clone(),
            });
            said.push((arm.name, arm.model.predict(validation.x)?));
        }
        let of = |name: &str| said.iter().position(|(arm, _)| arm == name);
        if let (Some(base), Some(robust)) = (of(BASE), of(ROBUST)) {
            let robust_arm = arms[first + robust].clone();
            if parts.validation.labels.len() >= ENOUGH
                && gives_way(&said[base].1, &said[robust].1, &parts.validation.labels).is_some()
            {
                let kept = arms[first + base].clone();
                arms[first + robust] = ArmResult { name: ROBUST.into(), last: robust_arm.last, ..kept };
            }
            arms.push(ArmResult { name: UNCHECKED.into(), ..robust_arm });
        }
    }
    if names.contains(&VOTE) {
        arms.extend(voted::train(cell, &parts)?);
    }
    Ok(CellResult {
        key: cell.key(),
        set: set.name.into(),
        model: model_name(cell.model).into(),
        noise: cell.noise.name().into(),
        rate: cell.rate,
        loss: cell.loss.name().into(),
        seed: cell.seed,
        wrong: parts.wrong,
        train_rows: train.rows(),
        validation_rows: validation.rows(),
        test_rows: parts.test.labels.len(),
        epochs: config.train_config().epochs,
        seconds: match (core_seconds(), start.1) {
            (Some(now), Some(before)) => now - before,
            _ => start.0.elapsed().as_secs_f64(),
        },
        arms,
    })
}

/// How long this thread has computed, whatever else the machine was busy with; nothing where the system does not say.
fn core_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(1e-9 * text.split(' ').next()?.parse::<f64>().ok()?)
}
