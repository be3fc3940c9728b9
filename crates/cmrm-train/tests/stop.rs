//! Stopped within an epoch, a training stands where the last whole one ended, and goes on to the same bits.

mod common;

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use cmrm::Matrix;
use cmrm::loss::LossConfig;
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::{LbfgsConfig, OptimiserConfig, SgdConfig};
use cmrm_train::train::{Arm, EpochStats, Method, Observer, Selection, Silent, TrainConfig, Trainer};
use cmrm_train::tune::{Progress, SearchConfig, Setting, search};
use cmrm_train::{Checkpoint, Error, Result, Stop};
use common::{Blobs, adam, arms, blobs};

const CE: LossConfig = LossConfig::CrossEntropy;
/// Enough that L-BFGS is stopped within an iteration.
const ROWS: usize = 3000;
const BATCH: usize = 512;
const BATCHES: usize = ROWS.div_ceil(BATCH);

/// Asks to stop after so many batches.
#[derive(Default)]
struct StopAfterBatches {
    stop: Stop,
    after: usize,
    batches: usize,
}

impl Observer<f32> for StopAfterBatches {
    fn stop(&self) -> Option<Stop> {
        Some(self.stop.clone())
    }

    fn batch(&mut self, _done: usize, _of: usize) {
        self.batches += 1;
        if self.batches == self.after {
            self.stop.request();
        }
    }
}

/// Ends after so many epochs, none of them cut short.
struct EndAfterEpochs(usize);

impl Observer<f32> for EndAfterEpochs {
    fn epoch(&mut self, trainer: &Trainer<'_, f32>, _stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        Ok(if trainer.epochs_done() >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

fn trainer<'a>(config: &TrainConfig, data: &'a Blobs) -> Trainer<'a, f32> {
    let validation = (config.selection != Selection::Last).then(|| data.examples());
    Trainer::new(config.clone(), arms(CE), 3, data.examples(), validation).unwrap()
}

/// The state after so many whole epochs.
fn after_epochs(config: &TrainConfig, data: &Blobs, epochs: usize) -> Checkpoint {
    let mut trainer = trainer(config, data);
    if epochs > 0 {
        trainer.run(&mut EndAfterEpochs(epochs)).unwrap();
    }
    Checkpoint::of(&trainer)
}

/// A stopped training is between two epochs, and so is its checkpoint; both go on to the end of `whole`.
fn goes_on(mut stopped: Trainer<'_, f32>, config: &TrainConfig, data: &Blobs, whole: &Checkpoint) {
    let checkpoint = Checkpoint::of(&stopped);
    same(&checkpoint, &after_epochs(config, data, stopped.epochs_done()));
    stopped.run(&mut Silent).unwrap();
    same(&Checkpoint::of(&stopped), whole);
    let mut resumed = trainer(config, data);
    checkpoint.resume(&mut resumed).unwrap();
    resumed.run(&mut Silent).unwrap();
    same(&Checkpoint::of(&resumed), whole);
}

/// Two checkpoints are equal; where they are not, the first difference is enough to read.
fn same(one: &Checkpoint, other: &Checkpoint) {
    if one != other {
        let [one, other] = [one, other].map(|checkpoint| format!("{checkpoint:?}"));
        let at = one.bytes().zip(other.bytes()).position(|(a, b)| a != b).unwrap_or_default();
        let around = |text: &str| text.chars().skip(at.saturating_sub(300)).take(600).collect::<String>();
        panic!("they differ at {at}:\n{}\n\n{}", around(&one), around(&other));
    }
}

