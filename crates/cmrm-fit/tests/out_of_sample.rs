//! Rows that models have judged without having seen them: judged, calibrated and ranked by what those said.

use cmrm_data::ColumnRef;
use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::{Fingerprint, Input};
use cmrm_fit::{Fit, FitConfig, FitOutcome, FittedArm, Loaded, ModelKind};
use cmrm_run::TrainingRows;
use cmrm_run::summary::{FitSummary, Labels, MemberSummary};
use cmrm_train::Stop;
use cmrm_train::train::Silent;

const ROWS: usize = 60;

/// Two kinds by length; row 20 has the label of the other.
fn table() -> Input {
    let mut csv = String::from("length,width,kind\n");
    for i in 0..ROWS {
        let kind = if (i % 2 == 0) != (i == 20) { "plum" } else { "pear" };
        csv += &format!("{},{},{kind}\n", 3 + 5 * (i % 2), 2 + i % 3);
    }
    let options = ReadOptions { label: Some(ColumnRef("kind".into())), ..ReadOptions::default() };
    read(&Source::bytes("fruit.csv", csv.into_bytes()), &options).unwrap()
}

/// A fit of a vote whose arms are a network's, with these probabilities of the first class for every row.
fn voted(config: FitConfig, base: f32, robust: impl Fn(usize) -> f32) -> FitOutcome {
    let loaded = Loaded::new("fruit", table());
    let network = FitConfig { model: Some(ModelKind::Mlp), epochs: Some(1), ..FitConfig::default() };
    let network = Fit::new(&network, &loaded, &Stop::default()).unwrap().run(&mut Silent).unwrap();
    let model = network.envelope_arm().unwrap().model.clone();
    let fit = Fit::new(&config, &loaded, &Stop::default()).unwrap();
    let rows = fit.rows().train.data.len();
    let arm = |name: &str, first: &dyn Fn(usize) -> f32| FittedArm {
        name: name.into(),
        model: model.clone(),
        epoch: None,
        out_of_sample: Some((0..rows).flat_map(|row| [first(row), 1.0 - first(row)]).collect()),
    };
    let member = |name: &str| MemberSummary { name: name.into(), share: 0.5, accuracy: 0.75, brier: 0.375 };
    let members = vec![member("a <forest>"), member("kernel")];
    let robust = arm("robust", &robust);
    // Whether labels can be told at all is judged by these; here they are as good as the others.
    let judged = robust.out_of_sample.clone().unwrap();
    fit.finish_vote(vec![arm("base", &|_| base), robust], &judged, vec![1.0; rows], members).unwrap()
}

fn forest() -> FitConfig {
    FitConfig { model: Some(ModelKind::Forest), ..FitConfig::default() }
}

/// Right of all rows but the wrong one, and surest of row 33.
fn right(row: usize) -> f32 {
    let plum = row.is_multiple_of(2);
    let sure = if row == 33 { 0.96875 } else { 0.75 };
    // Classes are named in sorted order: the first is the pear.
    if plum { 1.0 - sure } else { sure }
}

fn summary(outcome: &FitOutcome) -> FitSummary {
    let info = outcome.info(Fingerprint::of(&outcome.rows.train.data)).unwrap();
    outcome.summary("run".into(), &info).unwrap()
}

