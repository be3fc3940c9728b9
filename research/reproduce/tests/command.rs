//! The command: killed at any moment it goes on where it was, to the same report.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const MINI: &str = include_str!("mini/binary.toml");

fn command(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cmrm-reproduce")).args(arguments).current_dir(folder).output().unwrap()
}

/// What a command that must succeed prints.
fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a command that must fail with bad input says.
fn refuse(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The miniature, long enough to be killed in the middle of it.
fn write_experiment(folder: &Path) {
    let longer = MINI.replace("seeds = 3", "seeds = 6").replace("hidden = [8, 8]", "hidden = [64, 64]");
    fs::write(folder.join("mini.toml"), longer).unwrap();
}

fn cells(folder: &Path) -> usize {
    let is_cell = |name: String| name.ends_with(".json") && !name.starts_with('.');
    let Ok(entries) = fs::read_dir(folder.join("cells")) else { return 0 };
    entries.filter(|entry| is_cell(entry.as_ref().unwrap().file_name().into_string().unwrap())).count()
}

#[test]
fn killed_again_and_again_it_ends_in_the_same_report() {
    let [killed, whole] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let run = ["run", "mini.toml", "--out", "cells", "--threads", "2"];
    for folder in [&killed, &whole] {
        write_experiment(folder.path());
    }
    let mut reached = Vec::new();
    for kill in 0..3 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cmrm-reproduce"))
            .args(run)
            .current_dir(killed.path())
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // As soon as it has got further than the last one.
        let wanted = reached.last().copied().unwrap_or(0) + 5 + kill;
        while cells(killed.path()) < wanted && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        // SIGKILL on Unix: no destructor runs.
        let _ = child.kill();
        child.wait().unwrap();
        reached.push(cells(killed.path()));
    }
    let all = 2 * (7 + 8) + 4 * (4 + 4);
    assert!(reached.is_sorted() && reached[0] > 0 && reached[0] < all, "{reached:?} of {all}");
    succeed(killed.path(), &run);
    succeed(whole.path(), &run);
    assert_eq!((cells(killed.path()), cells(whole.path())), (all, all));
    let report = ["report", "mini.toml", "--cells", "cells"];
    let (one, other) = (succeed(killed.path(), &report), succeed(whole.path(), &report));
    assert!(one.contains("Protocol `fair`"), "{one}");
    assert_eq!(one, other);
    // Nothing is left to do.
    assert!(succeed(killed.path(), &run).starts_with("0 trainings finished"));
}

#[test]
fn the_report_comes_in_four_forms_and_a_mistake_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mini.toml"), MINI).unwrap();
    let run = ["run", "mini.toml", "--seeds", "2", "--only", "svm", "--quiet"];
    succeed(folder.path(), &run);
    let files = succeed(folder.path(), &["report", "mini.toml", "--out", "docs"]);
    assert_eq!(files.lines().count(), 4, "{files}");
    for name in ["md", "csv", "tex", "html"] {
        let text = fs::read_to_string(folder.path().join(format!("docs/reproduction.{name}"))).unwrap();
        assert!(text.contains("SVM"), "{name}");
    }
    assert!(succeed(folder.path(), &["list"]).contains("binary-adult"));
    assert!(refuse(folder.path(), &["run", "binary-adlut"]).contains("use one of binary-adult"));
    let missing = refuse(folder.path(), &["run", "binary-adult", "--data", "nowhere"]);
    assert!(missing.contains("cmrm data fetch adult"), "{missing}");
    assert!(refuse(folder.path(), &["report", "--cells", "nothing"]).contains("nothing"));
    fs::write(folder.path().join("docs/reproduction.csv"), "").unwrap();
    let over = refuse(folder.path(), &["report", "mini.toml", "--cells", "docs/reproduction.csv", "--out", "docs"]);
    assert!(over.contains("docs/reproduction.csv is one of the --cells"), "{over}");
    let shard = command(folder.path(), &["run", "--shard", "4/3"]);
    assert!(String::from_utf8_lossy(&shard.stderr).contains("write 2/5"));
}
