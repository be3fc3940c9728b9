//! Decisions on images: what a review decided is what the next training sees.

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use cmrm_data::Features;
use cmrm_data::read::{ReadOptions, read_path};
use cmrm_images::data::{Decided, ImageSet, apply_decisions};
use cmrm_report::{Card, Pixels, data_uri};
use common::{plan, set, train};

fn decide(set: &mut ImageSet, text: &str) -> cmrm_images::Result<Decided> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.csv");
    std::fs::write(&path, format!("row,action,label\n{text}")).unwrap();
    apply_decisions(set, &path)
}

#[test]
fn images_are_relabelled_dropped_and_kept() {
    let (before, mut after) = (set(10), set(10));
    let decided = decide(&mut after, "7,keep,\n3,drop,\n0,relabel,2\n8,drop,\n").unwrap();
    assert_eq!(decided, Decided { relabelled: 1, dropped: 2 });
    let stays = [0, 1, 2, 4, 5, 6, 7, 9];
    assert_eq!(after.train.rows, stays);
    let size = 64;
    for (at, &row) in stays.iter().enumerate() {
        let row = row as usize;
        let label = if row == 0 { 2 } else { before.train.labels[row] };
        assert_eq!(after.train.labels[at], label);
        assert_eq!(after.train.pixels[at * size..(at + 1) * size], before.train.pixels[row * size..(row + 1) * size]);
    }
    assert_eq!(after.test.labels, before.test.labels);
}

#[test]
fn decisions_that_cannot_be_are_refused() {
    for (text, why) in [
        ("10,drop,\n", "row 0: unknown image '10'; there are 10, counted from 0"),
        ("1,drop,\n1,keep,\n", "row 1: image 1 has two decisions"),
        ("1,remove,\n", "action 'remove'"),
        ("1,relabel,22\n", "unknown class '22', did you mean '2'?"),
        ("1,relabel,\n", "unknown class ''"),
    ] {
        let message = decide(&mut set(10), text).unwrap_err().to_string();
        assert!(message.contains("decisions.csv") && message.contains(why), "{message}");
    }
    // What was decided on is compared with what is there.
    let with_basis = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.csv");
        std::fs::write(&path, format!("row,action,label,given_label,id\n{text}")).unwrap();
        let mut set = set(10);
        set.train.files = (0..10).map(|at| format!("train/{at}.png")).collect();
        apply_decisions(&mut set, &path).map(|decided| (decided, set))
    };
    let own = set(10).train.labels;
    let other = (own[4] + 1) % 2;
    let (decided, moved) = with_basis(&format!("9,drop,,{},train/4.png\n", own[4])).unwrap();
    assert_eq!((decided.dropped, moved.train.rows.contains(&4)), (1, false));
    for (text, why) in [
        (
            format!("4,drop,,{other},train/4.png\n"),
            format!("decided on the label '{other}', but image 4 has '{}'", own[4]),
        ),
        (format!("4,drop,,{},train/x.png\n", own[4]), "unknown image file 'train/x.png'".into()),
    ] {
        let message = with_basis(&text).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(&why), "{message}");
    }
    let noisy = "decisions = 'd.csv'\nnoise = 'symmetric:0.2'\nepochs = 1\nrates = [[0, 0.1]]\n[[arm]]\nname = 'a'";
    assert!(plan(noisy).runs().unwrap_err().to_string().contains("`noise` to none"));
}

fn rows_of(path: &Path) -> Vec<String> {
    match read_path(path, &ReadOptions::default()).unwrap().features {
        Features::Table(table) => {
            let column = table.column("row").unwrap();
            (0..table.rows()).map(|row| column.text(row).unwrap().into_owned()).collect()
        }
        _ => panic!("an array"),
    }
}

#[test]
fn a_run_names_images_by_their_place_in_all_the_data() {
    let root = tempfile::tempdir().unwrap();
    let (all, mut set) = (set(64), set(64));
    // Labels that the network cannot agree with, so that there is something to doubt.
    decide(&mut set, "0,drop,\n1,drop,\n5,relabel,3\n9,relabel,3\n30,relabel,0\n").unwrap();
    let ended = train(
        &plan("epochs = 6\nrates = [[0, 0.05]]\n[[arm]]\nname = 'ce'"),
        &set,
        root.path(),
        &AtomicBool::new(false),
    );
    assert!(ended.failed.is_empty(), "{ended:?}");
    let folder = root.path().join("test/ce-seed0");
    assert_eq!(rows_of(&folder.join("margins.parquet")), (2..64).map(|row| row.to_string()).collect::<Vec<_>>());
    let text = std::fs::read_to_string(folder.join("cards.json")).unwrap();
    let cards: Vec<Card> = serde_json::from_str(&text).unwrap();
    let card = cards.iter().find(|card| [5, 9, 30].contains(&card.row)).expect("a wrong label is doubted");
    let row = card.row as usize;
    assert_eq!(card.given, set.train.labels[row - 2].to_string());
    let bytes = all.train.pixels[row * 64..(row + 1) * 64].to_vec();
    assert_eq!(card.content.picture, data_uri(&Pixels { width: 8, height: 8, channels: 1, bytes }));
}
