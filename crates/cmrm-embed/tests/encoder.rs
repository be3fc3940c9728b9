//! A tiny encoder that the tests write themselves: its numbers can be worked out by hand.

#[path = "../../cmrm-images/tests/onnx/protobuf.rs"]
#[allow(dead_code)]
mod protobuf;

use std::fs;
use std::path::{Path, PathBuf};

use cmrm_data::ColumnRef;
use cmrm_data::read::ReadOptions;
use cmrm_embed::{Encoder, EncoderOptions, Pooling, TextTable};
use protobuf::{FLOAT, model, node, tensor, value};

const INT64: u64 = 7;
const OPEN: Option<u64> = None;
/// What a token stands for: padding, unknown, start, red, green.
const VECTORS: [f32; 10] = [9.0, 9.0, 0.0, 0.0, 1.0, 1.0, 3.0, 0.0, 0.0, 4.0];

/// Words of a vocabulary behind a token that starts every text.
fn tokenizer(folder: &Path) -> PathBuf {
    let path = folder.join("tokenizer.json");
    let json = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "decoder": null,
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}},
        "model": {"type": "WordLevel", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "red": 3, "green": 4}, "unk_token": "[UNK]"}}"#;
    fs::write(&path, json).unwrap();
    path
}

/// A model that looks up its tokens, and nothing more.
fn lookup(folder: &Path, input: &str, shape: [Option<u64>; 2]) -> PathBuf {
    let path = folder.join("model.onnx");
    let nodes = [node("Gather", &["vectors", input], "hidden", &[])];
    let tensors = [tensor("vectors", &[5, 2], &VECTORS)];
    let output = value("hidden", FLOAT, &[shape[0], shape[1], Some(2)]);
    fs::write(&path, model(&nodes, &tensors, &[value(input, INT64, &shape)], &[output])).unwrap();
    path
}

fn plain() -> EncoderOptions {
    EncoderOptions { normalise: Some(false), ..EncoderOptions::default() }
}

fn encode(encoder: &Encoder, texts: &[&str]) -> (Vec<f32>, usize) {
    let encoded = encoder.encode(0, texts, &|| true).unwrap().unwrap();
    (encoded.features, encoded.cut)
}

#[test]
fn tokens_are_pooled_in_the_order_of_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = tokenizer(folder.path());
    // Of any length, and padded to one that the model fixes: padding is no part of the mean.
    for shape in [[OPEN, OPEN], [Some(1), Some(6)], [Some(3), OPEN]] {
        let model = lookup(folder.path(), "input_ids", shape);
        let encoder = Encoder::open(&model, &tokenizer, &plain()).unwrap();
        assert_eq!(encoder.width(), 2);
        let (features, cut) = encode(&encoder, &["red", "", "red green green", "green blue"]);
        assert_eq!((features, cut), (vec![2.0, 0.5, 1.0, 1.0, 1.0, 2.25, 1.0 / 3.0, 5.0 / 3.0], 0), "{shape:?}");
        let first =
            Encoder::open(&model, &tokenizer, &EncoderOptions { pooling: Some(Pooling::Cls), ..plain() }).unwrap();
        assert_eq!(encode(&first, &["red green"]).0, [1.0, 1.0]);
    }
}

#[test]
fn long_texts_are_cut_and_vectors_have_length_one() {
    let folder = tempfile::tempdir().unwrap();
    let (model, tokenizer) = (lookup(folder.path(), "input_ids", [OPEN, OPEN]), tokenizer(folder.path()));
    let options = EncoderOptions { max_length: Some(2), ..EncoderOptions::default() };
    let (features, cut) = encode(&Encoder::open(&model, &tokenizer, &options).unwrap(), &["red green", "red"]);
    assert_eq!((features[..2].to_vec(), cut), (features[2..].to_vec(), 1));
    assert!((features[0].hypot(features[1]) - 1.0).abs() < 1e-6);
}

#[test]
fn the_files_of_the_encoders_own_library_count() {
    let folder = tempfile::tempdir().unwrap();
    let (model, tokenizer) = (lookup(folder.path(), "input_ids", [OPEN, OPEN]), tokenizer(folder.path()));
    fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("sentence_bert_config.json", r#"{"max_seq_length": 3}"#);
    write("modules.json", r#"[{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]"#);
    write("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#);
    let encoder = Encoder::open(&model, &tokenizer, &EncoderOptions::default()).unwrap();
    assert_eq!((encoder.max_length(), encode(&encoder, &["red green green"])), (3, (vec![1.0, 1.0], 1)));
    write("1_Pooling/config.json", r#"{"pooling_mode": "max"}"#);
    let refused = Encoder::open(&model, &tokenizer, &EncoderOptions::default()).err().unwrap().to_string();
    assert!(refused.contains("max pooling") && refused.contains("--pooling"), "{refused}");
}

#[test]
fn what_cannot_be_used_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = tokenizer(folder.path());
    let refused = |model: &Path, tokenizer: &Path, options: &EncoderOptions| {
        Encoder::open(model, tokenizer, options).err().expect("refused").to_string()
    };
    let pixels = lookup(folder.path(), "pixels", [OPEN, OPEN]);
    let message = refused(&pixels, &tokenizer, &plain());
    assert!(message.contains("model.onnx: the input 'pixels'") && message.contains("input_ids"), "{message}");
    let model = lookup(folder.path(), "input_ids", [OPEN, Some(4)]);
    let message = refused(&model, &tokenizer, &EncoderOptions { max_length: Some(9), ..plain() });
    assert!(message.contains("4 tokens, fewer than --max-length 9"), "{message}");
    let message = refused(&model, &tokenizer, &EncoderOptions { max_length: Some(1), ..plain() });
    assert!(message.contains("leaves no room"), "{message}");
    let message = refused(&model, &model, &plain());
    assert!(message.contains("not a tokenizer") && message.contains("tokenizer.json"), "{message}");
}

#[test]
fn texts_of_a_table_are_joined_and_cells_are_text_whatever_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("texts.csv");
    fs::write(&path, "id,title,body,class\n0,NA,007,a\n1,,,NA\n2,,one,b\n").unwrap();
    let columns = ["title", "body"].map(ColumnRef::from);
    let table = TextTable::open(&path, &columns, Some(&"class".into()), ReadOptions::default()).unwrap();
    let survey = table.survey().unwrap();
    assert_eq!((survey.rows, survey.empty, survey.first_empty), (3, 1, Some(1)));
    assert_eq!(survey.labels.unwrap(), ["a", "", "b"]);
    let mut all = Vec::new();
    let window = |first, texts: &[String]| {
        all.push((first, texts.to_vec()));
        Ok::<(), cmrm_data::Error>(())
    };
    table.each_window(window).unwrap();
    assert_eq!(all, [(0, vec!["NA 007".to_owned(), String::new(), "one".to_owned()])]);
    let missing = TextTable::open(&path, &["titel".into()], None, ReadOptions::default()).err().unwrap().to_string();
    assert!(missing.contains("texts.csv") && missing.contains("did you mean 'title'?"), "{missing}");
}
