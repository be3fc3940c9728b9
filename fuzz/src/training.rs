//! The smallest trainings that a checkpoint can belong to.

use cmrm::Matrix;
use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::{AdamConfig, LbfgsConfig, OptimiserConfig, SgdConfig};
use cmrm_train::schedule::ScheduleConfig;
use cmrm_train::train::{Arm, ClassWeights, Examples, Method, Selection, TrainConfig, Trainer};

/// Rows of the data.
pub const ROWS: usize = 6;
/// Classes of the data.
pub const CLASSES: usize = 3;
/// Epochs of a training.
pub const EPOCHS: usize = 4;

const X: [f32; 2 * ROWS] = [1.0, 0.0, 0.9, 0.1, -1.0, 0.2, -0.8, 0.0, 0.0, 1.0, 0.5, -0.9];
const LABELS: [u32; ROWS] = [0, 0, 1, 1, 2, 0];

/// Hands out a fresh trainer of every method, with its name.
pub fn with_trainers(mut take: impl FnMut(&str, Trainer<'_, f32>)) {
    let loss = LossConfig::CrossEntropy;
    let robust = Preset::Robust;
    let arms = vec![Arm::base(loss), Arm::envelope(robust.name(), loss, robust.config(&loss))];
    let sgd = OptimiserConfig::Sgd(SgdConfig { momentum: 0.9, ..SgdConfig::default() });
    let adam = OptimiserConfig::Adam(AdamConfig::default());
    let by_batch = |optimiser| Method::Stochastic {
        optimiser,
        learning_rate: 0.01,
        schedule: ScheduleConfig::default(),
        batch_rows: Some(4),
    };
    for (name, model, method, selection) in [
        ("adam", ModelConfig::mlp(&[3]), by_batch(adam), Selection::Best { patience: 2 }),
        ("sgd", ModelConfig::cosine(), by_batch(sgd), Selection::Last),
        ("lbfgs", ModelConfig::linear(), Method::FullBatch(LbfgsConfig::default()), Selection::Last),
    ] {
        let config = TrainConfig {
            model,
            method,
            epochs: EPOCHS,
            l2: 0.01,
            clip: None,
            class_weights: ClassWeights::Equal,
            selection,
            seed: 1,
            keep_history: name == "sgd",
        };
        let examples = Examples::new(Matrix::new(&X, 2).expect("whole rows"), &LABELS);
        let trainer = Trainer::new(config, arms.clone(), CLASSES, examples, Some(examples));
        take(name, trainer.expect("settings and data that fit together"));
    }
}
