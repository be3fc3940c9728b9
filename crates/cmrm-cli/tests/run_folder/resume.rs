//! `--resume` checks everything before it changes a byte.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;

use crate::common::{cmrm, refuse, succeed, write_table};
use crate::{anywhere, assert_same, bytes_of};
#[cfg(unix)]
use crate::{start, wait_for};

/// Refuses, names what it must, and leaves the run as it was.
fn refuse_unchanged(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let before = bytes_of(&folder.join("run"));
    let words = refuse(folder, arguments);
    for part in parts {
        assert!(words.contains(part), "{arguments:?}: '{part}' is not in: {words}");
    }
    assert_same(&bytes_of(&folder.join("run")), &before, &format!("{arguments:?}"));
}

/// Starts a fit and presses Ctrl-C: an unfinished run with a checkpoint.
#[cfg(unix)]
fn interrupt(folder: &Path, fit: &[&str]) {
    let child = start(folder, fit);
    wait_for(&folder.join("run/checkpoints/data.json"));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(folder.join("run/checkpoints/last.safetensors").is_file());
}

#[cfg(unix)]
#[test]
fn a_refused_resume_leaves_the_run_as_it_was_and_the_right_one_goes_on() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [broken, whole] = folders.each_ref().map(|folder| folder.path());
    for folder in [broken, whole] {
        write_table(&folder.join("table.csv"), 400);
    }
    let fit = ["fit", "table.csv", "--label", "churned", "--epochs", "400", "--out", "run"];
    succeed(whole, &fit);
    interrupt(broken, &fit);

    let resume = ["fit", "--resume", "--out", "run"];
    let with = |more: &[&'static str]| [&resume[..], more].concat();
    let other = ["run: this run was started with other settings", "use the same value or leave it out", "new --out"];
    for (more, difference) in [
        (&["--seed", "5"][..], "seed is 0 there and 5 here"),
        (&["--loss", "gce:0.5"], "loss.name is \"cross-entropy\" there and \"gce\" here"),
        (&["--noise", "symmetric:0.2"], "noise"),
        (&["--lambda", "2"], "lambda is not set there and 2.0 here"),
        (&["--no-base"], "base is true there and false here"),
    ] {
        refuse_unchanged(broken, &with(more), &[&other[..], &[difference]].concat());
    }
    let settings = "data = \"table.csv\"\nlabel = \"churned\"\n";
    fs::write(broken.join("other.toml"), settings).unwrap();
    refuse_unchanged(broken, &with(&["--config", "other.toml"]), &["model is \"mlp\" there and \"auto\" here"]);
    fs::write(broken.join("other.toml"), format!("{settings}model = \"mlp\"\n")).unwrap();
    // 360 rows in batches of 128: 2000 steps are more than the most epochs.
    refuse_unchanged(broken, &with(&["--config", "other.toml"]), &["epochs is 400 there and 500 here"]);
    refuse_unchanged(broken, &with(&["--steps", "900"]), &["epochs is 400 there and 300 here"]);

    // One category in the middle of the table: neither labels nor the first or last row change.
    let table = fs::read_to_string(broken.join("table.csv")).unwrap();
    let at = table.len() / 2 + table[table.len() / 2..].find(",free,").unwrap();
    fs::write(broken.join("table.csv"), format!("{},gold,{}", &table[..at], &table[at + 6..])).unwrap();
    refuse_unchanged(broken, &resume, &["table.csv: not the data that run was started with", "new --out"]);
    refuse_unchanged(broken, &with(&["--test", "table.csv"]), &["table.csv: not the data"]);

    // The data may have moved, as long as it is the same.
    fs::remove_file(broken.join("table.csv")).unwrap();
    fs::create_dir(broken.join("moved")).unwrap();
    fs::write(broken.join("moved/table.csv"), &table).unwrap();
    refuse_unchanged(broken, &resume, &["table.csv", "check the name"]);
    refuse_unchanged(
        broken,
        &with(&["moved/table.csv", "--test", "moved/table.csv"]),
        &["moved/table.csv: not the test data"],
    );
    succeed(broken, &with(&["moved/table.csv", "--threads", "1", "--quiet"]));
    for file in ["model.safetensors", "base.safetensors", "metrics.jsonl", "margins.parquet", "calibration.safetensors"]
    {
        let read = |folder: &Path| fs::read(folder.join("run").join(file)).unwrap();
        assert_eq!(read(broken), read(whole), "{file}");
    }
}

#[test]
fn a_finished_run_is_shown_again_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_table(&path.join("table.csv"), 90);
    let fit = ["fit", "table.csv", "--label", "churned", "--epochs", "2", "--hidden", "4", "--json", "--out", "run"];
    let summary = succeed(path, &fit);
    let before = bytes_of(&path.join("run"));
    let out = path.join("run");
    // The same settings, whether they are repeated or not, and however the data is spelled.
    let again: [&[&str]; 4] = [
        &["fit", "--resume", "--json", "--out", "run"],
        &["fit", "--resume", "--json", "--out", out.to_str().unwrap(), "--threads", "1"],
        &[&fit[..], &["--resume"]].concat(),
        &["fit", "./table.csv", "--resume", "--json", "--out", "run"],
    ];
    for again in again {
        let output = cmrm(path, again);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && words.contains("already finished"), "{words}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), summary, "{again:?}");
        assert_same(&bytes_of(&path.join("run")), &before, &format!("{again:?}"));
    }
    fs::copy(path.join("table.csv"), path.join("copy.csv")).unwrap();
    let finished = ["run: this run was finished with other settings", "new --out"];
    for (more, difference) in [
        (&["--seed", "5"][..], "seed is 0 there and 5 here"),
        (&["--hidden", "8"], "hidden is [4] there and [8] here"),
        (&["copy.csv"], "data is \"table.csv\" there and \"copy.csv\" here"),
    ] {
        let resume = [&["fit", "--resume", "--out", "run"], more].concat();
        refuse_unchanged(path, &resume, &[&finished[..], &[difference]].concat());
    }
    refuse_unchanged(path, &["fit", "--resume", "--out", "run", "--sensitivity"], &["without --sensitivity"]);
    refuse_unchanged(path, &["tune", "--resume", "--out", "run"], &["cmrm fit --resume --out run"]);

    // What a kill in the last moment has left goes.
    for name in ["last.safetensors", "data.json"] {
        fs::write(path.join("run/checkpoints").join(name), "left over").unwrap();
        assert_eq!(succeed(path, &["fit", "--resume", "--json", "--out", "run"]), summary);
        assert_same(&bytes_of(&path.join("run")), &before, name);
    }
}

