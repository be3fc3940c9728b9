//! The training loop: it learns, it is deterministic, it resumes to the same bits, it refuses what cannot work.

mod common;

use cmrm::Matrix;
use cmrm::envelope::binary::BinaryConfig;
use cmrm::envelope::{Preset, Start};
use cmrm::loss::LossConfig;
use cmrm_train::model::{Init, ModelConfig};
use cmrm_train::optim::{Clip, LbfgsConfig, OptimiserConfig, SgdConfig};
use cmrm_train::train::{
    Arm, ClassWeights, Examples, Method, Selection, Silent, Term, TrainConfig, Trained, Trainer, Waypoint,
};
use cmrm_train::{Checkpoint, Error, Model};
use common::{Blobs, adam, arms, blobs};

const CE: LossConfig = LossConfig::CrossEntropy;

fn train(config: TrainConfig, arms: Vec<Arm>, classes: usize, data: &Blobs) -> Vec<Trained<f32>> {
    let mut trainer = Trainer::new(config, arms, classes, data.examples(), None).unwrap();
    trainer.run(&mut Silent).unwrap();
    trainer.finish().unwrap()
}

fn accuracy(model: &Model<f32>, data: &Blobs) -> f64 {
    let predicted = model.predict(Matrix::new(&data.x, data.columns).unwrap()).unwrap();
    let right = predicted.iter().zip(&data.clean).filter(|(a, b)| a == b).count();
    right as f64 / predicted.len() as f64
}

/// Everything of a result that must not depend on threads or interruptions.
fn bits(trained: &[Trained<f32>]) -> Vec<(Vec<u32>, Vec<u32>, Vec<u32>)> {
    let words = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    trained
        .iter()
        .map(|t| (words(t.model.network().parameters()), words(&t.record.mean_margin), words(&t.record.last_weight)))
        .collect()
}

fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

fn lbfgs(model: ModelConfig, epochs: usize) -> TrainConfig {
    TrainConfig { method: Method::FullBatch(LbfgsConfig::default()), l2: 1e-3, ..adam(model, epochs, None) }
}

#[test]
fn every_arm_learns_and_wrong_labels_get_low_margins() {
    let data = blobs(1500, 12, 4, 0.3, 1);
    for config in [adam(ModelConfig::mlp(&[32]), 15, Some(64)), lbfgs(ModelConfig::linear(), 60)] {
        for trained in train(config, arms(CE), 4, &data) {
            assert!(accuracy(&trained.model, &data) > 0.9, "{}", trained.name);
            let mean = |wrong: bool| {
                let rows = (0..data.clean.len()).filter(|&i| (data.clean[i] != data.observed[i]) == wrong);
                let margins: Vec<f64> = rows.map(|i| f64::from(trained.record.last_margin[i])).collect();
                margins.iter().sum::<f64>() / margins.len() as f64
            };
            assert!(mean(true) < 0.0 && mean(false) > 0.3, "{}: {} {}", trained.name, mean(true), mean(false));
        }
    }
}

#[test]
fn the_share_of_wrong_labels_among_filtered_rows_is_told_and_changes_nothing() {
    let data = blobs(400, 6, 4, 0.3, 1);
    let wrong: Vec<bool> = data.clean.iter().zip(&data.observed).map(|(a, b)| a != b).collect();
    let start = || {
        let config = adam(ModelConfig::mlp(&[16]), 12, Some(64));
        Trainer::new(config, arms(LossConfig::CrossEntropy), 4, data.examples(), None).unwrap()
    };
    let (mut plain, mut told) = (start(), start().with_known_wrong(wrong.clone()).unwrap());
    plain.run(&mut Silent).unwrap();
    told.run(&mut Silent).unwrap();
    let last = told.history().last().unwrap();
    assert_eq!((last.arm.as_str(), plain.history().last().unwrap().wrong_among_filtered), ("robust", None));
    // Three labels in ten are wrong; among the filtered rows there are more.
    assert!(last.wrong_among_filtered.unwrap() > 0.4, "{last:?}");
    assert_eq!(bits(&plain.finish().unwrap()), bits(&told.finish().unwrap()));
    assert!(start().with_known_wrong(vec![false; 3]).is_err());
}

