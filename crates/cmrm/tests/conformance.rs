//! Every reference value, in both number types; and files that are not reference files.

mod common;

const ENVELOPE: &str = include_str!("fixtures/envelope.json");
const SETS: &str = include_str!("fixtures/sets.json");

#[test]
fn double_precision_agrees_to_nine_digits() {
    for (file, cases) in [(ENVELOPE, 525), (SETS, 20)] {
        let report = common::check::<f64>(file).unwrap();
        assert_eq!(report.cases, cases);
        assert!(report.worst < 1e-9, "{report:?}");
    }
}

#[test]
fn single_precision_agrees_to_four_digits() {
    for (file, cases) in [(ENVELOPE, 525), (SETS, 20)] {
        let report = common::check::<f32>(file).unwrap();
        assert_eq!(report.cases, cases);
        assert!(report.worst < 1e-4, "{report:?}");
    }
}

#[test]
fn what_is_not_a_reference_file_is_refused_in_words() {
    for (text, expected) in [
        ("", "not JSON"),
        ("{}", "not a list of records"),
        ("[1]", "record 0: field \"kind\" is missing"),
        (r#"[{"kind": "triples"}]"#, "record 0 (triples): unknown kind"),
        (r#"[{"kind": "binary", "scores": [1, "x"]}]"#, "field \"scores\": \"x\" is not a number"),
        (r#"[{"kind": "binary", "scores": [1], "labels": [0.5]}]"#, "row 0: 0.5 is not a label"),
        (r#"[{"kind": "multiclass", "logits": [[1, 2], [3]]}]"#, "row 1: 1 numbers, but 2 in row 0"),
    ] {
        let error = common::check::<f64>(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_wrong_value_is_noticed() {
    let wrong = ENVELOPE.replacen("\"risk\":", "\"risk\": 1.0, \"was\":", 1);
    let report = common::check::<f64>(&wrong).unwrap();
    assert!(report.worst > 1e-3 && report.place.contains("risk"), "{report:?}");
}
