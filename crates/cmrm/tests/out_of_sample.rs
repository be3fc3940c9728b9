//! Weights from out-of-sample probabilities: against the formulas, what must hold exactly, and what is refused.

mod naive;

use cmrm::envelope::{EnvelopeConfig, Fade, MarginKind, OUT_OF_SAMPLE, OutOfSample, out_of_sample_weights};
use cmrm::{Error, Matrix};
use proptest::prelude::*;
use proptest::sample::select;

const CLASSES: usize = 4;

/// Probabilities, label and weight of each row.
type Rows = Vec<(Vec<f32>, u32, f32)>;

fn rows() -> impl Strategy<Value = Rows> {
    let probabilities = proptest::collection::vec(0.001..1.0f32, CLASSES).prop_map(|row| {
        let sum: f32 = row.iter().sum();
        row.iter().map(|p| p / sum).collect()
    });
    // Enough rows that classes are on both sides of the least number of rows; one class has none.
    let row = (probabilities, select(vec![0u32, 0, 0, 1, 3]), 0.1..2.0f32);
    proptest::collection::vec(row, 1..60)
}

fn weigh(config: EnvelopeConfig, rows: &Rows, weighted: bool) -> OutOfSample {
    let probabilities: Vec<f32> = rows.iter().flat_map(|r| r.0.iter().copied()).collect();
    let labels: Vec<u32> = rows.iter().map(|r| r.1).collect();
    let v: Vec<f32> = rows.iter().map(|r| r.2).collect();
    let matrix = Matrix::new(&probabilities, CLASSES).unwrap();
    out_of_sample_weights(&config.validate().unwrap(), matrix, &labels, weighted.then_some(&v)).unwrap()
}

