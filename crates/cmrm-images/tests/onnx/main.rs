//! Features from ONNX models that the tests write themselves, against libtorch on the same weights.
#![cfg(feature = "onnx")]

mod command;
mod protobuf;
mod refused;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use cmrm::rng::Rng;
use cmrm_images::Result;
use cmrm_images::data::Images;
use cmrm_images::onnx::{OnnxModel, OnnxOptions, Preparation};
use protobuf::{FLOAT, Message, UINT8, integer, integers, model, node, tensor, value};
use tch::{Kind, Tensor};

const SIDE: usize = 8;
const FEATURES: usize = 5;
const CHANNELS: usize = 4;

/// Weights of a small network: convolution, normalisation, ReLU, a linear layer.
struct Weights {
    named: Vec<(&'static str, Vec<u64>, Vec<f32>)>,
}

impl Weights {
    fn draw() -> Self {
        let mut rng = Rng::new(11, 0);
        let flat = (CHANNELS * SIDE * SIDE / 4) as u64;
        let (channels, features) = (CHANNELS as u64, FEATURES as u64);
        let mut draw = |name, shape: &[u64]| {
            let count = shape.iter().product::<u64>();
            // A variance is positive.
            let number = |rng: &mut Rng| if name == "variance" { 0.5 + rng.uniform() } else { 0.3 * rng.normal() };
            (name, shape.to_vec(), (0..count).map(|_| number(&mut rng) as f32).collect())
        };
        let named = vec![
            draw("kernel", &[channels, 3, 3, 3]),
            draw("scale", &[channels]),
            draw("shift", &[channels]),
            draw("mean", &[channels]),
            draw("variance", &[channels]),
            draw("matrix", &[features, flat]),
            draw("bias", &[features]),
        ];
        Weights { named }
    }

    fn tensors(&self) -> Vec<Message> {
        self.named.iter().map(|(name, shape, values)| tensor(name, shape, values)).collect()
    }

    fn get(&self, name: &str) -> Tensor {
        let (_, shape, values) = self.named.iter().find(|(other, _, _)| *other == name).unwrap();
        Tensor::from_slice(values).view(shape.iter().map(|&length| length as i64).collect::<Vec<_>>().as_slice())
    }

