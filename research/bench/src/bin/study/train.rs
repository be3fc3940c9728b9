//! One cell: all arms in one training, judged by clean test labels and, as a search would, by observed ones.

use std::time::Instant;

use cmrm::Matrix;
use cmrm::criterion::{Ensemble, Verdict};
use cmrm::metric::accuracy;
use cmrm::scores::most_likely;
use cmrm_bench::Result;
use cmrm_bench::sets::Set;
use cmrm_train::model::{Init, ModelConfig};
use cmrm_train::optim::{AdamConfig, OptimiserConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, Silent, TrainConfig, Trained, Trainer};
use cmrm_train::tune::{Progress, SearchConfig, Setting, Standing, search, standings};
use serde::{Deserialize, Serialize};

use crate::arms::arms_of;
use crate::cells::{Cell, Model};
use crate::split::{Part, parts};

/// A line of the results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellResult {
    pub key: String,
    pub set: String,
    pub model: Model,
    pub noise: String,
    pub rate: f64,
    pub loss: String,
    pub seed: u64,
    /// Share of training labels that are wrong.
    pub wrong: f64,
    pub train_rows: usize,
    pub validation_rows: usize,
    pub test_rows: usize,
    pub seconds: f64,
    /// Folds that the arms were judged by; 1 is a hold-out.
    #[serde(default = "hold_out")]
    pub folds: usize,
    pub arms: Vec<ArmResult>,
}

fn hold_out() -> usize {
    1
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArmResult {
    pub name: String,
    /// Accuracy on clean test labels.
    pub test: f64,
    /// Share of the test rows that are given the class given most often: 1 is a collapse.
    pub top_share: f64,
    /// Judged by the observed labels of the validation rows.
    pub verdict: Verdict,
}

/// The command's own defaults for an MLP; a higher rate for the linear model, which has no hidden layers to upset.
fn recipe(model: Model, seed: u64) -> TrainConfig {
    let (model, learning_rate) = match model {
        Model::Linear => (ModelConfig { init: Init::Zeros, ..ModelConfig::linear() }, 3e-3),
        Model::Mlp => (ModelConfig::mlp(&[128, 64]), 1e-3),
    };
    TrainConfig {
        model,
        method: Method::Stochastic {
            optimiser: OptimiserConfig::Adam(AdamConfig::default()),
            learning_rate,
            schedule: ScheduleConfig::default(),
            batch_rows: Some(128),
        },
        epochs: 40,
        l2: 0.0,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed,
        keep_history: false,
    }
}

/// What tells a result from every other.
pub fn key(cell: &Cell, sets: &[Set], folds: usize) -> String {
    let key = cell.key(sets);
    if folds == 1 { key } else { format!("{key}/{folds} folds") }
}

pub fn train(sets: &[Set], cell: &Cell, wanted: Option<&[String]>, folds: usize) -> Result<CellResult> {
    let start = Instant::now();
    let set = &sets[cell.set];
    let mut parts = parts(set, cell)?;
    let arms = arms_of(cell.loss, wanted);
    let validation_rows = parts.validation.labels.len();
    let by_folds = if folds == 1 {
        None
    } else {
        // As a user of `tune` would: judged fold by fold, then trained on everything.
        parts.train.x.append(&mut parts.validation.x);
        parts.train.labels.append(&mut parts.validation.labels);
        Some(judge_by_folds(set, cell, &parts.train, &arms, folds)?)
    };
    let trained = fit(set, cell, &parts.train, arms)?;
    let verdicts = match by_folds {
        Some(verdicts) => verdicts,
        None => judge(set, &trained, &parts.validation)?,
    };
    let test = Matrix::new(&parts.test.x, set.width)?;
    let mut results = Vec::with_capacity(trained.len());
    for (arm, verdict) in trained.iter().zip(verdicts) {
        let predicted = arm.model.predict(test)?;
        let mut counts = vec![0usize; set.classes];
        predicted.iter().for_each(|&class| counts[class as usize] += 1);
        let top = counts.iter().max().copied().unwrap_or(0);
        results.push(ArmResult {
            name: arm.name.clone(),
            test: accuracy(&predicted, &parts.test.labels)?,
            top_share: top as f64 / predicted.len() as f64,
            verdict,
        });
    }
    Ok(CellResult {
        key: key(cell, sets, folds),
        set: set.name.into(),
        model: cell.model,
        noise: cell.noise.name().into(),
        rate: cell.rate,
        loss: cell.loss.name().into(),
        seed: cell.seed,
        wrong: parts.wrong,
        train_rows: parts.train.labels.len(),
        validation_rows,
        test_rows: parts.test.labels.len(),
        seconds: start.elapsed().as_secs_f64(),
        folds,
        arms: results,
    })
}

fn fit(set: &Set, cell: &Cell, part: &Part, arms: Vec<Arm>) -> Result<Vec<Trained<f32>>> {
    let examples = Examples::new(Matrix::new(&part.x, set.width)?, &part.labels);
    let mut trainer = Trainer::new(recipe(cell.model, cell.seed), arms, set.classes, examples, None)?;
    trainer.run(&mut Silent)?;
    Ok(trainer.finish()?)
}

/// Every arm by the observed labels of rows it has not seen.
fn judge(set: &Set, trained: &[Trained<f32>], held: &Part) -> Result<Vec<Verdict>> {
    let x = Matrix::new(&held.x, set.width)?;
    let probabilities =
        trained.iter().map(|arm| arm.model.probabilities(x)).collect::<std::result::Result<Vec<_>, _>>()?;
    let matrices =
        probabilities.iter().map(|p| Matrix::new(p, set.classes)).collect::<std::result::Result<Vec<_>, _>>()?;
    let ensemble = Ensemble::new(&matrices, &held.labels)?;
    let verdicts = probabilities.iter().map(|probabilities| {
        let predicted: Vec<u32> = probabilities.chunks_exact(set.classes).map(most_likely).collect();
        ensemble.judge(&predicted)
    });
    Ok(verdicts.collect::<std::result::Result<Vec<_>, _>>()?)
}

/// Mean verdicts over the folds of `tune`'s own search; no arm is given up on the way.
fn judge_by_folds(set: &Set, cell: &Cell, part: &Part, arms: &[Arm], folds: usize) -> Result<Vec<Verdict>> {
    let examples = Examples::new(Matrix::new(&part.x, set.width)?, &part.labels);
    let setting = |arm: &Arm| Setting {
        name: arm.name.clone(),
        train: recipe(cell.model, cell.seed),
        arm: arm.clone(),
        keep: true,
    };
    let settings: Vec<Setting> = arms.iter().map(setting).collect();
    let config = SearchConfig { folds, seed: cell.seed, ..SearchConfig::default() };
    let searched = search(&config, &settings, examples, set.classes, Vec::new(), &mut Unseen)?;
    let verdict = |standing: Standing| standing.verdict.ok_or_else(|| format!("{}: diverged", standing.setting).into());
    standings(&settings, &searched.trials).into_iter().map(verdict).collect()
}

/// A search that nobody watches.
struct Unseen;

impl Progress for Unseen {}
