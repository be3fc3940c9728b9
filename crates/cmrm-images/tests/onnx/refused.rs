//! What cannot be run is refused in words that name it.

use cmrm_images::onnx::{OnnxModel, OnnxOptions};

use super::protobuf::{FLOAT, Message, model, node, value};
use super::{OPEN, SIDE, Weights, embed, images, logits, network, plain, planes, write};

fn wanting(output: &str) -> OnnxOptions {
    OnnxOptions { output: Some(output.into()), ..OnnxOptions::default() }
}

/// Why a file is refused before any image is seen.
fn refused(bytes: &[u8], options: OnnxOptions) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), bytes);
    let message = OnnxModel::open(&path, options).err().expect("refused").to_string();
    assert!(message.contains("model.onnx"), "{message}");
    message
}

fn small(nodes: &[Message], inputs: &[Message], outputs: &[Message]) -> Vec<u8> {
    model(nodes, &Weights::draw().tensors(), inputs, outputs)
}

#[test]
fn files_that_are_no_models() {
    for (bytes, why) in [
        (&b""[..], "an empty file"),
        (b"hello, this is a text", "not an ONNX model"),
        (b"PK\x03\x04 and so on", "torch.onnx.export"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        // A version and nothing more.
        (b"\x08\x08", "it has no operators"),
    ] {
        let message = refused(bytes, OnnxOptions::default());
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn a_model_that_is_cut_short() {
    let whole = small(&network("image"), &[planes(OPEN)], &[logits()]);
    for kept in [whole.len() / 10, whole.len() / 2, whole.len() - 1, whole.len() - 3] {
        let message = refused(&whole[..kept], OnnxOptions::default());
        assert!(message.contains("truncated"), "{kept} of {} bytes: {message}", whole.len());
    }
}

#[test]
fn a_tensor_that_is_not_there() {
    let whole = small(&network("image"), &[planes(OPEN)], &[logits()]);
    let message = refused(&whole, wanting("flta"));
    assert!(message.contains("no tensor 'flta', did you mean 'flat'?"), "{message}");
    assert!(message.contains("'seen', 'normal', 'active', 'flat', 'logits'"), "{message}");
}

#[test]
fn an_operator_that_is_not_known_matters_only_where_it_is_needed() {
    let mut nodes = network("image");
    nodes.push(node("Clairvoyance", &["logits"], "future", &[]));
    let whole = small(&nodes, &[planes(OPEN)], &[value("future", FLOAT, &[OPEN, OPEN])]);
    let message = refused(&whole, OnnxOptions::default());
    assert!(message.contains("not supported: 'Clairvoyance'") && message.contains("--output"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let before = embed(&write(folder.path(), &whole), wanting("logits"), &images(2, SIDE, 3)).unwrap();
    assert_eq!(before, embed(&plain(folder.path(), OPEN), OnnxOptions::default(), &images(2, SIDE, 3)).unwrap());
}

#[test]
fn inputs_that_are_no_images() {
    let relu = |input: &str| node("Relu", &[input], "logits", &[]);
    let one = |input: Message| refused(&small(&[relu("image")], &[input], &[logits()]), OnnxOptions::default());
    let message = one(value("image", FLOAT, &[OPEN, Some(784)]));
    assert!(message.contains("'image' has 2 dimensions (?×784); a batch of images has 4"), "{message}");
    let message = one(value("image", FLOAT, &[OPEN, Some(7), Some(8), Some(8)]));
    assert!(message.contains("?×7×8×8"), "{message}");
    let int64 = 7;
    let message = one(value("image", int64, &[OPEN, Some(3), Some(8), Some(8)]));
    assert!(message.contains("has type INT64"), "{message}");
    let both = [planes(OPEN), value("mask", FLOAT, &[OPEN, Some(1)])];
    let message =
        refused(&small(&[node("Add", &["image", "mask"], "logits", &[])], &both, &[logits()]), OnnxOptions::default());
    assert!(message.contains("2 inputs ('image', 'mask')"), "{message}");
}

#[test]
fn images_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = plain(folder.path(), OPEN);
    let message = |options, side, channels| embed(&path, options, &images(2, side, channels)).unwrap_err().to_string();
    let size = message(OnnxOptions::default(), 28, 3);
    assert!(size.contains("'image' is 8×8 pixels, but the images are 28×28; --size 8 scales them"), "{size}");
    let mut options = OnnxOptions::default();
    options.preparation.mean = vec![0.5, 0.5];
    assert!(message(options.clone(), SIDE, 3).contains("--mean has 2 numbers, but the model has 3 channels"));
    options.preparation.mean.clear();
    options.preparation.deviation = vec![0.0];
    assert!(message(options, SIDE, 3).contains("--std must not be 0"));
}

#[test]
fn a_tensor_without_a_row_for_each_image() {
    // The mean over the batch: one row for all.
    let mut nodes = network("image");
    nodes.push(node("ReduceMean", &["logits"], "mean_of_all", &[super::protobuf::integers("axes", &[0])]));
    let whole = small(&nodes, &[planes(OPEN)], &[value("mean_of_all", FLOAT, &[OPEN, OPEN])]);
    let folder = tempfile::tempdir().unwrap();
    let options = OnnxOptions { batch: Some(2), ..OnnxOptions::default() };
    let refused = embed(&write(folder.path(), &whole), options, &images(2, SIDE, 3)).unwrap_err();
    assert!(refused.to_string().contains("expected one row for each of 2 images"), "{refused}");
}