    /// What libtorch makes of normalised images: the ReLU's output, flat, and the last layer's.
    fn libtorch(&self, images: &Tensor) -> [Tensor; 2] {
        let seen = images.conv2d(&self.get("kernel"), None::<Tensor>, [2], [1], [1], 1);
        let [scale, shift, mean, variance] = ["scale", "shift", "mean", "variance"].map(|name| self.get(name));
        let seen = seen
            .batch_norm(Some(scale), Some(shift), Some(mean), Some(variance), false, 0.0, 1e-5, false)
            .relu()
            .flatten(1, -1);
        let last = seen.linear(&self.get("matrix"), Some(self.get("bias")));
        [seen, last]
    }
}

/// The network's operators, from a tensor of images by planes.
fn network(images: &str) -> Vec<Message> {
    vec![
        node(
            "Conv",
            &[images, "kernel"],
            "seen",
            &[integers("kernel_shape", &[3, 3]), integers("pads", &[1, 1, 1, 1]), integers("strides", &[2, 2])],
        ),
        node("BatchNormalization", &["seen", "scale", "shift", "mean", "variance"], "normal", &[]),
        node("Relu", &["normal"], "active", &[]),
        node("Flatten", &["active"], "flat", &[integer("axis", 1)]),
        node("Gemm", &["flat", "matrix", "bias"], "logits", &[integer("transB", 1)]),
    ]
}

const OPEN: Option<u64> = None;
const PIXELS: Option<u64> = Some(SIDE as u64);

fn planes(batch: Option<u64>) -> Message {
    value("image", FLOAT, &[batch, Some(3), PIXELS, PIXELS])
}

fn logits() -> Message {
    value("logits", FLOAT, &[OPEN, Some(FEATURES as u64)])
}

/// The whole model as a file.
fn plain(folder: &Path, batch: Option<u64>) -> PathBuf {
    write(folder, &model(&network("image"), &Weights::draw().tensors(), &[planes(batch)], &[logits()]))
}

fn write(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("model.onnx");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn images(rows: usize, side: usize, channels: usize) -> Images {
    let mut rng = Rng::new(rows as u64, 1);
    Images {
        pixels: (0..rows * side * side * channels).map(|_| rng.below(256) as u8).collect(),
        labels: vec![0; rows],
        height: side,
        width: side,
        channels,
        ..Images::default()
    }
}

const MEAN: [f32; 3] = [0.4, 0.5, 0.6];
const DEVIATION: [f32; 3] = [0.2, 0.25, 0.3];

fn options(output: Option<&str>) -> OnnxOptions {
    let preparation = Preparation { size: None, mean: MEAN.into(), deviation: DEVIATION.into() };
    OnnxOptions { output: output.map(str::to_owned), preparation, batch: Some(4), threads: Some(2) }
}

/// The features and how many a row has.
fn embed(path: &Path, options: OnnxOptions, images: &Images) -> Result<(Vec<f32>, usize)> {
    let model = OnnxModel::open(path, options)?;
    let (embedding, mut all) = (model.embedding(images)?, Vec::new());
    embedding.compute(&AtomicBool::new(false), |rows| {
        all.extend(rows);
        Ok(())
    })?;
    Ok((all, embedding.width()))
}

/// Images as libtorch wants them, normalised as the options say.
fn normalised(images: &Images, mean: [f32; 3], deviation: [f32; 3]) -> Tensor {
    let (rows, side, channels) = (images.len() as i64, images.height as i64, images.channels as i64);
    let pixels = Tensor::from_slice(&images.pixels).view([rows, side, side, channels]).to_kind(Kind::Float) / 255.0;
    ((pixels - Tensor::from_slice(&mean)) / Tensor::from_slice(&deviation)).permute([0, 3, 1, 2])
}

fn close(ours: &[f32], libtorch: &Tensor) {
    let libtorch = Vec::<f32>::try_from(&libtorch.contiguous().view([-1])).unwrap();
    assert_eq!(ours.len(), libtorch.len());
    for (at, (ours, libtorch)) in ours.iter().zip(&libtorch).enumerate() {
        assert!((ours - libtorch).abs() < 1e-5 * libtorch.abs().max(1.0), "[{at}]: {ours}, libtorch {libtorch}");
    }
}

#[test]
fn features_are_those_of_libtorch() {
    let folder = tempfile::tempdir().unwrap();
    let path = plain(folder.path(), OPEN);
    // Two full batches, and three images of a third.
    let images = images(11, SIDE, 3);
    let [flat, last] = Weights::draw().libtorch(&normalised(&images, MEAN, DEVIATION));
    let (features, width) = embed(&path, options(None), &images).unwrap();
    assert_eq!(width, FEATURES);
    close(&features, &last);
    for before_the_classifier in ["active", "flat"] {
        let (features, width) = embed(&path, options(Some(before_the_classifier)), &images).unwrap();
        assert_eq!(width, CHANNELS * SIDE * SIDE / 4);
        close(&features, &flat);
    }
}

#[test]
fn a_fixed_batch_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let images = images(5, SIDE, 3);
    let [_, last] = Weights::draw().libtorch(&normalised(&images, MEAN, DEVIATION));
    for batch in [1, 3] {
        close(&embed(&plain(folder.path(), Some(batch)), options(None), &images).unwrap().0, &last);
    }
}

#[test]
fn channels_may_stand_last_and_pixels_be_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let images = images(6, SIDE, 3);
    let weights = Weights::draw();
    let last_to_second = [integers("perm", &[0, 3, 1, 2])];
    let shape = [OPEN, PIXELS, PIXELS, Some(3)];

    let mut nodes = vec![node("Transpose", &["image"], "planes", &last_to_second)];
    nodes.extend(network("planes"));
    let bytes = model(&nodes, &weights.tensors(), &[value("image", FLOAT, &shape)], &[logits()]);
    let [_, last] = weights.libtorch(&normalised(&images, MEAN, DEVIATION));
    close(&embed(&write(folder.path(), &bytes), options(None), &images).unwrap().0, &last);

    nodes.insert(0, node("Cast", &["image"], "numbers", &[integer("to", FLOAT)]));
    nodes[1] = node("Transpose", &["numbers"], "planes", &last_to_second);
    let bytes = model(&nodes, &weights.tensors(), &[value("image", UINT8, &shape)], &[logits()]);
    let [_, last] = weights.libtorch(&normalised(&images, [0.0; 3], [1.0 / 255.0; 3]));
    close(&embed(&write(folder.path(), &bytes), OnnxOptions::default(), &images).unwrap().0, &last);
}

#[test]
fn grey_images_fit_models_of_colours_with_imagenets_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let grey = images(3, SIDE, 1);
    let colours =
        Images { pixels: grey.pixels.iter().flat_map(|&byte| [byte; 3]).collect(), channels: 3, ..grey.clone() };
    let stated = normalised(&colours, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    let [_, last] = Weights::draw().libtorch(&stated);
    close(&embed(&plain(folder.path(), OPEN), OnnxOptions::default(), &grey).unwrap().0, &last);
}

#[test]
fn images_are_scaled_to_the_size_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    // Of one tone each, so that scaling changes nothing but the number of pixels.
    let tones = |side: usize| Images {
        pixels: [10u8, 200].iter().flat_map(|&tone| vec![tone; side * side * 3]).collect(),
        ..images(2, side, 3)
    };
    let mut asked = options(None);
    asked.preparation.size = Some(SIDE);
    let [_, last] = Weights::draw().libtorch(&normalised(&tones(SIDE), MEAN, DEVIATION));
    for side in [SIDE / 2, SIDE, 3 * SIDE] {
        close(&embed(&plain(folder.path(), OPEN), asked.clone(), &tones(side)).unwrap().0, &last);
    }
}
