//! Which epoch is kept, and when training ends: nothing counts before the envelope is on.

mod common;

use cmrm::envelope::{EnvelopeConfig, Preset, Start};
use cmrm::loss::LossConfig;
use cmrm_train::Checkpoint;
use cmrm_train::model::ModelConfig;
use cmrm_train::optim::{LbfgsConfig, LbfgsStatus};
use cmrm_train::train::{Arm, EpochStats, Method, Observer, Selection, Silent, TrainConfig, Trainer};
use common::{Blobs, adam, blobs};
use std::ops::ControlFlow;

const CE: LossConfig = LossConfig::CrossEntropy;

/// Base and `robust`, the latter from `start` on.
fn pair(start: Start) -> Vec<Arm> {
    let envelope = EnvelopeConfig { start, ..Preset::Robust.config(&CE) };
    vec![Arm::base(CE), Arm::envelope("robust", CE, envelope)]
}

fn patient(config: TrainConfig, patience: usize) -> TrainConfig {
    TrainConfig { selection: Selection::Best { patience }, ..config }
}

fn lbfgs(epochs: usize) -> TrainConfig {
    let settings = LbfgsConfig { gradient_tolerance: 1e-4, ..LbfgsConfig::default() };
    TrainConfig { method: Method::FullBatch(settings), l2: 0.1, ..adam(ModelConfig::linear(), epochs, None) }
}

/// Rows to train on, and others to choose by.
fn rows() -> (Blobs, Blobs) {
    (blobs(400, 10, 4, 0.4, 9), blobs(100, 10, 4, 0.9, 10))
}

fn run(config: &TrainConfig, arms: Vec<Arm>, rows: &(Blobs, Blobs), observer: &mut dyn Observer<f32>) -> Checkpoint {
    let mut trainer = fresh(config, arms, rows);
    trainer.run(observer).unwrap();
    Checkpoint::of(&trainer)
}

fn fresh<'a>(config: &TrainConfig, arms: Vec<Arm>, (train, held): &'a (Blobs, Blobs)) -> Trainer<'a, f32> {
    Trainer::new(config.clone(), arms, 4, train.examples(), Some(held.examples())).unwrap()
}

/// The kept epochs of both arms, and the figures of all epochs.
fn kept(config: &TrainConfig, arms: Vec<Arm>, rows: &(Blobs, Blobs)) -> (Vec<usize>, Vec<EpochStats>) {
    let mut trainer = fresh(config, arms, rows);
    trainer.run(&mut Silent).unwrap();
    let history = trainer.history().to_vec();
    (trainer.finish().unwrap().iter().map(|arm| arm.epoch).collect(), history)
}

/// The first epoch with the envelope on.
fn switched_on(history: &[EpochStats]) -> Option<usize> {
    history.iter().find(|stats| stats.envelope_on).map(|stats| stats.epoch)
}

#[test]
fn patience_waits_for_the_envelope_and_both_arms_choose_among_the_same_epochs() {
    let rows = rows();
    // One epoch without a better one comes soon; counted from the first epoch it would end the training before the tenth.
    let config = patient(adam(ModelConfig::mlp(&[32]), 40, Some(32)), 1);
    let (alone, history) = kept(&config, vec![Arm::base(CE)], &rows);
    assert!(history.last().unwrap().epoch < 10, "{alone:?}");
    let (epochs, history) = kept(&config, pair(Start::Fraction(0.25)), &rows);
    assert_eq!(switched_on(&history), Some(10));
    assert!(epochs.iter().all(|&epoch| epoch >= 10), "{epochs:?}");
    // Patience still ends it, and the kept epoch is the best of those that count.
    let last = history.last().unwrap().epoch;
    assert!((11..39).contains(&last), "{last}");
    for (arm, &epoch) in ["base", "robust"].iter().zip(&epochs) {
        let of = |epoch: usize| history.iter().find(|s| s.arm == *arm && s.epoch == epoch).unwrap();
        let accuracy = |epoch: usize| of(epoch).validation_accuracy.unwrap();
        assert!((10..=epoch).all(|earlier| accuracy(earlier) <= accuracy(epoch)), "{arm}");
    }
}

#[test]
fn without_patience_nothing_ends_early_and_of_equal_epochs_the_last_is_kept() {
    // So few rows to choose by that epochs are tied.
    let rows = (blobs(400, 10, 4, 0.4, 9), blobs(20, 10, 4, 0.9, 10));
    let config = patient(adam(ModelConfig::mlp(&[32]), 40, Some(32)), 0);
    let (epochs, history) = kept(&config, pair(Start::Fraction(0.25)), &rows);
    assert_eq!(history.len(), 2 * 40);
    let mut ties = 0;
    for (arm, &epoch) in ["base", "robust"].iter().zip(&epochs) {
        let eligible: Vec<&EpochStats> = history.iter().filter(|s| s.arm == *arm && s.epoch >= 10).collect();
        let best = eligible.iter().filter_map(|s| s.validation_accuracy).fold(0.0, f64::max);
        let equals: Vec<usize> =
            eligible.iter().filter(|s| s.validation_accuracy == Some(best)).map(|s| s.epoch).collect();
        assert_eq!(equals.last(), Some(&epoch), "{arm}");
        ties += equals.len() - 1;
    }
    assert!(ties > 0, "nothing was tied, so that nothing was tested");
}

