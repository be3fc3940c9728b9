//! No command writes over anything that it reads, or over a file that makes up a run, however the file is named.

#![cfg(unix)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use common::{cmrm, refuse, succeed, write_table};

/// Commands that read a file, and the file; `OUT` is where they are told to write. Files of the run that `run` holds and
/// of a run that the command does not read are among them.
const CASES: &[(&str, &str)] = &[
    ("audit good.csv --label churned --folds 2 --out OUT", "good.csv"),
    ("audit good.csv --label churned --folds 2 --probabilities-out OUT", "good.csv"),
    ("audit good.csv --label churned --folds 2 --config fit.toml --out OUT", "fit.toml"),
    ("audit good.csv --label churned --folds 2 --config test.toml --out OUT", "test.csv"),
    ("audit x.csv --labels y.csv --folds 2 --out OUT", "y.csv"),
    ("audit --pred-probs P.csv --labels Y.csv --out OUT", "P.csv"),
    ("audit --pred-probs P.csv --labels Y.csv --out OUT", "Y.csv"),
    ("audit run --out OUT", "run/margins.parquet"),
    ("audit run --out OUT", "run/run.json"),
    ("predict run good.csv --out OUT", "good.csv"),
    ("predict run x.csv --labels y.csv --out OUT", "y.csv"),
    ("predict run arrays --out OUT", "arrays/X.npy"),
    ("predict run adult --cache cache --out OUT", "cache/adult/adult.data"),
    ("predict run good.csv --out OUT", "run/margins.parquet"),
    ("predict run good.csv --out OUT", "run/model.safetensors"),
    ("predict run good.csv --out OUT", "run/preprocess.json"),
    ("clean good.csv d.csv --label churned --out OUT", "good.csv"),
    ("clean good.csv d.csv --label churned --out OUT", "d.csv"),
    ("clean x.csv d.csv --labels y.csv --out OUT", "y.csv"),
    ("noise good.csv --label churned --kind binary-flip:0.2 --out OUT", "good.csv"),
    ("noise x.csv --labels y.csv --kind binary-flip:0.2 --out OUT", "y.csv"),
    ("export run --onnx OUT", "run/model.safetensors"),
    ("export run --onnx OUT", "good.csv"),
    ("report run --html OUT", "run/report.json"),
    ("report run --html OUT", "run/report.html"),
    ("review run --export OUT", "run/run.json"),
    ("review run --export OUT", "run/review.sqlite"),
    ("review run --export OUT", "good.csv"),
    ("fit good.csv --label churned --out OUT", "good.csv"),
    ("fit x.csv --labels y.csv --out OUT", "y.csv"),
    ("fit good.csv --label churned --test test.csv --out OUT", "test.csv"),
    ("fit good.csv --label churned --config fit.toml --out OUT", "fit.toml"),
    ("tune good.csv --label churned --out OUT", "good.csv"),
    ("tune good.csv --label churned --config fit.toml --out OUT", "fit.toml"),
];

/// Everything that the commands read, in one folder.
fn stage(folder: &Path) {
    let at = |name: &str| folder.join(name);
    write_table(&at("good.csv"), 60);
    write_table(&at("test.csv"), 60);
    let text = fs::read_to_string(at("good.csv")).unwrap();
    let (cells, labels): (String, String) = text
        .lines()
        .map(|line| line.rsplit_once(',').unwrap())
        .map(|(cells, label)| (format!("{cells}\n"), format!("{label}\n")))
        .unzip();
    fs::write(at("x.csv"), cells).unwrap();
    fs::write(at("y.csv"), labels).unwrap();
    fs::write(at("P.csv"), "0.9,0.1\n0.2,0.8\n0.7,0.3\n").unwrap();
    fs::write(at("Y.csv"), "0\n1\n1\n").unwrap();
    fs::write(at("d.csv"), "row,action,label\n3,drop,\n").unwrap();
    fs::write(at("fit.toml"), "epochs = 1\n").unwrap();
    fs::write(at("test.toml"), "epochs = 1\ntest = \"test.csv\"\n").unwrap();
    for folder in ["arrays", "cache/adult", "sub"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at("arrays/X.npy"), "numbers").unwrap();
    fs::write(at("cache/adult/adult.data"), "rows").unwrap();
    let fit = ["fit", "good.csv", "--label", "churned", "--epochs", "1", "--hidden", "4", "--quiet", "--out"];
    succeed(folder, &[&fit[..], &["run"]].concat());
    succeed(folder, &[&fit[..], &["other"]].concat());
    fs::write(at("run/review.sqlite"), "decisions").unwrap();
    symlink(folder, at("here")).unwrap();
}

/// Every file, with what it holds.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// Names of a file that is there: as it is, with detours, in full, through links to it and to its folder.
fn spellings(folder: &Path, file: &str) -> Vec<String> {
    let extension = Path::new(file).extension().unwrap().to_str().unwrap();
    let (soft, hard) = (format!("sub/soft.{extension}"), format!("sub/hard.{extension}"));
    symlink(folder.join(file), folder.join(&soft)).unwrap();
    fs::hard_link(folder.join(file), folder.join(&hard)).unwrap();
    let full = folder.join(file).display().to_string();
    vec![file.into(), format!("./{file}"), format!("sub/../{file}"), full, format!("here/{file}"), soft, hard]
}

