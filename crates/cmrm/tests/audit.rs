//! Audits against cleanlab 2.9.0, tables worked out by hand, and refusals.
//!
//! `fixtures/audit.json` was written by these calls on random data, with `numpy.argsort` made stable (cleanlab leaves ties
//! to an unstable sort; here they go to the lower index), and without cells of the joint that lie halfway between two
//! whole numbers (cleanlab leaves those to rounding errors):
//!
//! ```text
//! thresholds                 get_confident_thresholds(labels, p)
//! scores[m]                  get_label_quality_scores(labels, p, method=m)
//! confident_joint            compute_confident_joint(labels, p, calibrate=False)
//! joint                      compute_confident_joint(labels, p)
//! noise_matrix, inverse_…    estimate_py_and_noise_matrices_from_probabilities(labels, p, converge_latent_estimates=False)
//! off_diagonal_calibrated    num_label_issues(labels, p, estimation_method='off_diagonal_calibrated')
//! issues[f]                  find_label_issues(labels, p, filter_by=f)
//! issues_frac_noise_half     the same with frac_noise=0.5
//! issues_min_examples_5      the same with min_examples_per_class=5
//! ```

use std::collections::BTreeMap;

use cmrm::audit::*;
use cmrm::{Error, Matrix, Result, Scalar};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    name: String,
    classes: usize,
    probabilities: Vec<f64>,
    labels: Vec<u32>,
    thresholds: Vec<f64>,
    scores: BTreeMap<String, Vec<f64>>,
    confident_joint: Vec<u32>,
    joint: Vec<u32>,
    noise_matrix: Vec<f64>,
    inverse_noise_matrix: Vec<f64>,
    off_diagonal_calibrated: u64,
    issues: BTreeMap<String, Vec<usize>>,
    issues_frac_noise_half: BTreeMap<String, Vec<usize>>,
    issues_min_examples_5: BTreeMap<String, Vec<usize>>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("fixtures/audit.json")).unwrap()
}

/// An enum variant by its name in a file.
fn named<T: for<'a> Deserialize<'a>>(name: &str) -> T {
    serde_json::from_value(name.into()).unwrap()
}

fn audit<T: Scalar + Into<f64>>(values: &[T], classes: usize, labels: &[u32], config: AuditConfig) -> Result<Audit> {
    rank(Matrix::new(values, classes).unwrap(), labels, &config.validate().unwrap())
}

fn rows_of(issues: &[bool]) -> Vec<usize> {
    (0..issues.len()).filter(|&row| issues[row]).collect()
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance, "{what}, number {i}: found {f}, expected {e}");
    }
}

#[test]
fn scores_are_those_of_cleanlab() {
    for case in cases() {
        let single: Vec<f32> = case.probabilities.iter().map(|&p| p as f32).collect();
        assert_eq!(case.scores.len(), 3);
        for (method, expected) in &case.scores {
            let config = AuditConfig { score: named(method), ..Default::default() };
            let what = format!("{}: {method}", case.name);
            for found in [
                audit(&case.probabilities, case.classes, &case.labels, config).unwrap(),
                audit(&single, case.classes, &case.labels, config).unwrap(),
            ] {
                let scores: Vec<f64> = found.label_score.iter().map(|&s| s.into()).collect();
                close(&scores, expected, 1e-6, &what);
            }
        }
    }
}

#[test]
fn estimates_are_those_of_cleanlab() {
    for case in cases() {
        let found = audit(&case.probabilities, case.classes, &case.labels, AuditConfig::default()).unwrap();
        let noise = found.noise.unwrap();
        // cleanlab marks a class without rows by a threshold of 2.
        let thresholds: Vec<f64> = noise.thresholds.iter().map(|t| t.unwrap_or(2.0)).collect();
        close(&thresholds, &case.thresholds, 1e-9, &case.name);
        // cleanlab counts at least one right row of every class, without saying so in the data.
        let mut confident = noise.confident_joint.to_dense();
        for class in 0..case.classes {
            let cell = &mut confident[class * (case.classes + 1)];
            *cell = (*cell).max(1);
        }
        assert_eq!(confident, case.confident_joint, "{}", case.name);
        assert_eq!(noise.joint.to_dense(), case.joint, "{}", case.name);
        close(&noise.noise_matrix(), &case.noise_matrix, 1e-8, &case.name);
        close(&noise.inverse_noise_matrix(), &case.inverse_noise_matrix, 1e-8, &case.name);
        let wrong = noise.rate() * case.labels.len() as f64;
        assert!((wrong - case.off_diagonal_calibrated as f64).abs() < 1e-9, "{}: {wrong}", case.name);
    }
}

