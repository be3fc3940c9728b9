//! One process at a time writes into the folder of a run.

use std::fs;

use crate::common::{refuse, succeed};
use crate::{assert_same, bytes_of, kill, start, wait_for};

const QUICK: [&str; 6] = ["fit", "breast-cancer", "--epochs", "1", "--hidden", "4"];

#[test]
fn while_one_process_writes_every_other_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (verb, more) in [("fit", "--no-base"), ("tune", "--folds=3")] {
        let long = [verb, "digits", more, "--epochs", "4000", "--out", verb];
        let child = start(path, &long);
        wait_for(&path.join(verb).join("config.toml"));
        let others: [&[&str]; 3] =
            [&[verb, "--resume", "--out", verb], &long, &[&QUICK[..], &["--out", verb]].concat()];
        for other in others {
            let words = refuse(path, other);
            assert!(words.contains(&format!("{verb}: another process is writing into this folder")), "{words}");
            assert!(words.contains("wait until it has finished, or choose another --out"), "{words}");
        }
        kill(child);
        // The lock is gone with the process.
        assert!(refuse(path, &[&QUICK[..], &["--out", verb]].concat()).contains("not empty"));
        assert!(refuse(path, &[verb, "--resume", "--seed", "5", "--out", verb]).contains("seed is 0 there and 5 here"));
    }
}

#[test]
fn of_two_fits_started_at_once_into_one_folder_one_wins() {
    let fit = |seed: &'static str| [&QUICK[..], &["--quiet", "--seed", seed, "--out", "run"]].concat();
    let seeds = ["1", "2"];
    let alone = seeds.map(|seed| {
        let folder = tempfile::tempdir().unwrap();
        succeed(folder.path(), &fit(seed));
        bytes_of(&folder.path().join("run"))
    });
    for pair in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let children = seeds.map(|seed| start(folder.path(), &fit(seed)));
        let ended = children.map(|child| child.wait_with_output().unwrap());
        let (winner, loser) = match ended.each_ref().map(|output| output.status.code()) {
            [Some(0), Some(2)] => (0, 1),
            [Some(2), Some(0)] => (1, 0),
            _ => panic!("pair {pair}: {ended:?}"),
        };
        let words = String::from_utf8_lossy(&ended[loser].stderr);
        assert!(words.contains("another process is writing") || words.contains("not empty"), "{words}");
        assert_same(&bytes_of(&folder.path().join("run")), &alone[winner], &format!("pair {pair}"));
    }
}

#[test]
fn fits_started_at_once_without_a_name_take_different_folders() {
    let folder = tempfile::tempdir().unwrap();
    let fits = 6;
    let children: Vec<_> = (0..fits).map(|_| start(folder.path(), &QUICK)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let runs: Vec<_> = fs::read_dir(folder.path().join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(runs.len(), fits);
    assert!(runs.iter().all(|run| run.join("run.json").is_file()));
}

#[test]
fn a_folder_of_other_things_gets_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "").unwrap();
    let out = folder.path().to_str().unwrap();
    assert!(refuse(folder.path(), &[&QUICK[..], &["--out", out]].concat()).contains("not empty"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