#[test]
fn an_epoch_stopped_at_any_batch_is_thrown_away() {
    let data = blobs(ROWS, 10, 3, 0.3, 5);
    let plain = adam(ModelConfig::mlp(&[12]), 4, Some(BATCH));
    let mut sgd = adam(ModelConfig { dropout: 0.2, ..ModelConfig::mlp(&[12]) }, 4, Some(BATCH));
    if let Method::Stochastic { optimiser, .. } = &mut sgd.method {
        *optimiser = OptimiserConfig::Sgd(SgdConfig { momentum: 0.9, ..SgdConfig::default() });
    }
    sgd.keep_history = true;
    let judged = TrainConfig { selection: Selection::Best { patience: 3 }, ..plain.clone() };
    for config in [plain, sgd, judged] {
        let whole = after_epochs(&config, &data, 4);
        for after in [1, 3, BATCHES, BATCHES + 1, 3 * BATCHES - 1, 3 * BATCHES] {
            let mut stopped = trainer(&config, &data);
            let mut watch = StopAfterBatches { after, ..StopAfterBatches::default() };
            stopped.run(&mut watch).unwrap();
            assert_eq!(watch.batches, after, "a batch was begun after the request");
            // Asked at the end of an epoch, validation rows are still to be judged.
            let whole_epochs = if config.selection == Selection::Last { after } else { after - 1 } / BATCHES;
            assert_eq!(stopped.epochs_done(), whole_epochs);
            goes_on(stopped, &config, &data, &whole);
        }
    }
}

#[test]
fn an_iteration_of_lbfgs_stopped_at_any_moment_is_thrown_away() {
    let data = blobs(ROWS, 10, 3, 0.3, 5);
    let config = TrainConfig {
        method: Method::FullBatch(LbfgsConfig::default()),
        l2: 1e-3,
        ..adam(ModelConfig::mlp(&[12]), 12, None)
    };
    let mut whole = trainer(&config, &data);
    whole.run(&mut Silent).unwrap();
    let whole = Checkpoint::of(&whole);
    for delay in 0..20 {
        let mut stopped = trainer(&config, &data);
        let mut watch = StopAfterBatches::default();
        let stop = watch.stop.clone();
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(2 * delay));
                stop.request();
            });
            stopped.run(&mut watch).unwrap();
        });
        goes_on(stopped, &config, &data, &whole);
    }
}

#[test]
fn a_prediction_can_be_stopped() {
    let data = blobs(500, 10, 3, 0.3, 5);
    let mut trainer = trainer(&adam(ModelConfig::mlp(&[12]), 1, Some(BATCH)), &data);
    trainer.run(&mut Silent).unwrap();
    let (model, stop) = (trainer.finish().unwrap().remove(0).model, Stop::default());
    let x = Matrix::new(&data.x, 10).unwrap();
    assert_eq!(model.probabilities_unless(x, &stop).unwrap(), model.probabilities(x).unwrap());
    assert!(!stop.request() && stop.request());
    assert!(matches!(model.probabilities_unless(x, &stop), Err(Error::Stopped)));
    assert!(matches!(model.logits_unless(x, &stop), Err(Error::Stopped)));
}

/// Asks to stop in the second fold.
#[derive(Default)]
struct StopInSecondFold {
    stop: Stop,
    epochs: usize,
}

impl Progress for StopInSecondFold {
    fn stop(&self) -> Option<Stop> {
        Some(self.stop.clone())
    }

    fn training(&mut self, fold: usize, _settings: usize) {
        if fold == 1 {
            self.stop.request();
        }
    }

    fn epoch(&mut self, _done: usize, _of: usize) -> ControlFlow<()> {
        self.epochs += 1;
        ControlFlow::Continue(())
    }
}

#[test]
fn a_search_ends_without_the_fold_under_way() {
    let data = blobs(400, 6, 3, 0.2, 5);
    let train = adam(ModelConfig::linear(), 3, Some(64));
    let setting = |name: &str| Setting { name: name.into(), train: train.clone(), arm: Arm::base(CE), keep: false };
    let config = SearchConfig { folds: 3, ..SearchConfig::default() };
    let settings = [setting("one"), setting("two")];
    let mut progress = StopInSecondFold::default();
    let searched = search(&config, &settings, data.examples(), 3, Vec::new(), &mut progress).unwrap();
    assert!(!searched.complete);
    assert_eq!(progress.epochs, 3, "an epoch was begun after the request");
    assert!(searched.trials.len() == 2 && searched.trials.iter().all(|trial| trial.fold == 0));
}
