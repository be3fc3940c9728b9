//! The seeds of the fuzz targets `model` and `checkpoint` are files of the present formats.

mod common;

use std::fs;
use std::path::Path;

use cmrm::loss::LossConfig;
use cmrm_train::model::ModelConfig;
use cmrm_train::stored::TensorFile;
use cmrm_train::train::{Silent, Trainer};
use cmrm_train::{Checkpoint, Model, Predictor};

#[test]
fn models_and_checkpoints_of_the_corpus_can_be_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for name in ["adam", "sgd", "lbfgs"] {
        let read = |target: &str| fs::read(corpus.join(target).join(name)).unwrap();
        let model = Model::<f32>::from_bytes(&read("model")).unwrap();
        assert_eq!(model.classes(), 3, "{name}");
        assert!(Model::<f64>::from_bytes(&read("model")).is_err(), "{name}: single precision is not double");
        assert_eq!(Checkpoint::from_bytes(&read("checkpoint")).unwrap().epochs_done(), 2, "{name}");
    }
}

#[test]
fn votes_of_the_corpus_can_be_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/model");
    for (name, voters) in [("forest", 1), ("boosting", 1), ("kernel", 1), ("vote", 3)] {
        let bytes = fs::read(corpus.join(name)).unwrap();
        let Predictor::Vote(vote) = Predictor::from_bytes(&bytes).unwrap() else { panic!("{name} is no vote") };
        assert_eq!((vote.classes(), vote.inputs(), vote.voters().len()), (3, 4, voters), "{name}");
        assert_eq!(vote.to_bytes().unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_checkpoint_of_another_format_is_refused_by_its_number() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/checkpoint/adam");
    let (_, file): (serde_json::Value, _) = TensorFile::from_bytes(&fs::read(corpus).unwrap()).unwrap();
    let older = file.to_bytes(&serde_json::json!({ "format": 1, "terms_on": [] })).unwrap();
    let message = Checkpoint::from_bytes(&older).unwrap_err().to_string();
    assert!(message.contains("it has format 1, this version reads 2"), "{message}");
}

#[test]
fn what_the_corpus_holds_beside_the_seeds_is_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for target in ["model", "checkpoint"] {
        for file in fs::read_dir(corpus.join(target)).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            for cut in [0, bytes.len() / 3, bytes.len().saturating_sub(1)] {
                assert!(Predictor::from_bytes(&bytes[..cut]).is_err());
                assert!(Checkpoint::from_bytes(&bytes[..cut]).is_err());
            }
        }
    }
}

#[test]
fn a_checkpoint_with_rivals_that_are_no_classes_is_refused() {
    let data = common::blobs(40, 3, 2, 0.1, 1);
    let config = common::adam(ModelConfig::linear(), 2, Some(16));
    let fresh =
        || Trainer::new(config.clone(), common::arms(LossConfig::CrossEntropy), 2, data.examples(), None).unwrap();
    let mut trained = fresh();
    trained.run(&mut Silent).unwrap();
    let saved = Checkpoint::of(&trained).to_bytes().unwrap();
    let (header, file): (serde_json::Value, _) = TensorFile::from_bytes(&saved).unwrap();
    for (rivals, part) in [(vec![2; 40], "class"), (vec![1; 39], "rivals against rows")] {
        let mut spoilt = file.clone();
        spoilt.put_integers("arm0.record.rival", &rivals);
        let checkpoint = Checkpoint::from_bytes(&spoilt.to_bytes(&header).unwrap()).unwrap();
        let message = checkpoint.resume(&mut fresh()).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    Checkpoint::from_bytes(&file.to_bytes(&header).unwrap()).unwrap().resume(&mut fresh()).unwrap();
}

#[test]
fn tensors_of_the_same_size_in_another_shape_are_refused_by_name() {
    let data = common::blobs(40, 3, 2, 0.1, 1);
    let config = common::adam(ModelConfig::mlp(&[5]), 2, Some(16));
    let fresh =
        || Trainer::new(config.clone(), common::arms(LossConfig::CrossEntropy), 2, data.examples(), None).unwrap();
    let mut trained = fresh();
    trained.run(&mut Silent).unwrap();

    let saved = Checkpoint::of(&trained).to_bytes().unwrap();
    let (header, file): (serde_json::Value, _) = TensorFile::from_bytes(&saved).unwrap();
    for name in ["arm0.parameters", "arm1.record.last_margin"] {
        let (values, shape) = file.take::<f32>(name).unwrap();
        let mut spoilt = file.clone();
        spoilt.put(name, &[1, shape[0]], &values);
        let checkpoint = Checkpoint::from_bytes(&spoilt.to_bytes(&header).unwrap()).unwrap();
        let message = checkpoint.resume(&mut fresh()).unwrap_err().to_string();
        assert!(
            message.contains(name) && message.contains(&format!("[1, {0}], expected [{0}]", shape[0])),
            "{message}"
        );
    }

    let model = trained.finish().unwrap().remove(0).model;
    let (header, file): (serde_json::Value, _) = TensorFile::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let (weights, _) = file.take::<f32>("layers.0.weight").unwrap();
    let mut transposed = file.clone();
    transposed.put("layers.0.weight", &[3, 5], &weights);
    let message = Model::<f32>::from_bytes(&transposed.to_bytes(&header).unwrap()).unwrap_err().to_string();
    assert!(message.contains("'layers.0.weight'") && message.contains("[3, 5], expected [5, 3]"), "{message}");
}
