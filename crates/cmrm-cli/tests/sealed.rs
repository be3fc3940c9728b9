//! A run's folder is sound or refused: altered bytes, lost files, killed writers, moved data.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use cmrm_data::ColumnRef;
use cmrm_data::read::{ReadOptions, read_path};
use cmrm_run::{Model, RunDir, SetOptions};
use common::{cmrm, json, refuse, succeed, unseal, write_table};

/// A vote on a small table, with everything that a run can have: `t.csv` and `run` in the folder.
fn run() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("t.csv"), 300);
    succeed(folder.path(), &["fit", "t.csv", "--label", "churned", "--model", "forest", "--out", "run", "--quiet"]);
    succeed(folder.path(), &["audit", "run", "--self-check", "--quiet"]);
    folder
}

fn files_of(run: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        all.filter(|path| path.is_file() && !path.file_name().unwrap().to_str().unwrap().starts_with('.')).collect();
    files.sort();
    files
}

#[test]
fn one_altered_byte_in_any_file_is_refused_by_its_name() {
    let folder = run();
    let files = files_of(&folder.path().join("run"));
    assert_eq!(files.len(), 14, "{files:?}");
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        // At every place of run.json, which must not be believed anywhere, and at some of the others.
        let places: Vec<usize> = match (name, bytes.len()) {
            ("run.json", length) => (0..length).collect(),
            (_, 0) => vec![],
            (_, length) => vec![0, length / 3, length / 2, length - 1],
        };
        for (place, flip) in places.into_iter().flat_map(|place| [0x01, 0x03, 0x20, 0x80].map(|flip| (place, flip))) {
            let mut altered = bytes.clone();
            altered[place] ^= flip;
            fs::write(&path, &altered).unwrap();
            let refused = RunDir::open(path.parent().unwrap()).map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains(name) && refused.contains("fit again"), "{name}, byte {place}: {refused}");
        }
        // A byte more: figures of epochs, of which a vote has none, leave no other to alter.
        fs::write(&path, [&bytes[..], b" "].concat()).unwrap();
        for verb in [&["report", "run"][..], &["predict", "run", "t.csv"], &["audit", "run"]] {
            assert!(refuse(folder.path(), verb).contains(name), "{name} {verb:?}");
        }
        fs::write(&path, &bytes).unwrap();
    }
    succeed(folder.path(), &["predict", "run", "t.csv"]);
}

#[test]
fn a_lost_file_is_named_when_it_is_needed_and_only_then() {
    let folder = run();
    let at = folder.path();
    for (name, needs, does_not) in [
        ("model.safetensors", "predict run t.csv", "audit run"),
        ("preprocess.json", "predict run t.csv", "report run"),
        ("base.safetensors", "predict run t.csv --arm base", "predict run t.csv"),
        ("calibration.safetensors", "predict run t.csv --coverage 0.9", "predict run t.csv"),
        ("margins.parquet", "audit run", "predict run t.csv"),
        ("summary.json", "report run --json", "predict run t.csv"),
        ("report.md", "report run", "predict run t.csv"),
        ("report.json", "report run --html again.html", "predict run t.csv"),
        ("self-check.json", "report run", "predict run t.csv"),
    ] {
        let (file, aside) = (at.join("run").join(name), at.join("aside"));
        fs::rename(&file, &aside).unwrap();
        let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        let refused = refuse(at, &words(needs));
        assert!(
            refused.contains(&format!("{name}: missing")) && refused.contains("copy the folder again"),
            "{refused}"
        );
        succeed(at, &words(does_not));
        fs::rename(&aside, &file).unwrap();
    }
}

#[test]
fn a_run_of_the_first_format_is_read_and_stays_one() {
    let folder = run();
    let at = folder.path();
    let predicted = succeed(at, &["predict", "run", "t.csv", "--probabilities"]);
    unseal(&at.join("run"));
    assert_eq!(succeed(at, &["predict", "run", "t.csv", "--probabilities"]), predicted);
    succeed(at, &["audit", "run", "--self-check", "--quiet"]);
    let info = fs::read_to_string(at.join("run/run.json")).unwrap();
    assert!(info.contains("\"format\": 1") && !info.contains("checksum"), "{info}");
    // The word of the first format is no way around checksums.
    let halfway = info.replace("\"format\": 1", "\"format\": 1,\n  \"checksum\": \"\"");
    fs::write(at.join("run/run.json"), halfway).unwrap();
    assert!(refuse(at, &["report", "run"]).contains("run.json"));
}

