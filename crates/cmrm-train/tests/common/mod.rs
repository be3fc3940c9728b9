//! Data and settings that the training tests share.
#![allow(dead_code)]

use cmrm::Matrix;
use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm::rng::Rng;
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::{AdamConfig, OptimiserConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, TrainConfig};

/// Gaussian blobs, one a class, with a share of the labels replaced by another class.
pub struct Blobs {
    pub x: Vec<f32>,
    pub columns: usize,
    pub clean: Vec<u32>,
    pub observed: Vec<u32>,
}

pub fn blobs(rows: usize, columns: usize, classes: usize, wrong: f64, seed: u64) -> Blobs {
    let mut rng = Rng::new(seed, 0);
    let centres: Vec<f64> = (0..classes * columns).map(|_| 1.5 * rng.normal()).collect();
    let (mut x, mut clean, mut observed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let class = rng.below(classes);
        for j in 0..columns {
            x.push((centres[class * columns + j] + 1.5 * rng.normal()) as f32);
        }
        clean.push(class as u32);
        let flipped = rng.uniform() < wrong;
        observed.push(if flipped { (class + 1 + rng.below(classes - 1)) % classes } else { class } as u32);
    }
    Blobs { x, columns, clean, observed }
}

impl Blobs {
    pub fn examples(&self) -> Examples<'_, f32> {
        Examples::new(Matrix::new(&self.x, self.columns).unwrap(), &self.observed)
    }
}

pub fn adam(model: ModelConfig, epochs: usize, batch_rows: Option<usize>) -> TrainConfig {
    TrainConfig {
        model,
        method: Method::Stochastic {
            optimiser: OptimiserConfig::Adam(AdamConfig::default()),
            learning_rate: 0.01,
            schedule: ScheduleConfig::default(),
            batch_rows,
        },
        epochs,
        l2: 0.0,
        clip: None,
        class_weights: ClassWeights::Equal,
        selection: Selection::Last,
        seed: 3,
        keep_history: false,
    }
}

/// The base arm and all presets.
pub fn arms(loss: LossConfig) -> Vec<Arm> {
    let mut arms = vec![Arm::base(loss)];
    arms.extend(Preset::ALL.map(|preset| Arm::envelope(preset.name(), loss, preset.config(&loss))));
    arms
}
