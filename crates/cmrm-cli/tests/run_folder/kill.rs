//! A fit that is killed after its training need not train again, and ends in the same bytes.

use std::fs;

use crate::common::{cmrm, succeed};
use crate::{assert_same, bytes_of, kill, start, wait_for};

const FIT: [&str; 11] =
    ["fit", "digits", "--noise", "symmetric:0.2", "--epochs", "30", "--hidden", "32", "--seed", "3", "--out"];

/// In the order in which they are written. With `--sensitivity` there is a training of twelve arms between the last of
/// these and the end, so that a kill comes in time.
const BEFORE_THE_END: [&str; 9] = [
    "metrics.jsonl",
    "base.safetensors",
    "model.safetensors",
    "preprocess.json",
    "margins.parquet",
    "base-calibration.safetensors",
    "calibration.safetensors",
    "summary.json",
    "report.md",
];

#[test]
fn killed_between_training_and_the_last_file_it_ends_in_the_same_bytes_without_training_again() {
    let whole = tempfile::tempdir().unwrap();
    succeed(whole.path(), &[&FIT[..], &["run", "--quiet"]].concat());
    let whole = bytes_of(&whole.path().join("run"));
    assert!(!whole.contains_key(std::path::Path::new("checkpoints/last.safetensors")));
    for file in BEFORE_THE_END.iter().chain(&["report.json", "report.html", "run.json"]) {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let child = start(folder.path(), &[&FIT[..], &["run", "--sensitivity"]].concat());
        wait_for(&run.join(file));
        kill(child);
        let finished = run.join("run.json").exists();
        if BEFORE_THE_END.contains(file) {
            assert!(!finished, "the kill at {file} came too late");
        }
        if finished {
            // With --sensitivity the report is another one; what counts here is that nothing is left over.
            succeed(folder.path(), &["fit", "--resume", "--out", "run"]);
            assert_eq!(bytes_of(&run).keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "{file}");
            continue;
        }
        // What a kill in the middle of a write leaves.
        for name in [".model.safetensors.4711-0.part", "checkpoints/.last.safetensors.4711-1.part"] {
            fs::write(run.join(name), "half").unwrap();
        }
        let output = cmrm(folder.path(), &["fit", "--resume", "--out", "run"]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{file}: {words}");
        assert!(words.contains("resumed after epoch 30 (the last)"), "{file}: {words}");
        assert!(!words.lines().any(|line| line.starts_with("epoch ")), "{file}: trained again: {words}");
        assert_same(&bytes_of(&run), &whole, file);
    }
}

/// L-BFGS ends by itself, before the last epoch.
#[test]
fn a_converged_training_is_not_taken_up_again() {
    let fit = ["fit", "breast-cancer", "--noise", "binary-flip:0.2", "--model", "linear", "--optimiser", "lbfgs"];
    let fit = [&fit[..], &["--l2", "0.1", "--epochs", "500", "--out", "run"]].concat();
    let whole = tempfile::tempdir().unwrap();
    succeed(whole.path(), &fit);
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let child = start(folder.path(), &[&fit[..], &["--sensitivity"]].concat());
    wait_for(&run.join("metrics.jsonl"));
    kill(child);
    assert!(!run.join("run.json").exists());
    let output = cmrm(folder.path(), &["fit", "--resume", "--out", "run"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains(" (the last)") && !words.contains("after epoch 500"), "{words}");
    assert_same(&bytes_of(&run), &bytes_of(&whole.path().join("run")), "lbfgs");
}

#[test]
fn killed_at_any_moment_it_ends_in_the_same_bytes() {
    let fit = [&FIT[..], &["run", "--quiet"]].concat();
    let whole = tempfile::tempdir().unwrap();
    let started = std::time::Instant::now();
    succeed(whole.path(), &fit);
    let takes = started.elapsed();
    for twelfth in 1..12 {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let child = start(folder.path(), &fit);
        std::thread::sleep(takes * twelfth / 12);
        kill(child);
        // Before there are settings there is nothing to go on with, and the folder counts as empty.
        let begun = run.join("config.toml").exists();
        succeed(folder.path(), if begun { &["fit", "--resume", "--out", "run"] } else { &fit });
        assert_same(&bytes_of(&run), &bytes_of(&whole.path().join("run")), &format!("killed after {twelfth}/12"));
    }
}