#[test]
fn an_envelope_that_never_comes_on_is_not_waited_for() {
    let rows = rows();
    let config = patient(adam(ModelConfig::mlp(&[32]), 40, Some(32)), 1);
    let (_, history) = kept(&config, pair(Start::Fraction(1.0)), &rows);
    assert!(history.last().unwrap().epoch < 10 && switched_on(&history).is_none());
    // Nor does L-BFGS switch it on when it has converged.
    let (_, history) = kept(&lbfgs(200), pair(Start::Fraction(1.0)), &rows);
    assert!(history.last().unwrap().epoch < 100 && switched_on(&history).is_none());
}

#[test]
fn a_base_loss_that_converges_early_has_its_envelope_switched_on_then() {
    let rows = rows();
    let config = lbfgs(1000);
    let alone = fresh(&config, vec![Arm::base(CE)], &rows);
    let converged = ended(alone);
    assert!(converged < 50, "{converged}");
    // Its own epoch would be the 250th: the envelope takes over in the iteration after the base loss has converged.
    let arms = pair(Start::Fraction(0.25));
    let (epochs, history) = kept(&config, arms.clone(), &rows);
    assert_eq!(switched_on(&history), Some(converged));
    assert!(epochs[1] > converged && epochs[1] < 250, "{epochs:?}");
    // The base arm is left at its optimum, which is the base arm alone; the other has moved on from there.
    let mut trainer = fresh(&config, arms.clone(), &rows);
    trainer.run(&mut Silent).unwrap();
    let trained = trainer.finish().unwrap();
    assert_eq!(trained[0].lbfgs, Some(LbfgsStatus::GradientTolerance));
    assert_ne!(trained[0].model.network().parameters(), trained[1].model.network().parameters());
    let mut alone = fresh(&config, vec![Arm::base(CE)], &rows);
    alone.run(&mut Silent).unwrap();
    assert_eq!(trained[0].model.network().parameters(), alone.finish().unwrap()[0].model.network().parameters());
    // With patience as well nothing before that iteration is kept.
    let (epochs, history) = kept(&patient(config, 2), arms, &rows);
    assert_eq!(switched_on(&history), Some(converged));
    assert!(epochs.iter().all(|&epoch| epoch >= converged), "{epochs:?}");
}

/// Epochs that a training takes.
fn ended(mut trainer: Trainer<'_, f32>) -> usize {
    trainer.run(&mut Silent).unwrap();
    trainer.epochs_done()
}

#[test]
fn a_training_that_is_resumed_before_or_after_the_envelope_has_the_same_patience() {
    let rows = rows();
    let start = Start::Fraction(0.25);
    for (config, stops) in
        [(patient(adam(ModelConfig::mlp(&[32]), 40, Some(32)), 1), [3, 10, 11]), (patient(lbfgs(1000), 2), [2, 8, 14])]
    {
        let expected = run(&config, pair(start), &rows, &mut Silent);
        for stop in stops {
            let saved = run(&config, pair(start), &rows, &mut StopAfter(stop));
            assert!(saved.epochs_done() < expected.epochs_done(), "{stop}");
            let mut second = fresh(&config, pair(start), &rows);
            saved.resume(&mut second).unwrap();
            second.run(&mut Silent).unwrap();
            assert_eq!(Checkpoint::of(&second), expected, "stopped after {stop}");
        }
    }
}

#[test]
fn an_envelope_comes_on_at_the_onset_of_learning_by_heart_and_a_resumed_training_knows_it() {
    let rows = rows();
    let config = patient(adam(ModelConfig::mlp(&[32]), 40, Some(32)), 0);
    let start = Start::Onset(0.05);
    let (epochs, history) = kept(&config, pair(start), &rows);
    let on = switched_on(&history).unwrap();
    let of_arm: Vec<&EpochStats> = history.iter().filter(|stats| stats.arm == "robust").collect();
    let ahead = |epoch: usize| {
        let stats = of_arm[epoch];
        stats.training_accuracy.unwrap() - stats.validation_accuracy.unwrap() >= 0.05
    };
    assert!(ahead(on - 1) && ahead(on - 2), "{on}");
    assert!((1..on - 1).all(|epoch| !(ahead(epoch) && ahead(epoch - 1))), "{on}");
    assert!(epochs[1] >= on, "{epochs:?} before {on}");
    let expected = run(&config, pair(start), &rows, &mut Silent);
    for stop in [on - 1, on, on + 1] {
        let saved = run(&config, pair(start), &rows, &mut StopAfter(stop));
        let mut second = fresh(&config, pair(start), &rows);
        saved.resume(&mut second).unwrap();
        second.run(&mut Silent).unwrap();
        assert_eq!(Checkpoint::of(&second), expected, "stopped after {stop}");
    }
    // Noticed after the last epoch it changes nothing any more: the best epoch stays chosen.
    let short = TrainConfig { epochs: on, ..config };
    let (epochs, history) = kept(&short, pair(start), &rows);
    assert!(switched_on(&history).is_none());
    assert_eq!(epochs[0], epochs[1]);
}

struct StopAfter(usize);

impl Observer<f32> for StopAfter {
    fn epoch(&mut self, trainer: &Trainer<'_, f32>, _: &[EpochStats]) -> cmrm_train::Result<ControlFlow<()>> {
        Ok(if trainer.epochs_done() >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