#[test]
fn svm_cosine_and_binary_envelope_learn() {
    let data = blobs(1200, 8, 2, 0.2, 2);
    let sgd = OptimiserConfig::Sgd(SgdConfig { momentum: 0.9, ..SgdConfig::default() });
    let binary = |name: &str, config: BinaryConfig| Arm {
        name: name.into(),
        term: Term::Binary { config, start: Start::Fraction(0.5), fresh_optimiser: true },
        ..Arm::base(CE)
    };
    let arms = vec![
        Arm::base(CE),
        binary("paper", BinaryConfig::paper(0.4, 0.5, 0.3, 0.1)),
        binary("authors", BinaryConfig::authors(0.4, 0.5, 0.3, 0.1)),
    ];
    for trained in train(adam(ModelConfig::mlp(&[16]), 10, Some(128)), arms.clone(), 2, &data) {
        assert!(accuracy(&trained.model, &data) > 0.9, "{}", trained.name);
    }
    let svm: Vec<Arm> = arms.into_iter().map(|arm| Arm { loss: LossConfig::Hinge, ..arm }).collect();
    let mut config = adam(ModelConfig::svm(), 30, None);
    config.l2 = 1e-3;
    for trained in train(config, svm, 2, &data) {
        assert!(accuracy(&trained.model, &data) > 0.9, "{}", trained.name);
    }
    let ldam = LossConfig::Ldam { max_margin: 0.5, scale: 30.0 };
    let mut config = adam(ModelConfig::cosine(), 10, Some(64));
    if let Method::Stochastic { optimiser, .. } = &mut config.method {
        *optimiser = sgd;
    }
    for trained in train(config, common::arms(ldam), 2, &data) {
        assert!(accuracy(&trained.model, &data) > 0.9, "{}", trained.name);
        assert_eq!(trained.model.scale(), 30.0);
    }
}

#[test]
fn one_two_and_eight_threads_give_the_same_bits() {
    // More rows than one block, so that threads have something to share.
    let data = blobs(9000, 20, 5, 0.3, 3);
    for config in [
        adam(ModelConfig::mlp(&[24]), 2, Some(256)),
        adam(ModelConfig { dropout: 0.3, ..ModelConfig::mlp(&[24, 16]) }, 3, None),
        lbfgs(ModelConfig::linear(), 12),
    ] {
        let results =
            [1, 2, 8].map(|threads| with_threads(threads, || bits(&train(config.clone(), arms(CE), 5, &data))));
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0], results[2]);
    }
}

#[test]
fn an_arm_trained_beside_others_is_the_arm_trained_alone() {
    let data = blobs(600, 10, 3, 0.2, 4);
    let config = adam(ModelConfig::mlp(&[16]), 5, Some(50));
    let together = train(config.clone(), arms(CE), 3, &data);
    for (arm, beside) in arms(CE).into_iter().zip(&together) {
        let alone = train(config.clone(), vec![arm], 3, &data);
        // A wider product may add in another order, so the last digits differ.
        for (a, b) in alone[0].model.network().parameters().iter().zip(beside.model.network().parameters()) {
            assert!((a - b).abs() < 2e-3, "{}: {a} against {b}", beside.name);
        }
    }
}

#[test]
fn a_resumed_training_ends_in_the_same_bytes() {
    let data = blobs(500, 10, 3, 0.3, 5);
    let mut sgd = adam(ModelConfig { dropout: 0.2, ..ModelConfig::mlp(&[12]) }, 8, Some(64));
    if let Method::Stochastic { optimiser, .. } = &mut sgd.method {
        *optimiser = OptimiserConfig::Sgd(SgdConfig { momentum: 0.9, ..SgdConfig::default() });
    }
    sgd.keep_history = true;
    let mut best = adam(ModelConfig::mlp(&[12]), 8, Some(64));
    best.selection = Selection::Best { patience: 3 };
    for config in [adam(ModelConfig::mlp(&[12]), 8, Some(64)), sgd, best, lbfgs(ModelConfig::linear(), 30)] {
        let validation = (config.selection != Selection::Last).then(|| data.examples());
        let new = || Trainer::new(config.clone(), arms(CE), 3, data.examples(), validation).unwrap();
        let mut whole = new();
        whole.run(&mut Silent).unwrap();
        let expected = Checkpoint::of(&whole);
        for stop in [1, 2, 5] {
            let mut first = new();
            first.run(&mut StopAfter(stop)).unwrap();
            let saved = Checkpoint::of(&first).to_bytes().unwrap();
            let mut second = new();
            Checkpoint::from_bytes(&saved).unwrap().resume(&mut second).unwrap();
            assert_eq!(second.epochs_done(), first.epochs_done());
            second.run(&mut Silent).unwrap();
            assert_eq!(Checkpoint::of(&second), expected, "stopped after {stop}: {config:?}");
        }
    }
}

