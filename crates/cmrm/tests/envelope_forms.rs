//! Filters, scopes, ceilings and scales beyond the paper's form: thresholds by their definition, slopes against finite
//! differences. Thresholds, a hard filter's choice and the share in doubt have no gradient, so they are held.

mod naive;

use cmrm::envelope::{
    EnvelopeConfig, Filter, MarginKind, Normaliser, Preset, QuantileKind, Scale, Scope, Start, couple,
};
use cmrm::loss::LossConfig;
use proptest::prelude::*;
use proptest::sample::select;

fn paper() -> EnvelopeConfig {
    Preset::Paper.config(&LossConfig::CrossEntropy)
}

fn configs() -> impl Strategy<Value = EnvelopeConfig> {
    let forms = (
        select(vec![Filter::Soft, Filter::Hard, Filter::Off]),
        select(vec![Scope::Batch, Scope::Class]),
        select(vec![None, Some(0.0), Some(-0.3), Some(0.6)]),
        select(vec![Scale::Fixed, Scale::Doubt]),
        select(vec![Normaliser::Mean, Normaliser::Weights]),
        select(vec![QuantileKind::Conformal, QuantileKind::Interpolated]),
    );
    (0.05..0.95f64, 0.1..2.0f64, forms).prop_map(
        |(alpha, temperature, (filter, scope, ceiling, scale, normaliser, quantile))| EnvelopeConfig {
            alpha,
            temperature,
            filter,
            scope,
            ceiling,
            scale,
            normaliser,
            quantile,
            ..paper()
        },
    )
}

/// Margin, label and weight of each row; enough rows that classes are on both sides of the least number of rows.
fn rows() -> impl Strategy<Value = Vec<(f64, u32, f64)>> {
    let weight = prop_oneof![1 => Just(0.0), 6 => 0.1..2.0f64];
    let row = (-1.0..1.0f64, select(vec![0u32, 0, 0, 1, 1, 5]), weight);
    proptest::collection::vec(row, 1..60).prop_filter("no row has a weight", |rows| rows.iter().any(|r| r.2 > 0.0))
}