#[test]
fn settings_that_auto_has_found_are_the_runs_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let fit = ["fit", "breast-cancer", "--noise", "binary-flip:0.3", "--epochs", "6", "--hidden", "8", "--auto"];
    let fit = [&fit[..], &["--learning-rate", "0.01", "--json", "--out", "run"]].concat();
    let summary = succeed(path, &fit);
    assert_eq!(succeed(path, &[&fit[..], &["--resume"]].concat()), summary);
    refuse_unchanged(path, &[&fit[..], &["--resume", "--l2", "0.5"]].concat(), &["l2 is 0.0 there and 0.5 here"]);
}

#[test]
fn a_search_is_resumed_by_the_same_rules() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let tune = ["tune", "breast-cancer", "--hidden", "8", "--epochs", "4", "--epoch-counts", "4", "--lambdas", "1"];
    let found = succeed(path, &[&tune[..], &["--folds", "2", "--json", "--out", "run"]].concat());
    let before = bytes_of(&path.join("run"));
    let resume = ["tune", "--resume", "--json", "--out", "run"];
    assert_eq!(succeed(path, &resume), found);
    assert_same(&bytes_of(&path.join("run")), &before, "finished");

    let with = |more: &[&'static str]| [&resume[..], more].concat();
    let finished = ["run: this search was finished with other settings", "new --out"];
    for (more, difference) in [
        (&["--folds", "3"][..], "folds is 2 there and 3 here"),
        (&["--hidden", "16"], "hidden is [8] there and [16] here"),
        (&["--lambdas", "2"], "space.lambdas is [1.0] there and [2.0] here"),
    ] {
        refuse_unchanged(path, &with(more), &[&finished[..], &[difference]].concat());
    }
    refuse_unchanged(path, &["fit", "--resume", "--out", "run"], &["cmrm tune --resume --out run"]);

    // Unfinished: settings that no trial names are compared as well.
    fs::remove_file(path.join("run/summary.json")).unwrap();
    let begun = ["run: this search was started with other settings", "new --out"];
    refuse_unchanged(path, &with(&["--hidden", "16"]), &[&begun[..], &["hidden is [8] there and [16] here"]].concat());
    assert_eq!(succeed(path, &resume), found);
    assert_same(&bytes_of(&path.join("run")), &before, "gone on");
}

/// Killed before the first checkpoint, or a vote, which has none.
#[cfg(unix)]
#[test]
fn a_begun_run_without_a_checkpoint_starts_over_and_ends_in_the_same_bytes() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [broken, whole] = folders.each_ref().map(|folder| folder.path());
    for folder in [broken, whole] {
        write_table(&folder.join("table.csv"), 300);
    }
    let fit = ["fit", "table.csv", "--label", "churned", "--epochs", "200", "--out", "run"];
    succeed(whole, &fit);
    interrupt(broken, &fit);
    fs::remove_file(broken.join("run/checkpoints/last.safetensors")).unwrap();
    let output = cmrm(broken, &["fit", "--resume", "--out", "run"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("training starts with the first epoch"), "{words}");
    assert_same(&anywhere(&broken.join("run")), &anywhere(&whole.join("run")), "started over");
}

#[test]
fn what_a_vote_does_not_have_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, words) in [
        (&["--lambda", "2"][..], "lambda is a setting of a network or a linear model"),
        (&["--auto"], "--auto needs a single network or linear model"),
        (&["--sensitivity"], "--sensitivity needs a single network or linear model"),
        (&["--budget", "0"], "budget = 0 is out of range"),
    ] {
        let refused = refuse(folder.path(), &[&["fit", "nowhere.csv", "--model", "forest"], flags].concat());
        assert!(refused.contains(words), "{refused}");
    }
    let refused = refuse(folder.path(), &["fit", "nowhere.csv", "--budget", "9", "--model", "linear"]);
    assert!(refused.contains("budget = 9 limits the time of a vote"), "{refused}");
    for verb in [&["tune", "nowhere.csv"][..], &["audit", "nowhere.csv", "--folds", "3"]] {
        let refused = refuse(folder.path(), &[verb, &["--model", "auto"]].concat());
        assert!(refused.contains("which the model auto is not"), "{refused}");
    }
    let shown = succeed(folder.path(), &["fit", "nowhere.csv", "--model", "auto", "--budget", "9.5", "--dry-run"]);
    for line in ["model = \"auto\"", "budget = 9.5", "validation-share = 0.0"] {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in {shown}");
    }
    assert!(!shown.contains("optimiser") && !shown.contains("steps"), "{shown}");
}