fn configs() -> impl Strategy<Value = EnvelopeConfig> {
    let fade = proptest::option::of((-0.5..0.0f64, 0.05..1.0f64).prop_map(|(margin, share)| Fade { margin, share }));
    (0.05..0.95f64, 0.05..1.0f64, fade).prop_map(|(alpha, temperature, fade)| EnvelopeConfig {
        alpha,
        temperature,
        fade,
        ..OUT_OF_SAMPLE
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_weights_are_those_of_the_formula(rows in rows(), config in configs(), weighted in any::<bool>()) {
        let found = weigh(config, &rows, weighted);
        let mut margins = Vec::new();
        for ((p, label, _), (&margin, &rival)) in rows.iter().zip(found.margins.iter().zip(&found.rivals)) {
            let other = (0..CLASSES).filter(|&k| k != *label as usize).map(|k| p[k]).fold(f32::MIN, f32::max);
            prop_assert!(rival != *label && p[rival as usize] == other);
            prop_assert_eq!(margin, p[*label as usize] - other);
            margins.push(f64::from(margin));
        }
        let v = |i: usize| if weighted { f64::from(rows[i].2) } else { 1.0 };
        let all: f64 = (0..rows.len()).map(v).sum();
        let fade = config.fade.map_or(0.0, |fade| {
            let doubted: f64 = (0..rows.len()).filter(|&i| margins[i] < fade.margin).map(v).sum();
            (1.0 - doubted / all / fade.share).max(0.0)
        });
        prop_assert!((found.fade - fade).abs() < 1e-9, "{} against {fade}", found.fade);
        let whole = naive::tau(&margins, config.alpha, config.quantile);
        for i in 0..rows.len() {
            let class: Vec<f64> = (0..rows.len()).filter(|&j| rows[j].1 == rows[i].1).map(|j| margins[j]).collect();
            let tau = if class.len() >= 8 { naive::tau(&class, config.alpha, config.quantile) } else { whole };
            let weight = fade + (1.0 - fade) * naive::weight(margins[i], tau.min(0.0), config.temperature);
            prop_assert!((0.0..=1.0).contains(&found.weights[i]));
            prop_assert!((f64::from(found.weights[i]) - weight).abs() < 1e-5, "{} against {weight}", found.weights[i]);
        }
    }

    #[test]
    fn labels_beyond_doubt_weigh_exactly_one(rows in rows(), weighted in any::<bool>()) {
        let mut rows = rows;
        for (p, label, _) in &mut rows {
            *label = (0..CLASSES).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap() as u32;
        }
        let found = weigh(OUT_OF_SAMPLE, &rows, weighted);
        prop_assert_eq!(found.fade, 1.0);
        prop_assert!(found.weights.iter().all(|&w| w == 1.0));
    }

    #[test]
    fn a_row_keeps_its_weight_in_any_order(rows in rows(), turn in 0usize..60) {
        let turn = turn % rows.len();
        let mut turned = rows.clone();
        turned.rotate_left(turn);
        let (mut a, b) = (weigh(OUT_OF_SAMPLE, &rows, false), weigh(OUT_OF_SAMPLE, &turned, false));
        a.weights.rotate_left(turn);
        a.margins.rotate_left(turn);
        prop_assert_eq!(a.weights, b.weights);
        prop_assert_eq!(a.margins, b.margins);
    }

    #[test]
    fn a_label_that_is_believed_more_never_weighs_less(rows in rows(), config in configs()) {
        let found = weigh(config, &rows, false);
        for i in 0..rows.len() {
            for j in 0..rows.len() {
                if rows[i].1 == rows[j].1 && found.margins[i] < found.margins[j] {
                    prop_assert!(found.weights[i] <= found.weights[j]);
                }
            }
        }
    }
}

#[test]
fn rows_of_a_single_class_are_weighed() {
    let rows: Rows = (0..10).map(|i| (vec![0.1 * i as f32, 1.0 - 0.1 * i as f32, 0.0, 0.0], 0, 1.0)).collect();
    let found = weigh(EnvelopeConfig { fade: None, ..OUT_OF_SAMPLE }, &rows, false);
    assert!(found.weights.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(found.rivals.iter().all(|&rival| rival == 1));
}

#[test]
fn what_is_no_probability_is_refused_by_row() {
    let refused = |numbers: &[f32], labels: &[u32], weights: Option<&[f32]>| {
        let envelope = OUT_OF_SAMPLE.validate().unwrap();
        out_of_sample_weights(&envelope, Matrix::new(numbers, 2).unwrap(), labels, weights).unwrap_err()
    };
    let bad = [0.5, 0.5, f32::NAN, 0.5];
    assert!(matches!(refused(&bad, &[0, 1], None), Error::NonFinite { row: 1, column: 0, .. }));
    assert!(matches!(refused(&[0.5, 0.5, 0.2, 0.5], &[0, 1], None), Error::RowSum { row: 1, .. }));
    assert!(matches!(refused(&[0.5, 0.5, -0.5, 1.5], &[0, 1], None), Error::Probability { row: 1, column: 0, .. }));
    assert!(matches!(refused(&[0.5, 0.5], &[2], None), Error::Label { row: 0, label: 2, classes: 2 }));
    assert!(matches!(refused(&[0.5, 0.5], &[0, 1], None), Error::Shape { expected: 1, found: 2, .. }));
    assert!(matches!(refused(&[0.5, 0.5], &[0], Some(&[-1.0])), Error::Value { row: 0, .. }));
    assert!(matches!(refused(&[], &[], None), Error::Empty { .. }));
    let one = out_of_sample_weights(&OUT_OF_SAMPLE.validate().unwrap(), Matrix::new(&[1.0], 1).unwrap(), &[0], None);
    assert!(one.unwrap_err().to_string().contains("classes = 1"));
    let logit = EnvelopeConfig { margin: MarginKind::Logit, fade: None, filter_base: false, ..OUT_OF_SAMPLE };
    let found = out_of_sample_weights(&logit.validate().unwrap(), Matrix::new(&[0.5, 0.5], 2).unwrap(), &[0], None);
    assert!(found.unwrap_err().to_string().contains("margin probability"));
}