struct StopAfter(usize);

impl<T: cmrm::Scalar> cmrm_train::train::Observer<T> for StopAfter {
    fn epoch(
        &mut self,
        trainer: &Trainer<'_, T>,
        _stats: &[cmrm_train::train::EpochStats],
    ) -> cmrm_train::Result<std::ops::ControlFlow<()>> {
        let done = trainer.epochs_done() >= self.0;
        Ok(if done { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) })
    }
}

#[test]
fn a_checkpoint_of_other_settings_or_data_is_refused() {
    let (data, other) = (blobs(200, 4, 3, 0.0, 6), blobs(200, 4, 3, 0.0, 7));
    let config = adam(ModelConfig::linear(), 2, Some(32));
    let trainer = Trainer::new(config.clone(), arms(CE), 3, data.examples(), None).unwrap();
    let checkpoint = Checkpoint::of(&trainer);
    let refused = |config: TrainConfig, data: &Blobs| {
        let mut trainer = Trainer::new(config, arms(CE), 3, data.examples(), None).unwrap();
        checkpoint.resume(&mut trainer).unwrap_err().to_string()
    };
    assert!(refused(TrainConfig { seed: 9, ..config.clone() }, &data).contains("settings differ"));
    assert!(refused(config.clone(), &other).contains("other rows or labels"));
    assert!(refused(config, &blobs(300, 4, 3, 0.0, 6)).contains("200 rows"));
    assert!(Checkpoint::from_bytes(b"nonsense").unwrap_err().to_string().contains("not a safetensors file"));
}

#[test]
fn a_model_survives_its_file_bit_for_bit_and_a_damaged_file_is_refused() {
    let data = blobs(300, 6, 3, 0.1, 8);
    let model = train(adam(ModelConfig::mlp(&[9, 5]), 3, Some(32)), vec![Arm::base(CE)], 3, &data).remove(0).model;
    let bytes = model.to_bytes().unwrap();
    let back = Model::<f32>::from_bytes(&bytes).unwrap();
    let x = Matrix::new(&data.x, 6).unwrap();
    assert_eq!(back.probabilities(x).unwrap(), model.probabilities(x).unwrap());
    assert_eq!(back.to_bytes().unwrap(), bytes);
    for cut in [0, 7, 8, 50, bytes.len() - 1] {
        assert!(Model::<f32>::from_bytes(&bytes[..cut]).is_err());
    }
    let text = String::from_utf8_lossy(&bytes).replacen("\\\"format\\\":1", "\\\"format\\\":9", 1);
    // Only the header is text; the tensors are cut off, so the version must be noticed first or the length refused.
    assert!(Model::<f32>::from_bytes(text.as_bytes()).is_err());
    assert!(Model::<f64>::from_bytes(&bytes).unwrap_err().to_string().contains("F64"));
    assert!(model.predict(Matrix::new(&data.x, 5).unwrap()).is_err());
}

#[test]
fn selection_keeps_the_best_epoch_by_observed_validation_labels() {
    let data = blobs(400, 10, 4, 0.4, 9);
    let held_out = blobs(400, 10, 4, 0.4, 9);
    let mut config = adam(ModelConfig::mlp(&[64]), 40, Some(32));
    config.selection = Selection::Best { patience: 5 };
    let mut trainer = Trainer::new(config, vec![Arm::base(CE)], 4, data.examples(), Some(held_out.examples())).unwrap();
    trainer.run(&mut Silent).unwrap();
    let history = trainer.history().to_vec();
    // The last of equals.
    let best =
        history.iter().max_by(|a, b| a.validation_accuracy.partial_cmp(&b.validation_accuracy).unwrap()).unwrap();
    assert_eq!(trainer.finish().unwrap()[0].epoch, best.epoch);
}

