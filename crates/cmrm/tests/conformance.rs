//! Every reference value, in both number types; and files that are not reference files.

mod common;

const ENVELOPE: &str = include_str!("fixtures/envelope.json");
const SETS: &str = include_str!("fixtures/sets.json");
const METHODS: &str = include_str!("fixtures/methods.json");
const FILES: [(&str, usize); 3] = [(ENVELOPE, 525), (SETS, 20), (METHODS, 62)];

#[test]
fn double_precision_agrees_to_nine_digits() {
    for (file, cases) in FILES {
        let report = common::check::<f64>(file).unwrap();
        assert_eq!(report.cases, cases);
        assert!(report.worst < 1e-9, "{report:?}");
    }
}

#[test]
fn single_precision_agrees_to_four_digits() {
    for (file, cases) in FILES {
        let report = common::check::<f32>(file).unwrap();
        assert_eq!(report.cases, cases);
        assert!(report.worst < 1e-4, "{report:?}");
    }
}

fn method(fields: &str) -> String {
    format!(r#"{{"format": "cmrm-methods/1", "losses": [{{{fields}}}]}}"#)
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
        (r#"{"losses": []}"#, "field \"format\" is missing"),
        (r#"{"losses": [], "format": "cmrm-methods/9"}"#, "unknown format \"cmrm-methods/9\""),
        (r#"{"losses": [], "format": "cmrm-methods/1", "gains": []}"#, "unknown field \"gains\""),
        (&method(r#""method": "mae", "params": {}"#), "losses, record 0 (mae): unknown method"),
        (&method(r#""method": "apl", "param": {}"#), "losses, record 0 (apl): unknown field \"param\""),
        (&method(r#""method": "apl", "params": {"a": 1, "c": 1}"#), "params: unknown field \"c\""),
        (&method(r#""method": "cores", "params": {"beta": 1}"#), "field \"prior\" is missing"),
        (&method(r#""method": "forward", "params": {"T": [[0.5, 0.5], [0.5, 0.5]]}"#), "has no inverse"),
        (&method(r#""method": "forward", "params": {"T": [[0.5, 0.4], [0.5, 0.5]]}"#), "row 0 sums to 0.9"),
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

/// Every kind of number that a record of a method holds is compared.
#[test]
fn a_wrong_value_of_a_method_is_noticed() {
    let file: serde_json::Value = serde_json::from_str(METHODS).unwrap();
    for (index, record) in file["losses"].as_array().unwrap().iter().enumerate().take(20) {
        for field in ["values", "total", "grad", "grad_transition"] {
            if record.get(field).is_none() {
                continue;
            }
            let mut wrong = file.clone();
            let mut number = &mut wrong["losses"][index][field];
            while number.is_array() {
                number = &mut number[0];
            }
            *number = (number.as_f64().unwrap() + 0.5).into();
            let report = common::check::<f64>(&wrong.to_string()).unwrap();
            let place = format!("losses, record {index} ");
            assert!(
                report.worst > 1e-3 && report.place.starts_with(&place) && report.place.contains(field),
                "{report:?}"
            );
        }
    }
    let wrong = METHODS.replacen("\"threshold\": ", "\"threshold\": 1", 1);
    let report = common::check::<f64>(&wrong).unwrap();
    assert!(report.worst > 1e-3 && report.place.contains("corrected_sets, record 0, threshold"), "{report:?}");
}