#[test]
fn decisions_locks_and_checkpoints_are_not_sealed() {
    let folder = run();
    let path = folder.path().join("run");
    for name in ["review.sqlite", ".lock", "checkpoints/last.safetensors", "notes.txt"] {
        fs::write(path.join(name), "x").unwrap();
    }
    RunDir::open(&path).unwrap();
}

#[test]
fn data_is_found_from_any_folder_and_where_it_moved_with_the_run() {
    let folder = run();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("elsewhere/deep")).unwrap();
    let elsewhere = at("elsewhere/deep");
    let columns = |from: &Path, run: &str| {
        let _ = fs::remove_file(from.join("x.csv"));
        let output = cmrm(from, &["audit", run, "--columns", "--out", "x.csv", "--quiet"]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(columns(&elsewhere, "../../run").0);
    // Together with the data, whatever is left behind.
    fs::create_dir(at("moved")).unwrap();
    fs::rename(at("run"), at("moved/run")).unwrap();
    // The run alone: the data is where it was.
    assert!(columns(&elsewhere, "../../moved/run").0);
    fs::rename(at("t.csv"), at("moved/t.csv")).unwrap();
    fs::write(at("t.csv"), "another,table\n1,2\n").unwrap();
    assert!(columns(&elsewhere, "../../moved/run").0);
    assert!(columns(&at("moved"), "run").0);
    fs::remove_file(at("t.csv")).unwrap();
    fs::remove_file(at("moved/t.csv")).unwrap();
    let (done, words) = columns(&elsewhere, "../../moved/run");
    let looked = ["t.csv, cannot be found", "looked for ../../moved/t.csv", "then t.csv", "name it with --data"];
    assert!(!done && looked.iter().all(|part| words.contains(part)), "{words}");
    assert!(words.contains(&at("t.csv").canonicalize().unwrap_or(at("t.csv")).display().to_string()), "{words}");
}

#[test]
fn the_command_and_a_program_predict_the_same_bits() {
    let folder = run();
    let at = folder.path();
    let fit = ["fit", "t.csv", "--label", "churned", "--epochs", "3", "--quiet", "--out", "network"];
    succeed(at, &fit);
    for run in ["run", "network"] {
        let said = json(at, &["predict", run, "t.csv", "--coverage", "0.8"]);
        let model = Model::open(at.join(run)).unwrap();
        let options = ReadOptions {
            expected: Some(model.preprocess().expected()),
            label: Some(ColumnRef("churned".into())),
            ..ReadOptions::default()
        };
        let rows = read_path(&at.join("t.csv"), &options).unwrap().features;
        let predicted = model.predict(&rows).unwrap();
        let sets = model.predict_sets(&rows, &SetOptions { coverage: 0.8, ..SetOptions::default() }).unwrap();
        for (row, found) in said["predictions"].as_array().unwrap().iter().enumerate() {
            assert_eq!(found["confidence"].as_f64(), Some(predicted.confidence(row)));
            assert_eq!(found["margin"].as_f64(), Some(predicted.margin(row)));
            assert_eq!(found["predicted_label"].as_str(), predicted.names().nth(row));
            assert_eq!(found["set_size"].as_u64(), Some(sets.row(row).len() as u64));
            let alone = model.predict(&rows.gather(&[row]).unwrap()).unwrap();
            assert_eq!(alone.probabilities(), predicted.matrix().unwrap().row(row), "{run}, row {row} alone");
        }
        // What it says of labels that rows were given agrees with what the run says of its own.
        let judged = model.judge_labels(&rows, &vec![0; predicted.len()]).unwrap();
        assert!(judged.iter().all(|judged| (judged.margin < 0.0) == (judged.suggested != 0)));
        assert_eq!(judged.iter().all(|judged| judged.wrong_probability.is_some()), model.chosen().noise().is_some());
        let listed = json(at, &["audit", run])["issues"].as_u64().unwrap();
        assert_eq!(model.suspects().unwrap().len() as u64, listed);
    }
}

/// A model may serve from many threads.
#[test]
fn a_model_is_shared() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Model>();
}