#[test]
fn sample_weights_class_weights_and_clipping_do_what_they_say() {
    let data = blobs(600, 6, 3, 0.0, 10);
    // A weight of zero is the same as leaving the row out.
    let (mut weights, mut labels) = (vec![1.0f32; 600], data.observed.clone());
    for i in (0..600).step_by(3) {
        weights[i] = 0.0;
        labels[i] = (labels[i] + 1) % 3;
    }
    let x = Matrix::new(&data.x, 6).unwrap();
    let fit = |examples: Examples<'_, f32>, class_weights, clip| {
        let config = TrainConfig { class_weights, clip, ..lbfgs(ModelConfig::linear(), 200) };
        let mut trainer = Trainer::new(config, vec![Arm::base(CE)], 3, examples, None).unwrap();
        trainer.run(&mut Silent).unwrap();
        trainer.finish().unwrap().remove(0).model
    };
    let weighted =
        fit(Examples { row_weights: Some(&weights), ..Examples::new(x, &labels) }, ClassWeights::Equal, None);
    let kept: Vec<usize> = (0..600).filter(|i| i % 3 != 0).collect();
    let rows: Vec<f32> = kept.iter().flat_map(|&i| x.row(i).to_vec()).collect();
    let observed: Vec<u32> = kept.iter().map(|&i| data.observed[i]).collect();
    let alone = fit(Examples::new(Matrix::new(&rows, 6).unwrap(), &observed), ClassWeights::Equal, None);
    for (a, b) in weighted.network().parameters().iter().zip(alone.network().parameters()) {
        assert!((a - b).abs() < 2e-2, "{a} against {b}");
    }
    // A class that weighs a thousand times as much is predicted more often.
    let count = |model: &Model<f32>| model.predict(x).unwrap().iter().filter(|&&p| p == 0).count();
    let heavy = fit(data.examples(), ClassWeights::Given(vec![1000.0, 1.0, 1.0]), None);
    assert!(count(&heavy) > count(&fit(data.examples(), ClassWeights::Balanced, None)));
    // With SGD a clip bounds the distance that one step can go.
    let mut config = adam(ModelConfig::linear(), 1, None);
    if let Method::Stochastic { optimiser, learning_rate, .. } = &mut config.method {
        (*optimiser, *learning_rate) = (OptimiserConfig::Sgd(SgdConfig::default()), 1.0);
    }
    let moved = |clip| {
        let model = train(TrainConfig { clip, ..config.clone() }, vec![Arm::base(CE)], 3, &data).remove(0).model;
        model.network().parameters().iter().map(|&p| f64::from(p * p)).sum::<f64>().sqrt()
    };
    assert!(moved(None) > 0.1 && (moved(Some(Clip::Norm(0.01))) - 0.01).abs() < 1e-5);
    assert!(moved(Some(Clip::Value(1e-4))) < 1e-3);
}

