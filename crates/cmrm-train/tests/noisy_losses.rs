//! The losses for noisy labels in training; what ELR remembers of the rows.

mod common;

use std::ops::ControlFlow;

use cmrm::envelope::Start;
use cmrm::envelope::binary::BinaryConfig;
use cmrm::loss::LossConfig;
use cmrm::{Matrix, Scalar};
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::LbfgsConfig;
use cmrm_train::train::{Arm, EpochStats, Method, Observer, Silent, Term, TrainConfig, Trained, Trainer};
use cmrm_train::{Checkpoint, Result};
use common::{adam, arms, blobs};

const ELR: LossConfig = LossConfig::Elr { lambda: 3.0, beta: 0.7 };

fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

fn lbfgs() -> TrainConfig {
    TrainConfig { method: Method::FullBatch(LbfgsConfig::default()), ..adam(ModelConfig::linear(), 5, None) }
}

/// Ends the training after two epochs.
struct TwoEpochs;

impl<T: Scalar> Observer<T> for TwoEpochs {
    fn epoch(&mut self, trainer: &Trainer<'_, T>, _stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        Ok(if trainer.epochs_done() >= 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

#[test]
fn losses_for_noisy_labels_learn() {
    let data = blobs(1500, 12, 4, 0.3, 1);
    for loss in ["sce", "label-smoothing", "elr"].map(|name| name.parse::<LossConfig>().unwrap()) {
        let config = adam(ModelConfig::mlp(&[32]), 15, Some(64));
        let mut trainer = Trainer::new(config, arms(loss), 4, data.examples(), None).unwrap();
        trainer.run(&mut Silent).unwrap();
        for Trained { name, model, .. } in trainer.finish().unwrap() {
            let predicted = model.predict(Matrix::new(&data.x, data.columns).unwrap()).unwrap();
            let right = predicted.iter().zip(&data.clean).filter(|(a, b)| a == b).count();
            assert!(right as f64 > 0.9 * predicted.len() as f64, "{loss}, {name}: {right}");
        }
    }
}

#[test]
fn the_targets_of_elr_resume_to_the_same_bytes_on_any_number_of_threads() {
    let data = blobs(9000, 10, 5, 0.3, 5);
    for (epochs, batch_rows) in [(3, Some(256)), (4, None)] {
        let config = adam(ModelConfig::mlp(&[12]), epochs, batch_rows);
        let new = || Trainer::new(config.clone(), arms(ELR), 5, data.examples(), None).unwrap();
        let whole = |threads: usize| {
            with_threads(threads, || {
                let mut whole = new();
                whole.run(&mut Silent).unwrap();
                Checkpoint::of(&whole)
            })
        };
        let expected = whole(1);
        assert_eq!(whole(8), expected);
        let mut first = new();
        first.run(&mut TwoEpochs).unwrap();
        let saved = Checkpoint::of(&first);
        let mut second = new();
        Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap().resume(&mut second).unwrap();
        // Half of the state would not do: the checkpoint holds the targets, and they count.
        assert_eq!(Checkpoint::of(&second), saved);
        second.run(&mut Silent).unwrap();
        assert_eq!(Checkpoint::of(&second), expected);
    }
}

#[test]
fn elr_is_refused_where_its_targets_cannot_be_kept() {
    let data = blobs(50, 3, 2, 0.0, 1);
    let refused = |config: TrainConfig, arm: Arm| {
        Trainer::new(config, vec![arm], 2, data.examples(), None).unwrap_err().to_string()
    };
    let error = refused(lbfgs(), Arm::base(ELR));
    assert!(error.contains("lambda of elr = 3") && error.contains("train in batches"), "{error}");
    let config = BinaryConfig::paper(0.4, 0.5, 0.3, 0.1);
    let term = Term::Binary { config, start: Start::Epoch(0), fresh_optimiser: false };
    let error = refused(adam(ModelConfig::linear(), 5, None), Arm { term, ..Arm::base(ELR) });
    assert!(error.contains("binary envelope"), "{error}");
    // Without weight it is cross-entropy, which has no targets.
    let plain = Arm::base(LossConfig::Elr { lambda: 0.0, beta: 0.7 });
    assert!(Trainer::new(lbfgs(), vec![plain], 2, data.examples(), None).is_ok());
}