#[test]
fn all_rows_train_and_all_are_judged_by_models_that_have_not_seen_them() {
    let outcome = voted(forest(), 0.75, right);
    assert_eq!((outcome.rows.train.data.len(), outcome.rows.validation.data.len()), (ROWS, 0));
    let found = summary(&outcome);
    assert_eq!((found.judged_by, found.data.judged_rows), (Labels::ObservedOutOfSample, ROWS));
    let accuracy = |arm: usize| found.arms[arm].metrics[0].value;
    // The base arm says pear of all: 31 of 60, with the wrong label.
    assert_eq!((accuracy(0), accuracy(1)), (31.0 / 60.0, 59.0 / 60.0));
    assert!(found.arms.iter().all(|arm| arm.epoch.is_none() && arm.sets.is_none()));
    assert_eq!(found.suspects.top[0].row, 20);
    let calibration = outcome.calibration(outcome.envelope_arm().unwrap(), &Stop::default()).unwrap().unwrap();
    assert_eq!(Some(&calibration.probabilities), outcome.arms[1].out_of_sample.as_ref());
    assert_eq!(calibration.labels, outcome.rows.train.data.labels);
    let text = found.to_text();
    for part in ["rows that the models had not seen", "What each learner is worth", "a <forest>", "50 %", "0.3750"] {
        assert!(text.contains(part), "'{part}' is not in {text}");
    }
    assert!(found.to_markdown().contains("| kernel "), "{}", found.to_markdown());
    let stored = serde_json::to_string(&found).unwrap();
    assert!(!stored.contains("\"epoch\""), "{stored}");
    assert_eq!(serde_json::from_str::<FitSummary>(&stored).unwrap(), found);
}

#[test]
fn rows_held_back_or_to_test_come_first() {
    let held = voted(FitConfig { validation_share: Some(0.2), ..forest() }, 0.75, right);
    assert_eq!(summary(&held).judged_by, Labels::ObservedValidation);
    let arm = held.envelope_arm().unwrap();
    let calibration = held.calibration(arm, &Stop::default()).unwrap().unwrap();
    assert_eq!(calibration.labels, held.rows.validation.data.labels);
    let tested = voted(FitConfig { test_share: Some(0.2), ..forest() }, 0.75, right);
    let found = summary(&tested);
    assert_eq!((found.judged_by, found.data.judged_rows), (Labels::Observed, 12));
    // Sets are calibrated on the training rows then.
    assert!(found.arms.iter().all(|arm| arm.sets.is_some()));
}

#[test]
fn suspects_are_rows_with_a_negative_margin_ranked_by_the_probability_of_their_label() {
    let outcome = voted(forest(), 0.75, |row| if row == 7 { 0.125 } else { right(row) });
    let TrainingRows { confidence, margin, labels, .. } = &outcome.training_rows;
    assert_eq!((confidence.len(), confidence[33], margin[33], labels[33]), (ROWS, 0.96875, 0.9375, 0));
    assert_eq!(outcome.training_rows.suspects(), [7, 20]);
    let audit = outcome.training_rows.audit().unwrap();
    assert_eq!((&audit.label_score, &audit.order[..2]), (confidence, &[7, 20][..]));
    assert_eq!(audit.issue_count(), 2);
}

#[test]
fn a_vote_that_is_no_better_than_one_class_is_warned_of() {
    assert_eq!(voted(forest(), 0.75, right).warnings().unwrap(), Vec::<String>::new());
    let warnings = voted(forest(), 0.75, |_| 0.75).warnings().unwrap();
    assert!(warnings[0].contains("no better than chance"), "{warnings:?}");
    assert!(warnings[0].contains("of 60 rows that it had not seen"), "{warnings:?}");
}

#[test]
fn the_page_has_the_learners_and_nothing_of_epochs() {
    let outcome = voted(forest(), 0.75, right);
    let report = outcome.report(&summary(&outcome), outcome.suspects(table()).unwrap(), None).unwrap();
    // What the out-of-sample models say of the labels, and not the model that learned them.
    let pear = report.confidence.iter().find(|confidence| confidence.class == "pear").unwrap();
    assert_eq!(pear.right.iter().sum::<u32>(), 31);
    assert_eq!((pear.right[15], pear.right[19], pear.right[5]), (29, 1, 1));
    let page = cmrm_report::page(&report);
    for part in ["id=\"members\"", "a &lt;forest&gt;", "models that had not seen the row", "href=\"#members\""] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["#training", "#sensitivity", "epoch", "NaN"] {
        assert!(!page.contains(part), "{part}");
    }
    for link in page.split("href=\"#").skip(1) {
        let id = link.split('"').next().unwrap();
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
}
