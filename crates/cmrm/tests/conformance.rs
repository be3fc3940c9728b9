//! Every reference value, in both number types.

mod common;

const ENVELOPE: &str = include_str!("fixtures/envelope.json");

#[test]
fn double_precision_agrees_to_nine_digits() {
    let report = common::check::<f64>(ENVELOPE);
    assert_eq!(report.cases, 525);
    assert!(report.worst < 1e-9, "{report:?}");
}

#[test]
fn single_precision_agrees_to_four_digits() {
    let report = common::check::<f32>(ENVELOPE);
    assert_eq!(report.cases, 525);
    assert!(report.worst < 1e-4, "{report:?}");
}