#[test]
fn issues_are_those_of_cleanlab() {
    let mut checked = 0;
    for case in cases() {
        let variants =
            [(&case.issues, 1.0, 1), (&case.issues_frac_noise_half, 0.5, 1), (&case.issues_min_examples_5, 1.0, 5)];
        for (issues, frac_noise, min_examples_per_class) in variants {
            for (filter, expected) in issues {
                let config =
                    AuditConfig { filter: named(filter), frac_noise, min_examples_per_class, ..Default::default() };
                let found = audit(&case.probabilities, case.classes, &case.labels, config).unwrap();
                assert_eq!(&rows_of(&found.is_label_issue), expected, "{}: {config:?}", case.name);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 5 * (7 + 3 + 3));
}

/// cleanlab gives the first and third row 0 and 0.03, as if the model were surest that they are wrong.
///
/// `get_label_quality_scores([0, 1, 0, 1], [[1, 0], [1, 0], [1-1e-9, 1e-9], [.4, .6]], method='confidence_weighted_entropy')`
#[test]
fn entropy_score_of_a_certain_model_depends_on_whether_it_agrees() {
    let config = AuditConfig { score: ScoreMethod::ConfidenceWeightedEntropy, ..Default::default() };
    let found = audit(&[1.0, 0.0, 1.0, 0.0, 1.0 - 1e-9, 1e-9, 0.4, 0.6], 2, &[0, 1, 0, 1], config).unwrap();
    let scores: Vec<f64> = found.label_score.iter().map(|&s| s.into()).collect();
    close(&scores, &[1.0, 0.0, 1.0, 0.594_781_98], 1e-6, "entropy score");
}

#[test]
fn a_table_worked_out_by_hand() {
    // Thresholds 0.625, 0.725, 0.6: rows 0, 1 count as 0; 2 as 1; 3, 4 as 1; 5 as 2; 6 as 2.
    let probabilities = [
        0.9, 0.1, 0.0, //
        0.7, 0.2, 0.1, //
        0.2, 0.8, 0.0, //
        0.1, 0.9, 0.0, //
        0.15, 0.8, 0.05, //
        0.2, 0.2, 0.6, //
        0.7, 0.1, 0.2, //
    ];
    let labels = [0, 0, 0, 1, 1, 2, 1];
    let found = audit(&probabilities, 3, &labels, AuditConfig::default()).unwrap();
    assert_eq!(found.predicted_label, [0, 0, 1, 1, 1, 2, 0]);
    assert_eq!(found.is_label_issue, [false, false, true, false, false, false, true]);
    assert_eq!(found.suggested_label, [0, 0, 1, 1, 1, 2, 0]);
    assert_eq!(found.order, [6, 2, 5, 1, 4, 0, 3]);
    assert_eq!(found.rank, [5, 3, 1, 6, 4, 2, 0]);
    assert_eq!(found.issues().collect::<Vec<_>>(), [6, 2]);
    close(
        &found.margin.iter().map(|&m| m.into()).collect::<Vec<_>>(),
        &[0.8, 0.5, -0.6, 0.8, 0.65, 0.4, -0.6],
        1e-7,
        "margin",
    );
    assert_eq!(found.suggestions.to_dense(), [2, 1, 0, 1, 2, 0, 0, 0, 1]);
    assert_eq!(found.suggestions.most_frequent(), [(0, 1, 1), (1, 0, 1)]);
    let noise = found.noise.unwrap();
    assert_eq!(noise.joint.to_dense(), [2, 1, 0, 1, 2, 0, 0, 0, 1]);
    assert!((noise.rate() - 2.0 / 7.0).abs() < 1e-12);
    assert_eq!(noise.rate_of_given(2), Some(0.0));
    assert_eq!(noise.rate_of_given(3), None);
    close(&noise.true_shares(), &[3.0 / 7.0, 3.0 / 7.0, 1.0 / 7.0], 1e-12, "true shares");
}

#[test]
fn simple_filters_take_what_they_say() {
    let probabilities = [0.9f32, 0.1, 0.55, 0.45, 0.5, 0.5, 0.4, 0.6, 0.2, 0.8];
    let labels = [0; 5];
    let rows = |filter| {
        rows_of(
            &audit(&probabilities, 2, &labels, AuditConfig { filter, ..Default::default() }).unwrap().is_label_issue,
        )
    };
    assert_eq!(rows(Filter::BelowMargin(0.0)), [3, 4]);
    assert_eq!(rows(Filter::BelowMargin(0.2)), [1, 2, 3, 4]);
    assert_eq!(rows(Filter::BelowMargin(-1.0)), [0usize; 0]);
    assert_eq!(rows(Filter::Fraction(0.0)), [0usize; 0]);
    assert_eq!(rows(Filter::Fraction(0.6)), [2, 3, 4]);
    assert_eq!(rows(Filter::Fraction(0.79)), [2, 3, 4]);
    assert_eq!(rows(Filter::Fraction(1.0)), [0, 1, 2, 3, 4]);
    // The second class has no rows, so nobody is confident of it and no row is pruned.
    assert_eq!(rows(Filter::PruneByNoiseRate), [0usize; 0]);
    assert_eq!(rows(Filter::PredictedNeqGiven), [3, 4]);
}

#[test]
fn ties_go_to_the_lower_index() {
    let quarter = [0.25f32; 16];
    let found = audit(&quarter, 4, &[2, 0, 3, 2], AuditConfig::default()).unwrap();
    assert_eq!(found.predicted_label, [0; 4]);
    assert_eq!(found.order, [0, 1, 2, 3]);
    let all = AuditConfig { filter: Filter::Fraction(1.0), ..Default::default() };
    assert_eq!(audit(&quarter, 4, &[2, 0, 3, 2], all).unwrap().suggested_label, [0, 1, 0, 0]);
}

#[test]
fn a_training_record_makes_the_same_table() {
    let (margins, rivals, labels) = ([0.5, -0.25, 0.0, -0.75, 0.0], [1, 0, 0, 2, 2], [0, 1, 1, 1, 0]);
    let found = rank_margins(&margins, &rivals, &labels, 3, &MarginOptions::default()).unwrap();
    assert_eq!(found.label_score, [0.75, 0.375, 0.5, 0.125, 0.5]);
    assert_eq!(found.order, [3, 1, 2, 4, 0]);
    assert_eq!(found.is_label_issue, [false, true, false, true, false]);
    assert_eq!(found.predicted_label, [0, 0, 0, 2, 0]);
    assert_eq!(found.suggested_label, [0, 0, 1, 2, 0]);
    assert_eq!(found.suggestions.to_dense(), [2, 0, 0, 1, 1, 1, 0, 0, 0]);
    assert!(found.noise.is_none());
    let share = MarginConfig { filter: MarginFilter::Fraction(0.6) }.validate().unwrap();
    assert_eq!(rank_margins(&margins, &rivals, &labels, 3, &share).unwrap().issue_count(), 3);
    // By the probability of the label: another order, the same issues.
    let confidences = [0.75, 0.125, 0.375, 0.125, 0.25];
    let by =
        |confidences: &[f32]| rank_confidences(confidences, &margins, &rivals, &labels, 3, &MarginOptions::default());
    let ranked = by(&confidences).unwrap();
    assert_eq!((&ranked.label_score[..], &ranked.order[..]), (&confidences[..], &[1, 3, 4, 2, 0][..]));
    assert_eq!((ranked.is_label_issue, ranked.suggested_label), (found.is_label_issue, found.suggested_label));
    assert!(matches!(by(&confidences[..4]).unwrap_err(), Error::Shape { .. }));
    for bad in [1.5, -0.5, f32::NAN] {
        let refused = by(&[0.75, 0.125, bad, 0.125, 0.25]).unwrap_err();
        assert!(matches!(refused, Error::Value { row: 2, .. }), "{bad}");
    }
}

#[test]
fn a_record_and_its_probabilities_agree() {
    for case in cases() {
        let config = AuditConfig {
            score: ScoreMethod::NormalizedMargin,
            filter: Filter::BelowMargin(0.0),
            ..Default::default()
        };
        let expected = audit(&case.probabilities, case.classes, &case.labels, config).unwrap();
        let all = AuditConfig { filter: Filter::Fraction(1.0), ..config };
        let rivals = audit(&case.probabilities, case.classes, &case.labels, all).unwrap().suggested_label;
        let found =
            rank_margins(&expected.margin, &rivals, &case.labels, case.classes, &MarginOptions::default()).unwrap();
        assert_eq!(found, Audit { noise: None, label_score: found.label_score.clone(), ..expected.clone() });
        for (f, e) in found.label_score.iter().zip(&expected.label_score) {
            assert!((f - e).abs() <= 1e-7);
        }
    }
}

#[test]
fn bad_inputs_are_refused_with_their_place() {
    let fine = [0.5f32, 0.5, 0.2, 0.8];
    let try_with = |values: &[f32], classes: usize, labels: &[u32]| {
        audit(values, classes, labels, AuditConfig::default()).unwrap_err()
    };
    assert_eq!(try_with(&[], 2, &[]), Error::Empty { what: "the table to audit" });
    assert!(matches!(try_with(&[1.0, 1.0], 1, &[0, 0]), Error::Parameter { name: "classes", .. }));
    assert!(matches!(try_with(&fine, 2, &[0]), Error::Shape { expected: 2, found: 1, .. }));
    assert_eq!(try_with(&fine, 2, &[0, 2]), Error::Label { row: 1, label: 2, classes: 2 });
    assert_eq!(try_with(&fine, 2, &[u32::MAX, 0]), Error::Label { row: 0, label: u32::MAX, classes: 2 });
    let probability = |value: f32| Error::Probability { row: 1, column: 1, value: value.into() };
    assert_eq!(try_with(&[0.5, 0.5, 0.5, -0.25], 2, &[0, 0]), probability(-0.25));
    assert_eq!(try_with(&[0.5, 0.5, 0.5, 1.5], 2, &[0, 0]), probability(1.5));
    assert_eq!(try_with(&[0.5, 0.5, 0.5, 0.25], 2, &[0, 0]), Error::RowSum { row: 1, sum: 0.75 });
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = try_with(&[0.5, 0.5, 0.5, bad], 2, &[0, 0]);
        assert_eq!(error, Error::non_finite("probability", 1, 1, bad.into()));
        // Also where the row fills whole vectors.
        let mut wide = vec![1.0 / 40.0; 80];
        wide[40 + 17] = bad;
        assert_eq!(try_with(&wide, 40, &[0, 0]), Error::non_finite("probability", 1, 17, bad.into()));
    }
    // Rounding is no fault.
    assert!(audit(&[1.000_000_1f32, 0.0, 0.995, 0.0], 2, &[0, 0], AuditConfig::default()).is_ok());
    let score = audit(&[1.000_000_1f32, 0.0], 2, &[0], AuditConfig::default()).unwrap().label_score;
    assert_eq!(score, [1.0]);
}

#[test]
fn bad_records_are_refused_with_their_place() {
    let try_with = |margins: &[f32], rivals: &[u32], labels: &[u32], classes: usize| {
        rank_margins(margins, rivals, labels, classes, &MarginOptions::default()).unwrap_err()
    };
    assert!(matches!(try_with(&[], &[], &[], 2), Error::Empty { .. }));
    assert!(matches!(try_with(&[0.0], &[1], &[0], 1), Error::Parameter { name: "classes", .. }));
    assert!(matches!(try_with(&[0.0, 0.0], &[1, 1], &[0], 2), Error::Shape { .. }));
    assert!(matches!(try_with(&[0.0, 0.0], &[1], &[0, 0], 2), Error::Shape { .. }));
    assert!(matches!(try_with(&[0.0, 0.0], &[1, 1], &[0, 2], 2), Error::Label { row: 1, .. }));
    for bad in [1.5, -3.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(try_with(&[0.0, bad], &[1, 1], &[0, 0], 2), Error::Value { row: 1, .. }), "{bad}");
    }
    for rival in [0, 2] {
        let Error::Invalid { reason, .. } = try_with(&[0.0, 0.0], &[1, rival], &[0, 0], 2) else { panic!() };
        assert!(reason.contains(&format!("row 1: class {rival}")), "{reason}");
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    for bad in [-0.1, 1.1, f64::NAN] {
        let config = AuditConfig { frac_noise: bad, ..Default::default() };
        assert!(matches!(config.validate(), Err(Error::Parameter { name: "frac_noise", .. })));
        let config = AuditConfig { filter: Filter::Fraction(bad), ..Default::default() };
        assert!(matches!(config.validate(), Err(Error::Parameter { name: "fraction", .. })));
        assert!(MarginConfig { filter: MarginFilter::Fraction(bad) }.validate().is_err());
    }
    for bad in [-1.1, 1.1, f64::NAN] {
        let config = AuditConfig { filter: Filter::BelowMargin(bad), ..Default::default() };
        assert!(matches!(config.validate(), Err(Error::Parameter { name: "below_margin", .. })));
        assert!(MarginConfig { filter: MarginFilter::BelowMargin(bad) }.validate().is_err());
    }
    let config: AuditConfig =
        serde_json::from_str(r#"{"score":"normalized_margin","filter":{"fraction":0.1}}"#).unwrap();
    assert_eq!(config.filter, Filter::Fraction(0.1));
    assert!(serde_json::from_str::<AuditConfig>(r#"{"filtre":"both"}"#).is_err());
}

/// Many classes, most of them without rows: memory must not grow with the square of the classes.
#[test]
fn many_classes_are_no_burden() {
    let classes = 200_000;
    let mut probabilities = vec![0.0f32; 3 * classes];
    for (row, class) in [(0, 7), (1, 199_999), (2, 7)] {
        probabilities[row * classes + class] = 1.0;
    }
    let found = audit(&probabilities, classes, &[7, 199_999, 3], AuditConfig::default()).unwrap();
    assert_eq!(found.predicted_label, [7, 199_999, 7]);
    assert_eq!(found.suggestions.total(), 3);
    assert_eq!(found.noise.unwrap().joint.total(), 3);
}
