//! What a finished run leaves: files that the command for tables reads, and a network that can be applied.

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use cmrm::audit::{MarginOptions, rank_margins};
use cmrm_data::read::{ReadOptions, read_path};
use cmrm_data::table::Values;
use cmrm_data::{Features, Table};
use cmrm_images::embed::TrainedNetwork;
use cmrm_report::{Card, Report};
use cmrm_run::summary::FitSummary;
use cmrm_run::{RunDir, RunInfo, RunKind};
use common::{CLASSES, plan, set, train};
use serde::de::DeserializeOwned;
use tch::Device;

static GO: AtomicBool = AtomicBool::new(false);

/// The base last, so that its end completes the report of the other; logits as margins, which the record is not to hold.
const PLAN: &str = r#"
    epochs = 4
    rates = [[0, 0.05]]
    noise = "symmetric:0.25"
    [[arm]]
    name = "authors"
    envelope = { preset = "authors", start = { epoch = 2 } }
    [[arm]]
    name = "plain"
"#;

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> T {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

fn table(folder: &Path) -> Table {
    match read_path(&folder.join("margins.parquet"), &ReadOptions::default()).unwrap().features {
        Features::Table(table) => table,
        _ => panic!("an array"),
    }
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match &table.column(name).unwrap().values {
        Values::Numeric(values) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_run_can_be_audited_and_reported() {
    let root = tempfile::tempdir().unwrap();
    // Not a multiple of the batch: some rows are never shown in a short training.
    let set = set(70);
    let ended = train(&plan(PLAN), &set, root.path(), &GO);
    assert!(ended.failed.is_empty(), "{ended:?}");
    let folder = root.path().join("test/authors-seed0");

    // The report got its base arm, and the run its result, after `run.json` was written.
    for run in ["authors", "plain"] {
        RunDir::open(&root.path().join(format!("test/{run}-seed0"))).unwrap();
    }
    let info: RunInfo = read(&folder, "run.json");
    assert!(info.files.contains_key("result.json") && info.files.contains_key("test-probabilities.npy"));
    assert_eq!((info.kind, info.classes.len(), info.chosen.as_str()), (RunKind::Images, CLASSES, "authors"));
    let table = table(&folder);
    let margins: Vec<f32> = numbers(&table, "margin").into_iter().map(|margin| margin as f32).collect();
    let index = |name: &str| -> Vec<u32> {
        let column = table.column(name).unwrap();
        (0..table.rows()).map(|row| column.text(row).unwrap().parse().unwrap()).collect()
    };
    let (labels, rivals) = (index("given_label"), index("rival_label"));
    let observed = set.observed(plan(PLAN).runs().unwrap()[0].noise.as_ref(), 0).unwrap();
    assert_eq!(labels, observed.labels);
    let audit = rank_margins(&margins, &rivals, &labels, CLASSES, &MarginOptions::default()).unwrap();
    let wrong = numbers(&table, "known_wrong");
    let found = (0..margins.len()).filter(|&row| audit.is_label_issue[row] && wrong[row] == 1.0).count();
    assert!(found * 2 > observed.flipped.len(), "{found} of {}", observed.flipped.len());

    let report: Report = read(&folder, "report.json");
    assert_eq!(report.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["base", "authors"]);
    assert_eq!((report.history.len(), report.sizes.judged, report.sizes.train), (8, set.test.len(), 70));
    assert!(report.history.iter().filter(|epoch| epoch.on).count() == 2);
    assert!(report.suspects.iter().all(|card| card.content.picture.is_some()));
    // Few enough for all of them to have room, in the report and for the review.
    let cards: Vec<Card> = read(&folder, "cards.json");
    assert_eq!(cards, report.suspects);
    assert_eq!(cards.len(), margins.iter().filter(|&&margin| margin < 0.0).count());
    assert!(cards.is_sorted_by_key(|card| card.margin) && cards[0].margin < 0.0);
    let summary: FitSummary = read(&folder, "summary.json");
    let base: FitSummary = read(&root.path().join("test/plain-seed0"), "summary.json");
    let accuracy = |summary: &FitSummary, arm: usize| summary.arms[arm].metrics[0].value;
    assert_eq!((base.arms.len(), accuracy(&base, 0)), (1, accuracy(&summary, 0)));
    let difference = summary.difference.as_ref().unwrap();
    assert!((difference.accuracy - (accuracy(&summary, 1) - accuracy(&summary, 0))).abs() < 1e-12);
    for (name, words) in [
        ("report.md", "Envelope minus base, with 95 % intervals: accuracy"),
        ("report.html", "The envelope"),
        ("config.toml", "authors"),
    ] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.contains(words), "{name}");
    }
}

#[test]
fn the_settings_of_a_run_repeat_it() {
    let (root, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = PLAN.to_string() + "[[arm]]\nname = 'late'\nfork = { from = 'plain', epoch = 2 }\nepochs = 5\n";
    train(&plan(&text), &set(64), root.path(), &GO);
    let settings = std::fs::read_to_string(root.path().join("test/late-seed0/config.toml")).unwrap();
    let ended = train(&toml::from_str(&settings).unwrap(), &set(64), again.path(), &GO);
    assert_eq!(ended.finished.len(), 2, "the run and the one it goes on from");
    let probabilities = |root: &Path| std::fs::read(root.join("test/late-seed0/test-probabilities.npy")).unwrap();
    assert_eq!(probabilities(root.path()), probabilities(again.path()));
}

#[test]
fn features_tell_the_classes_apart() {
    let root = tempfile::tempdir().unwrap();
    let set = set(64);
    train(&plan("epochs = 8\nrates = [[0, 0.05]]\n[[arm]]\nname = 'ce'"), &set, root.path(), &GO);
    let network = TrainedNetwork::open(&root.path().join("test/ce-seed0"), Device::Cpu).unwrap();
    let (features, width) = network.features(&set.test).unwrap();
    assert_eq!((features.len(), width), (set.test.len() * 128, 128));
    // The nearest mean of the training features names the class of nearly every test image.
    let (train, _) = network.features(&set.train).unwrap();
    let mut means = vec![vec![0f32; width]; CLASSES];
    for (row, &label) in train.chunks_exact(width).zip(&set.train.labels) {
        means[label as usize].iter_mut().zip(row).for_each(|(mean, value)| *mean += value / 16.0);
    }
    let distance = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum() };
    let nearest = |row: &[f32]| {
        (0..CLASSES).min_by(|&a, &b| distance(row, &means[a]).total_cmp(&distance(row, &means[b]))).unwrap()
    };
    let right =
        features.chunks_exact(width).zip(&set.test.labels).filter(|(row, label)| nearest(row) == **label as usize);
    assert!(right.count() * 100 >= set.test.len() * 95);
    let missing = TrainedNetwork::open(root.path(), Device::Cpu).unwrap_err().to_string();
    assert!(missing.contains("not a finished run"), "{missing}");
}
