//! One cell: all arms in one training, judged by clean test labels and, as a search would, by observed ones.

use std::time::Instant;

use cmrm::Matrix;
use cmrm::criterion::{Jury, Verdict};
use cmrm::metric::accuracy;
use cmrm_bench::Result;
use cmrm_train::model::{Init, ModelConfig};
use cmrm_train::optim::{AdamConfig, OptimiserConfig};
use cmrm_train::predict::most_likely;
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{ClassWeights, Examples, Method, Selection, Silent, TrainConfig, Trainer};
use serde::{Deserialize, Serialize};

use crate::arms::arms_of;
use crate::cells::{Cell, Model};
use crate::sets::Set;
use crate::split::parts;

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
    pub arms: Vec<ArmResult>,
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

pub fn train(sets: &[Set], cell: &Cell, wanted: Option<&[String]>) -> Result<CellResult> {
    let start = Instant::now();
    let set = &sets[cell.set];
    let parts = parts(set, cell)?;
    let examples = Examples::new(Matrix::new(&parts.train.x, set.width)?, &parts.train.labels);
    let arms = arms_of(cell.loss, wanted);
    let mut trainer = Trainer::new(recipe(cell.model, cell.seed), arms, set.classes, examples, None)?;
    trainer.run(&mut Silent)?;
    let trained = trainer.finish()?;

    let held = Matrix::new(&parts.validation.x, set.width)?;
    let probabilities =
        trained.iter().map(|arm| arm.model.probabilities(held)).collect::<std::result::Result<Vec<_>, _>>()?;
    let matrices =
        probabilities.iter().map(|p| Matrix::new(p, set.classes)).collect::<std::result::Result<Vec<_>, _>>()?;
    let jury = Jury::new(&matrices, &parts.validation.labels)?;
    let test = Matrix::new(&parts.test.x, set.width)?;
    let mut results = Vec::with_capacity(trained.len());
    for (arm, probabilities) in trained.iter().zip(&probabilities) {
        let predicted = arm.model.predict(test)?;
        let mut counts = vec![0usize; set.classes];
        predicted.iter().for_each(|&class| counts[class as usize] += 1);
        let top = counts.iter().max().copied().unwrap_or(0);
        let on_held: Vec<u32> = probabilities.chunks_exact(set.classes).map(most_likely).collect();
        results.push(ArmResult {
            name: arm.name.clone(),
            test: accuracy(&predicted, &parts.test.labels)?,
            top_share: top as f64 / predicted.len() as f64,
            verdict: jury.judge(&on_held)?,
        });
    }
    Ok(CellResult {
        key: cell.key(sets),
        set: set.name.into(),
        model: cell.model,
        noise: cell.noise.name().into(),
        rate: cell.rate,
        loss: cell.loss.name().into(),
        seed: cell.seed,
        wrong: parts.wrong,
        train_rows: parts.train.labels.len(),
        validation_rows: parts.validation.labels.len(),
        test_rows: parts.test.labels.len(),
        seconds: start.elapsed().as_secs_f64(),
        arms: results,
    })
}