#[test]
fn a_diverging_run_stops_with_place_and_cause() {
    let data = blobs(300, 6, 3, 0.0, 11);
    let mut config = adam(ModelConfig::mlp(&[8]), 20, Some(32));
    if let Method::Stochastic { optimiser, learning_rate, .. } = &mut config.method {
        (*optimiser, *learning_rate) = (OptimiserConfig::Sgd(SgdConfig::default()), 1e30);
    }
    let mut trainer = Trainer::new(config, vec![Arm::base(CE)], 3, data.examples(), None).unwrap();
    match trainer.run(&mut Silent) {
        Err(error @ Error::Diverged { .. }) => {
            let text = error.to_string();
            assert!(
                text.contains("epoch 0") && text.contains("learning rate of 1e30") || text.contains("1000000"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn bad_settings_and_data_are_refused_with_both_numbers() {
    let data = blobs(50, 4, 3, 0.0, 12);
    let refused = |config: TrainConfig, classes: usize| {
        Trainer::new(config, arms(CE), classes, data.examples(), None).unwrap_err().to_string()
    };
    let good = adam(ModelConfig::linear(), 2, Some(8));
    assert!(refused(good.clone(), 2).contains("label 2 is not below the number of classes 2"));
    assert!(refused(TrainConfig { epochs: 0, ..good.clone() }, 3).contains("epochs = 0"));
    assert!(refused(TrainConfig { l2: -1.0, ..good.clone() }, 3).contains("l2 = -1"));
    assert!(refused(TrainConfig { model: ModelConfig::svm(), ..good.clone() }, 3).contains("score head"));
    assert!(
        refused(TrainConfig { selection: Selection::Best { patience: 1 }, ..good.clone() }, 3).contains("validation")
    );
    let mut x = data.x.clone();
    x[9] = f32::NAN;
    let examples = Examples::new(Matrix::new(&x, 4).unwrap(), &data.observed);
    let text = Trainer::new(good, vec![Arm::base(CE)], 3, examples, None).unwrap_err().to_string();
    assert!(text.contains("row 2, column 1"), "{text}");
    assert!(Preset::Robust.config(&CE).validate().is_ok());
}

#[test]
fn a_fork_is_the_training_that_switches_its_envelope_on_with_a_fresh_optimiser() {
    let data = blobs(300, 6, 2, 0.2, 5);
    let loss = LossConfig::CrossEntropy;
    let term = |start| Term::Binary {
        config: BinaryConfig::authors(0.4, 0.5, 0.3, 0.1),
        start: Start::Epoch(start),
        fresh_optimiser: true,
    };
    let arm = |start| Arm { name: "authors".into(), term: term(start), ..Arm::base(loss) };
    let model = ModelConfig { init: Init::Uniform, ..ModelConfig::mlp(&[16, 16]) };
    let whole = train(adam(model.clone(), 12, None), vec![arm(7)], 2, &data);

    let trunk_of = adam(model.clone(), 7, None);
    let mut trunk = Trainer::new(trunk_of, vec![Arm::base(loss)], 2, data.examples(), None).unwrap();
    trunk.run(&mut Silent).unwrap();
    let fork = Trainer::new(adam(model, 5, None), vec![arm(0)], 2, data.examples(), None).unwrap();
    let mut fork = fork.starting_from(&trunk.parameters_of(0)).unwrap();
    fork.run(&mut Silent).unwrap();
    assert_eq!(fork.parameters_of(0), whole[0].model.network().parameters());
    assert!(fork.starting_from(&[0.0]).is_err(), "a training under way is no place to fork");
}

#[test]
fn a_uniform_start_keeps_to_its_bound_in_weights_and_biases() {
    let model = ModelConfig { init: Init::Uniform, ..ModelConfig::mlp(&[64]) };
    let data = blobs(10, 9, 2, 0.0, 1);
    let trainer =
        Trainer::new(adam(model, 1, None), vec![Arm::base(LossConfig::CrossEntropy)], 2, data.examples(), None);
    let parameters = trainer.unwrap().parameters_of(0);
    let (first, head) = parameters.split_at(64 * 9 + 64);
    let largest = |part: &[f32]| part.iter().fold(0.0f32, |most, w| most.max(w.abs()));
    assert!((0.3..=1.0 / 3.0).contains(&largest(first)), "{}", largest(first));
    assert!((0.1..=0.125).contains(&largest(head)), "{}", largest(head));
    assert!(first[64 * 9..].iter().all(|&bias| bias != 0.0));
}

#[test]
fn two_halves_of_a_training_joined_at_a_waypoint_are_the_whole() {
    let data = blobs(200, 4, 3, 0.2, 9);
    let base = || vec![Arm::base(LossConfig::CrossEntropy)];
    // All rows at once, so that no order is drawn and one epoch is like another.
    let settings = |epochs| adam(ModelConfig::mlp(&[8]), epochs, None);
    let whole = train(settings(6), base(), 3, &data);
    let mut first = Trainer::new(settings(4), base(), 3, data.examples(), None).unwrap();
    first.run(&mut Silent).unwrap();
    let mut second = Trainer::new(settings(2), base(), 3, data.examples(), None).unwrap();
    second.go_on_from(&first.waypoint()).unwrap();
    second.run(&mut Silent).unwrap();
    let joined = second.finish().unwrap();
    assert_eq!(whole[0].model.network().parameters(), joined[0].model.network().parameters());
    // From the model alone the optimiser starts afresh, which is another way.
    let model = first.current_model(0).unwrap();
    let mut fresh = Trainer::new(settings(2), base(), 3, data.examples(), None).unwrap();
    fresh.go_on_from(&Waypoint::of_models([&model])).unwrap();
    assert_eq!(fresh.parameters_of(0), model.network().parameters());
    fresh.run(&mut Silent).unwrap();
    assert_ne!(fresh.parameters_of(0), joined[0].model.network().parameters());
    let mut other = Trainer::new(settings(2), arms(LossConfig::CrossEntropy), 3, data.examples(), None).unwrap();
    assert!(other.go_on_from(&first.waypoint()).unwrap_err().to_string().contains("expected 4, found 1"));
}