#[test]
fn what_a_command_reads_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    stage(folder.path());
    let before = contents(folder.path());
    for (command, file) in CASES {
        for out in spellings(folder.path(), file) {
            let arguments: Vec<&str> = command.split(' ').map(|word| if word == "OUT" { &out } else { word }).collect();
            let words = refuse(folder.path(), &arguments);
            assert!(words.contains(&format!(" {out}: this is ")), "{arguments:?}: {words}");
            assert!(words.contains(&format!("({file}), which the command reads")), "{arguments:?}: {words}");
        }
        fs::remove_dir_all(folder.path().join("sub")).unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        assert!(contents(folder.path()) == before, "{command}: {file} or another file is not what it was");
    }
}

#[test]
fn a_run_that_the_command_does_not_read_keeps_its_files() {
    let folder = tempfile::tempdir().unwrap();
    stage(folder.path());
    symlink(folder.path().join("other"), folder.path().join("sub/run")).unwrap();
    fs::create_dir_all(folder.path().join("begun/checkpoints")).unwrap();
    fs::write(folder.path().join("begun/config.toml"), "epochs = 1\n").unwrap();
    let before = contents(folder.path());
    for (out, name) in [
        ("other/margins.parquet", "margins.parquet"),
        ("sub/../other/margins.parquet", "margins.parquet"),
        ("sub/run/margins.parquet", "margins.parquet"),
        // Not there yet, and still the run's.
        ("other/test-probabilities.npy", "test-probabilities.npy"),
        ("begun/margins.parquet", "margins.parquet"),
        ("begun/checkpoints/rows.csv", "checkpoints/rows.csv"),
    ] {
        let words = refuse(folder.path(), &["predict", "run", "good.csv", "--out", out]);
        let expected = format!("--out {out}: {name} belongs to the run ");
        assert!(words.contains(&expected), "{words}");
    }
    assert!(contents(folder.path()) == before);
}

#[test]
fn files_that_a_command_names_itself_are_looked_at_too() {
    let folder = tempfile::tempdir().unwrap();
    stage(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::copy(at("d.csv"), at("z.csv.changes.csv")).unwrap();
    fs::copy(at("good.csv"), at("z.csv.flipped.csv")).unwrap();
    fs::create_dir(at("figures")).unwrap();
    symlink(at("run/report.json"), at("figures/margins.svg")).unwrap();
    fs::write(at("linked.csv"), fs::read(at("good.csv")).unwrap()).unwrap();
    fs::hard_link(at("linked.csv"), at("other/review.sqlite")).unwrap();
    fs::create_dir(at("search")).unwrap();
    fs::write(at("search/config.toml"), "epochs = 1\n").unwrap();
    fs::write(at("search/search.json"), "{}").unwrap();
    fs::copy(at("good.csv"), at("search/trials.jsonl")).unwrap();
    let before = contents(folder.path());
    for (command, parts) in [
        (
            "clean good.csv z.csv.changes.csv --label churned --out z.csv",
            ["--out z.csv.changes.csv: this is the decision file itself", "(z.csv.changes.csv)"],
        ),
        (
            "noise z.csv.flipped.csv --label churned --kind binary-flip:0.2 --out z.csv",
            ["--out z.csv.flipped.csv: this is the data file itself", "(z.csv.flipped.csv)"],
        ),
        (
            "report run --figures figures",
            ["--figures figures/margins.svg: this is a file of the run", "(run/report.json)"],
        ),
        ("review other --data linked.csv", ["other/review.sqlite: this is the data file itself", "(linked.csv)"]),
        (
            "tune search/trials.jsonl --label churned --resume --out search",
            ["--out search/trials.jsonl: this is the data file itself", "(search/trials.jsonl)"],
        ),
        (
            "data fetch adult --from cache --cache here/cache",
            ["--from cache: this is the cache itself", "(here/cache)"],
        ),
        // What a run was trained on, though the command does not read it.
        ("audit run --out good.csv", ["--out good.csv: this is the data file itself", "(good.csv)"]),
        ("report run --html good.csv", ["--html good.csv: this is the data file itself", "(good.csv)"]),
        // Two results of one command.
        (
            "audit good.csv --label churned --folds 2 --out new.npy --probabilities-out sub/../new.npy",
            ["--probabilities-out sub/../new.npy: --out new.npy writes to the same file", "its own"],
        ),
        (
            "report run --html new/margins.svg --figures new",
            ["--figures new/margins.svg: --html", "writes to the same file"],
        ),
    ] {
        let words = refuse(folder.path(), &command.split(' ').collect::<Vec<_>>());
        assert!(parts.iter().all(|part| words.contains(part)), "{command}: {words}");
        assert!(contents(folder.path()) == before, "{command}");
    }
}

#[test]
fn any_other_file_is_replaced_as_before() {
    let folder = tempfile::tempdir().unwrap();
    stage(folder.path());
    fs::write(folder.path().join("old.csv"), "old").unwrap();
    for command in [
        "predict run good.csv --out old.csv",
        "audit run --out old.csv",
        "clean good.csv d.csv --label churned --out old.csv",
        // Beside the files of a run and again over the result of the last time.
        "audit run --out run/suspects.csv",
        "audit run --out run/suspects.csv",
        "predict run good.csv --out arrays/new.csv",
        "report run --html run.html --figures figures",
        "report run --html run.html --figures figures",
    ] {
        let output = cmrm(folder.path(), &command.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_ne!(fs::read_to_string(folder.path().join("old.csv")).unwrap(), "old");
}
