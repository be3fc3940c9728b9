//! Whole trainings on the CPU: they learn, they resume to the same bits, they fork, they repeat.

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use cmrm_images::data::{Normalisation, Resident};
use cmrm_images::train::Training;
use common::{plan, set, train};
use tch::Device;

static GO: AtomicBool = AtomicBool::new(false);

const THREE_ARMS: &str = r#"
    epochs = 6
    rates = [[0, 0.05], [4, 0.005]]
    warmup_epochs = 2
    noise = "symmetric:0.25"
    [[arm]]
    name = "base"
    [[arm]]
    name = "robust"
    envelope = { preset = "robust", start = { epoch = 3 } }
    fork = { from = "base", epoch = 3 }
    [[arm]]
    name = "filtered"
    envelope = { preset = "robust", filter-base = true, running = 0.8, limit = 1.0, fade = { margin = 0.0, share = 0.9 }, start = { epoch = 3 } }
    fork = { from = "base", epoch = 3 }
"#;

const RUNS: [&str; 3] = ["base-seed0", "robust-seed0", "filtered-seed0"];

fn model(root: &Path, run: &str) -> Vec<u8> {
    // Seconds differ between runs; the tensors after the header do not.
    let bytes = std::fs::read(root.join("test").join(run).join("model.safetensors")).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

#[test]
fn a_tiny_set_is_learned() {
    let plan = plan(
        "epochs = 12\nrates = [[0, 0.05]]\n[[arm]]\nname = 'ce'\n[[arm]]\nname = 'ldam'\nloss = { name = 'ldam' }",
    );
    let folder = tempfile::tempdir().unwrap();
    let ended = train(&plan, &set(64), folder.path(), &GO);
    assert_eq!(ended.finished.len(), 2);
    for result in &ended.finished {
        assert!(result.judgement.accuracy > 0.95, "{result:?}");
        assert!((0.5..1.6).contains(&result.judgement.mean_set_size), "{result:?}");
        assert!(result.judgement.coverage > 0.8, "{result:?}");
    }
    let lines = std::fs::read_to_string(folder.path().join("results.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2);
    // A finished plan is not trained again.
    assert!(train(&plan, &set(64), folder.path(), &GO).finished.is_empty());
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_does_not() {
    let folders: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    for folder in &folders {
        let ended = train(&plan(THREE_ARMS), &set(64), folder.path(), &GO);
        assert!(ended.failed.is_empty(), "{ended:?}");
        assert_eq!(ended.finished.len(), RUNS.len());
    }
    for run in RUNS {
        assert_eq!(model(folders[0].path(), run), model(folders[1].path(), run));
    }
    assert_ne!(model(folders[0].path(), "base-seed0"), model(folders[0].path(), "robust-seed0"));
    assert_ne!(model(folders[0].path(), "robust-seed0"), model(folders[0].path(), "filtered-seed0"));
    let other = tempfile::tempdir().unwrap();
    let mut seeds = plan(THREE_ARMS);
    seeds.seeds = vec![1];
    train(&seeds, &set(64), other.path(), &GO);
    assert_ne!(model(folders[0].path(), "base-seed0"), model(other.path(), "base-seed1"));
}

#[test]
fn a_stopped_training_goes_on_to_the_same_bits() {
    let whole = tempfile::tempdir().unwrap();
    train(&plan(THREE_ARMS), &set(64), whole.path(), &GO);
    let pieces = tempfile::tempdir().unwrap();
    // Epoch by epoch: each call finds the checkpoint of the last.
    let (set, plan) = (set(64), plan(THREE_ARMS));
    let runs = plan.runs().unwrap();
    let base = runs.iter().find(|run| run.arm == "base").unwrap();
    let folder = pieces.path().join(base.folder());
    std::fs::create_dir_all(&folder).unwrap();
    let checkpoint = folder.join("checkpoint.safetensors");
    for epoch in 0..2 {
        let scaling = Normalisation::Data.scaling(&set.train).unwrap();
        let images = Resident::new(&set.train, &scaling, 1, Device::Cpu).unwrap();
        let mut training = Training::new(base, &set, images).unwrap();
        if epoch > 0 {
            training.restore(&checkpoint).unwrap();
        }
        training.epoch().unwrap();
        training.save(&checkpoint).unwrap();
    }
    let stopped = train(&plan, &set, pieces.path(), &AtomicBool::new(true));
    assert_eq!((stopped.finished.len(), stopped.stopped, stopped.waiting), (0, 1, 2));
    let ended = train(&plan, &set, pieces.path(), &GO);
    assert_eq!(ended.finished.len(), RUNS.len(), "{ended:?}");
    for run in RUNS {
        assert_eq!(model(whole.path(), run), model(pieces.path(), run), "{run}");
    }
    assert!(!checkpoint.exists());
}

#[test]
fn a_fork_is_the_same_as_the_whole_way() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        THREE_ARMS.to_string() + "[[arm]]\nname = 'whole'\nenvelope = { preset = 'robust', start = { epoch = 3 } }\n";
    train(&plan(&text), &set(64), folder.path(), &GO);
    assert_eq!(model(folder.path(), "robust-seed0"), model(folder.path(), "whole-seed0"));
    let result = std::fs::read_to_string(folder.path().join("test/robust-seed0/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["forked_at"], 3);
    assert!(result["filtered"].as_u64().unwrap() > 0);
    assert!(result["filtered_wrong_share"].as_f64().unwrap() > 0.25, "no better than chance: {result}");
    assert!(folder.path().join("test/robust-seed0/margins.parquet").is_file());
}

#[test]
fn a_fork_takes_the_running_margins_of_its_trunk_along() {
    let envelope = |running: &str| {
        format!(
            "{{ preset = 'paper', lambda = 0.0, alpha = 0.5, temperature = 0.2, filter-base = true, {running} start = {{ epoch = 3 }} }}"
        )
    };
    let arm = |name: &str, running: &str, fork: bool| {
        let fork = if fork { "fork = { from = 'base', epoch = 3 }" } else { "" };
        format!("[[arm]]\nname = '{name}'\nenvelope = {}\n{fork}\n", envelope(running))
    };
    let text = THREE_ARMS.to_string()
        + &arm("fork-9", "running = 0.9,", true)
        + &arm("whole-9", "running = 0.9,", false)
        + &arm("fork-5", "running = 0.5,", true)
        + &arm("whole-5", "running = 0.5,", false)
        + &arm("batch", "", true);
    let plan = plan(&text);
    let kept = |arm: &str| plan.runs().unwrap().into_iter().find(|run| run.arm == arm).unwrap().running;
    assert!([0.5, 0.8, 0.9].iter().all(|beta| kept("base").contains(beta)), "{:?}", kept("base"));
    assert_eq!(kept("whole-9"), [0.9]);
    assert!(kept("batch").is_empty());
    let folder = tempfile::tempdir().unwrap();
    let ended = train(&plan, &set(64), folder.path(), &GO);
    assert!(ended.failed.is_empty(), "{ended:?}");
    let model = |arm: &str| model(folder.path(), &format!("{arm}-seed0"));
    assert_eq!(model("fork-9"), model("whole-9"));
    assert_eq!(model("fork-5"), model("whole-5"));
    // Each filter read margins of its own.
    assert_ne!(model("fork-9"), model("fork-5"));
    assert_ne!(model("fork-5"), model("batch"));
    assert_ne!(model("batch"), model("base"));
}

#[test]
fn a_trunk_that_kept_no_running_margins_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let (before, asked) = THREE_ARMS.split_once("[[arm]]\n    name = \"filtered\"").unwrap();
    assert!(asked.contains("running"));
    train(&plan(before), &set(64), folder.path(), &GO);
    let ended = train(&plan(THREE_ARMS), &set(64), folder.path(), &GO);
    let (_, error) = &ended.failed[0];
    let words = error.to_string();
    assert!(words.contains("holds no running_margin:0.8"), "{words}");
    assert!(words.contains("delete the run's folder to train it again"), "{words}");
}

#[test]
fn a_filtered_base_in_the_metrics_and_records() {
    let folder = tempfile::tempdir().unwrap();
    train(&plan(THREE_ARMS), &set(64), folder.path(), &GO);
    let metrics = std::fs::read_to_string(folder.path().join("test/filtered-seed0/metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let number = |line: usize, name: &str| lines[line][name].as_f64().unwrap();
    assert_eq!(number(0, "total"), number(0, "base"));
    assert_eq!(number(0, "risk"), 0.0);
    // λ is 10, and what the limit leaves of it lies far below.
    let lambda = (number(5, "total") - number(5, "base")) / number(5, "risk");
    assert!(number(5, "risk") != 0.0 && lambda < 9.0, "{metrics}");
    assert!(number(5, "filtered") > 0.0, "{metrics}");
}

#[test]
fn plans_that_cannot_be_are_refused() {
    for (text, words) in [
        ("epochs = 2\nrates = [[1, 0.1]]\n[[arm]]\nname = 'a'", "ascending epochs from 0"),
        ("epochs = 2\nrates = [[0, 0.1]]\n[[arm]]\nname = 'a'\n[[arm]]\nname = 'a'", "two arms"),
        ("epochs = 2\nrates = [[0, 0.1]]\n[[arm]]\nname = 'a/b'", "letters, digits"),
        ("epochs = 2\nrates = [[0, 0.1]]\nnoise = 'odd'\n[[arm]]\nname = 'a'", "unknown kind 'odd'"),
        ("epochs = 2\nrates = [[0, 0.1]]\n[[arm]]\nname = 'a'\nfork = { from = 'b', epoch = 1 }", "no such arm"),
        (
            "epochs = 2\nrates = [[0, 0.1]]\n[[arm]]\nname = 'a'\n[[arm]]\nname = 'b'\nfork = { from = 'a', epoch = 2 }",
            "within the parent",
        ),
    ] {
        let error = plan(text).runs().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