/// The threshold of every row, by its definition.
fn thresholds(config: &EnvelopeConfig, margins: &[f64], labels: &[u32]) -> Vec<f64> {
    let whole = naive::tau(margins, config.alpha, config.quantile);
    let of_row = |label: u32| {
        let class: Vec<f64> = (0..margins.len()).filter(|&i| labels[i] == label).map(|i| margins[i]).collect();
        let own = config.scope == Scope::Class && class.len() >= 8;
        let tau = if own { naive::tau(&class, config.alpha, config.quantile) } else { whole };
        config.ceiling.map_or(tau, |ceiling| tau.min(ceiling))
    };
    labels.iter().map(|&label| of_row(label)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn risk_and_slopes_are_those_of_the_formula(rows in rows(), config in configs(), weighted in any::<bool>()) {
        let margins: Vec<f64> = rows.iter().map(|r| r.0).collect();
        let labels: Vec<u32> = rows.iter().map(|r| r.1).collect();
        let v: Vec<f64> = rows.iter().map(|r| if weighted { r.2 } else { 1.0 }).collect();
        let (mut weights, mut slopes) = (vec![f64::NAN; v.len()], vec![f64::NAN; v.len()]);
        let envelope = config.validate().unwrap();
        let given = weighted.then_some(&v[..]);
        let (tau, risk) = couple(&envelope, &margins, &labels, given, &mut weights, &mut slopes, &mut Vec::new());

        let taus = thresholds(&config, &margins, &labels);
        let mean_tau = taus.iter().sum::<f64>() / taus.len() as f64;
        prop_assert!((tau - mean_tau).abs() < 1e-12, "tau {tau}, expected {mean_tau}");
        let held: Vec<f64> = (0..v.len()).map(|i| f64::from(u8::from(margins[i] >= taus[i]))).collect();
        let weight = |i: usize, margin: f64| match config.filter {
            Filter::Soft => naive::weight(margin, taus[i], config.temperature),
            Filter::Hard => held[i],
            Filter::Off => 1.0,
        };
        let all: f64 = v.iter().sum();
        let doubted: f64 = (0..v.len()).filter(|&i| margins[i] < 0.0).map(|i| v[i]).sum();
        let scale = if config.scale == Scale::Doubt { doubted / all } else { 1.0 };
        let expected = |margins: &[f64]| {
            let above: f64 = (0..v.len()).map(|i| v[i] * weight(i, margins[i]) * margins[i]).sum();
            let below: f64 = match config.normaliser {
                Normaliser::Mean => all,
                Normaliser::Weights => (0..v.len()).map(|i| v[i] * weight(i, margins[i])).sum(),
            };
            // Rows that are left may all be without weight; then there is no risk.
            if below > 0.0 { -scale * above / below } else { 0.0 }
        };
        prop_assert!((risk - expected(&margins)).abs() < 1e-10, "{config:?}: {risk}, expected {}", expected(&margins));
        for i in 0..v.len() {
            prop_assert!((weights[i] - weight(i, margins[i])).abs() < 1e-12);
            let mut moved = margins.clone();
            let slope = naive::derivative(1e-3 * config.temperature, |step| {
                moved[i] = margins[i] + step;
                expected(&moved)
            });
            prop_assert!((slopes[i] - slope).abs() < 1e-7, "{config:?}, row {i}: {}, differences {slope}", slopes[i]);
        }
    }
}

#[test]
fn labels_that_are_all_predicted_leave_nothing_to_scale() {
    let config = EnvelopeConfig { scale: Scale::Doubt, ..paper() };
    let (mut weights, mut slopes) = ([0.0f64; 4], [1.0; 4]);
    let margins = [0.9, 0.8, 0.2, 0.5];
    let (_, risk) =
        couple(&config.validate().unwrap(), &margins, &[0, 1, 0, 1], None, &mut weights, &mut slopes, &mut Vec::new());
    assert_eq!(risk, 0.0);
    assert!(slopes.iter().all(|&slope| slope == 0.0), "{slopes:?}");
}

#[test]
fn no_class_is_filtered_out_as_a_whole() {
    // Ten rows of the rare class lie below all ninety of the common one.
    let margins: Vec<f64> =
        (0..100).map(|i| if i < 10 { -0.9 + 0.01 * i as f64 } else { 0.1 + 0.005 * i as f64 }).collect();
    let labels: Vec<u32> = (0..100).map(|i| u32::from(i >= 10)).collect();
    let trusted = |scope: Scope| {
        let config = EnvelopeConfig { alpha: 0.3, scope, filter: Filter::Hard, ..paper() };
        let (mut weights, mut slopes) = (vec![0.0; 100], vec![0.0; 100]);
        couple(&config.validate().unwrap(), &margins, &labels, None, &mut weights, &mut slopes, &mut Vec::new());
        weights[..10].iter().sum::<f64>()
    };
    assert_eq!(trusted(Scope::Batch), 0.0);
    assert_eq!(trusted(Scope::Class), 7.0);
}

#[test]
fn settings_from_before_these_forms_mean_the_papers() {
    let old = r#"{"lambda":0.1,"alpha":0.15,"temperature":1.0,"margin":"probability","quantile":"conformal",
        "normaliser":"mean","start":{"fraction":0.0},"fresh_optimiser":false}"#;
    assert_eq!(serde_json::from_str::<EnvelopeConfig>(old).unwrap(), paper());
    let text = serde_json::to_string(&EnvelopeConfig {
        filter: Filter::Hard,
        scope: Scope::Class,
        ceiling: Some(0.0),
        scale: Scale::Doubt,
        ..paper()
    });
    let back: EnvelopeConfig = serde_json::from_str(&text.unwrap()).unwrap();
    assert_eq!(
        (back.filter, back.scope, back.ceiling, back.scale),
        (Filter::Hard, Scope::Class, Some(0.0), Scale::Doubt)
    );
}

#[test]
fn forms_that_make_no_sense_are_refused() {
    for bad in [
        EnvelopeConfig { ceiling: Some(f64::NAN), ..paper() },
        EnvelopeConfig { ceiling: Some(f64::INFINITY), ..paper() },
        EnvelopeConfig { scale: Scale::Doubt, margin: MarginKind::Loss, ..paper() },
        EnvelopeConfig { start: Start::Fraction(1.5), ..paper() },
    ] {
        assert!(bad.validate().is_err(), "{bad:?}");
    }
}
