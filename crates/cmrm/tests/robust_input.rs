//! Bad input is refused with the row and the number; extreme input gives finite numbers or such an error; nothing
//! panics.

use cmrm::envelope::binary::{BinaryConfig, BinaryObjective, BinaryScratch};
use cmrm::envelope::{
    Batch, EnvelopeConfig, MarginKind, Normaliser, Objective, Outcome, Preset, QuantileKind, Scale, Scope, Scratch,
};
use cmrm::loss::{BaseLoss, LearnedTransition, LossConfig, VolMin};
use cmrm::noise_model::Transition;
use cmrm::{Error, Matrix, Result, Scalar};
use proptest::prelude::*;
use proptest::sample::select;

/// Every loss, with ordinary and with extreme parameters.
fn losses(classes: usize) -> Vec<(LossConfig, BaseLoss)> {
    let counts: Vec<f64> = (0..classes).map(|j| (j * j) as f64).collect();
    let mut configs = vec![LossConfig::CrossEntropy, LossConfig::Hinge];
    configs.extend([0.0, 0.1, 0.5, 1.0, 2.0, 7.5, 1e30].map(|gamma| LossConfig::Focal { gamma }));
    configs.extend([1e-9, 0.1, 0.7, 1.0].map(|q| LossConfig::Gce { q }));
    configs.extend([(0.1, 1.0), (0.0, 1.0), (1.0, 0.0)].map(|(alpha, beta)| LossConfig::Sce { alpha, beta }));
    configs.extend([0.0, 1e-9, 0.1, 0.999].map(|epsilon| LossConfig::LabelSmoothing { epsilon }));
    configs.extend([0.0, 3.0].map(|lambda| LossConfig::Elr { lambda, beta: 0.7 }));
    configs.extend([(1.0, 1.0), (0.0, 1.0), (10.0, 0.1), (1.0, 0.0)].map(|(a, b)| LossConfig::Apl { a, b }));
    configs.extend([0.0, 1.0, 2.0].map(|beta| LossConfig::Cores { beta }));
    configs.extend([0.2, 1.0].map(|beta| LossConfig::BootstrapSoft { beta }));
    configs.extend([0.2, 1.0].map(|beta| LossConfig::BootstrapHard { beta }));
    configs.extend(
        [(0.5, 30.0), (0.0, 1.0), (1.0, 64.0), (0.06, 1000.0), (0.5, 1e-3)]
            .map(|(max_margin, scale)| LossConfig::Ldam { max_margin, scale }),
    );
    if classes == 2 {
        configs.push(LossConfig::Logistic);
    }
    let plain = configs.into_iter().map(|config| (config, config.validate(&counts).unwrap()));
    let corrected = transitions(classes).into_iter().flat_map(|transition| {
        [LossConfig::Forward, LossConfig::Backward]
            .map(|config| (config, config.validate_with(&counts, Some(&transition)).unwrap()))
    });
    plain.chain(corrected).collect()
}

/// No noise, noise of all classes alike, and every class taken for the next one alone, so that the other entries are zero.
fn transitions(classes: usize) -> [Transition; 3] {
    let next = |at: usize| match (at % classes + classes - at / classes) % classes {
        0 => 0.7,
        1 => 0.3,
        _ => 0.0,
    };
    let next: Vec<f64> = (0..classes * classes).map(next).collect();
    let uniform = |rate| Transition::uniform(classes, rate).unwrap();
    [uniform(0.0), uniform(0.3), Transition::new(Matrix::new(&next, classes).unwrap()).unwrap()]
}

fn envelopes() -> Vec<EnvelopeConfig> {
    let mut all = Vec::new();
    for margin in [MarginKind::Probability, MarginKind::Logit, MarginKind::Loss] {
        for quantile in [QuantileKind::Conformal, QuantileKind::Interpolated] {
            for normaliser in [Normaliser::Mean, Normaliser::Weights] {
                for (lambda, temperature) in [(0.1, 1.0), (3.0, 0.05)] {
                    let preset = Preset::Robust.config(&LossConfig::CrossEntropy);
                    let filtered = EnvelopeConfig { lambda, temperature, margin, quantile, normaliser, ..preset };
                    let form = EnvelopeConfig { filter_base: false, running: None, fade: None, ..filtered };
                    all.push(EnvelopeConfig { scope: Scope::Batch, ceiling: None, scale: Scale::Fixed, ..form });
                    // The negative loss has no sign to doubt by.
                    if margin != MarginKind::Loss {
                        all.push(form);
                    }
                    // The filter on the base loss reads margins of probabilities.
                    if margin == MarginKind::Probability {
                        all.push(filtered);
                    }
                }
            }
        }
    }
    all
}

fn evaluate<T: Scalar>(
    loss: &BaseLoss,
    config: Option<EnvelopeConfig>,
    classes: usize,
    logits: &[T],
    labels: &[u32],
    row_weights: Option<&[T]>,
) -> Result<(Outcome<T>, Vec<T>)> {
    let envelope = config.map(|config| config.validate().unwrap());
    let mut grad = vec![T::ZERO; logits.len()];
    let mut scratch = Scratch::default();
    let batch = Batch::new(Matrix::new(logits, classes)?, labels).with_row_weights(row_weights);
    let outcome = Objective { loss, envelope }.evaluate(&batch, &mut grad, &mut scratch)?;
    let finite = |values: &[T]| values.iter().all(|v| v.is_finite());
    assert!(finite(scratch.margins()), "margins {:?}", scratch.margins());
    assert!(scratch.weights().iter().all(|w| (0.0..=1.0).contains(&w.to_f64())), "weights {:?}", scratch.weights());
    Ok((outcome, grad))
}

/// Finite numbers, or an error that names a number that is not.
fn sound<T: Scalar>(result: Result<(Outcome<T>, Vec<T>)>, finite_input: bool) -> Result<(), TestCaseError> {
    match result {
        Ok((outcome, grad)) => {
            prop_assert!(finite_input, "non-finite input was accepted");
            prop_assert!(outcome.base.is_finite() && outcome.risk.is_finite() && outcome.total.is_finite());
            prop_assert!(outcome.tau.is_none_or(T::is_finite), "tau {:?}", outcome.tau);
            prop_assert!(grad.iter().all(|g| g.is_finite()), "gradient {grad:?}");
        }
        Err(Error::NonFinite { what, .. }) => {
            prop_assert!(finite_input || what == "logit" || what == "scaled logit", "{what}");
        }
        // Each part is a number, their sum is not.
        Err(Error::Parameter { name: "base loss + lambda · risk", .. }) => prop_assert!(finite_input),
        Err(error) => prop_assert!(false, "{error}"),
    }
    Ok(())
}

/// Evaluates a batch with every loss and envelope.
fn every_form<T: Scalar>(
    classes: usize,
    logits: &[T],
    labels: &[u32],
    row_weights: Option<&[T]>,
) -> Result<(), TestCaseError> {
    let finite = logits.iter().all(|z| z.is_finite());
    for (_, loss) in losses(classes) {
        sound(evaluate(&loss, None, classes, logits, labels, row_weights), finite)?;
        for config in envelopes() {
            sound(evaluate(&loss, Some(config), classes, logits, labels, row_weights), finite)?;
        }
    }
    Ok(())
}

/// Numbers at the edges of single precision, and ordinary ones between them.
fn edges() -> impl Strategy<Value = f32> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        88.0,
        -88.0,
        103.0,
        1e4,
        -1e4,
        1e30,
        1.2e38,
        -1.2e38,
        f32::MAX,
        f32::MIN,
        f32::MAX / 2.0,
        f32::MIN / 2.0,
        f32::MIN_POSITIVE,
        1e-45,
        -1e-45,
        f32::EPSILON,
    ];
    prop_oneof![3 => select(special.to_vec()), 1 => -100.0..100.0f32]
}

fn batches(numbers: impl Strategy<Value = f32> + Clone) -> impl Strategy<Value = (usize, Vec<f32>, Vec<u32>)> {
    (select(vec![2usize, 3, 17, 33]), 1usize..5).prop_flat_map(move |(classes, rows)| {
        (
            Just(classes),
            proptest::collection::vec(numbers.clone(), rows * classes),
            proptest::collection::vec(0..classes as u32, rows),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_bit_pattern_is_computed_or_refused((classes, logits, labels) in batches(any::<u32>().prop_map(f32::from_bits))) {
        every_form(classes, &logits, &labels, None)?;
    }

    #[test]
    fn the_edges_of_single_precision((classes, logits, labels) in batches(edges().boxed())) {
        every_form(classes, &logits, &labels, None)?;
        // The same numbers are nothing special in double precision: none may be refused but for LDAM's wide scale.
        let wide: Vec<f64> = logits.iter().map(|&z| f64::from(z)).collect();
        for (config, loss) in losses(classes) {
            let (outcome, grad) = evaluate(&loss, None, classes, &wide, &labels, None)
                .map_err(|error| TestCaseError::fail(format!("{config:?}: {error}")))?;
            prop_assert!(outcome.base.is_finite() && grad.iter().all(|g| g.is_finite()));
        }
    }

    #[test]
    fn the_edges_of_double_precision(
        (classes, logits, labels) in batches(edges().boxed()),
        exponent in select(vec![-285, -200, 200, 250, 269]),
    ) {
        let wide: Vec<f64> = logits.iter().map(|&z| f64::from(z) * 10f64.powi(exponent)).collect();
        every_form(classes, &wide, &labels, None)?;
    }

    #[test]
    fn row_weights_of_any_size(
        (classes, logits, labels) in batches((-20.0..20.0f32).boxed()),
        weights in proptest::collection::vec(edges().prop_map(f32::abs), 5),
    ) {
        let weights = &weights[..labels.len()];
        prop_assume!(weights.iter().any(|&w| w > 0.0));
        for (config, loss) in losses(classes) {
            for envelope in envelopes() {
                let (outcome, grad) = evaluate(&loss, Some(envelope), classes, &logits, &labels, Some(weights))
                    .map_err(|error| TestCaseError::fail(format!("{config:?} {envelope:?}: {error}")))?;
                prop_assert!(outcome.total.is_finite() && grad.iter().all(|g| g.is_finite()));
            }
        }
    }

    #[test]
    fn logits_of_ten_thousand_are_ordinary((classes, logits, labels) in batches((-1e4..1e4f32).boxed())) {
        for (config, loss) in losses(classes) {
            let refused = |error: Error| TestCaseError::fail(format!("{config:?}: {error}"));
            let wide: Vec<f64> = logits.iter().map(|&z| f64::from(z)).collect();
            let (single, grad) = evaluate(&loss, None, classes, &logits, &labels, None).map_err(refused)?;
            let (double, wide_grad) = evaluate(&loss, None, classes, &wide, &labels, None).map_err(refused)?;
            // Scaling rounds a logit of 1e4; an absurd exponent magnifies the last digit of a probability.
            let (slack, comparable) = match config {
                LossConfig::Ldam { scale, .. } => (2e-3 * scale, true),
                LossConfig::Focal { gamma } => (0.0, gamma <= 10.0),
                // One minus a target of 0.9999 has four digits left.
                LossConfig::Elr { lambda, .. } => (1e-3 * lambda, true),
                _ => (0.0, true),
            };
            let near = |a: f64, b: f64| !comparable || (a - b).abs() <= 1e-5 * (1.0 + b.abs()) + slack;
            prop_assert!(near(single.base, double.base), "{config:?}: {} {}", single.base, double.base);
            prop_assert!(grad.iter().all(|g| g.is_finite()) && wide_grad.iter().all(|g| g.is_finite()));
            for envelope in envelopes() {
                evaluate(&loss, Some(envelope), classes, &logits, &labels, None).map_err(refused)?;
                evaluate(&loss, Some(envelope), classes, &wide, &labels, None).map_err(refused)?;
            }
        }
    }

    #[test]
    fn binary_scores_of_any_bit_pattern(
        rows in proptest::collection::vec((prop_oneof![any::<u32>().prop_map(f32::from_bits), edges()], 0u32..2), 1..6),
        authors in any::<bool>(),
    ) {
        let scores: Vec<f32> = rows.iter().map(|r| r.0).collect();
        let labels: Vec<u32> = rows.iter().map(|r| r.1).collect();
        let config = if authors { BinaryConfig::authors(1.0, 2.0, 0.3, 0.4) } else { BinaryConfig::paper(1.0, 2.0, 0.3, 0.4) };
        for (name, loss) in losses(2) {
            let objective = BinaryObjective { loss, envelope: Some(config.validate().unwrap()) };
            let mut grad = vec![0.0; scores.len()];
            match objective.evaluate(&scores, &labels, None, &mut grad, &mut BinaryScratch::default()) {
                Ok(outcome) => {
                    prop_assert!(scores.iter().all(|t| t.is_finite()));
                    prop_assert!(outcome.total.is_finite() && grad.iter().all(|g| g.is_finite()), "{name:?} {grad:?}");
                }
                Err(Error::NonFinite { row, .. }) => prop_assert!(row < scores.len()),
                Err(error) => prop_assert!(false, "{name:?}: {error}"),
            }
        }
    }
}

fn cross_entropy() -> BaseLoss {
    LossConfig::CrossEntropy.validate(&[]).unwrap()
}

/// The message of the error that a batch of three classes gives.
fn refusal(logits: &[f64], labels: &[u32], row_weights: Option<&[f64]>) -> String {
    evaluate(&cross_entropy(), None, 3, logits, labels, row_weights).unwrap_err().to_string()
}

#[test]
fn errors_name_the_row_and_both_numbers() {
    let logits = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for (bad, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let mut logits = logits;
        logits[5] = bad;
        let expected = format!("logit at row 1, column 2 is {text}; only finite numbers are allowed");
        assert_eq!(refusal(&logits, &[0, 1], None), expected);
        assert_eq!(refusal(&logits, &[0, 2], None), expected);
    }
    assert_eq!(refusal(&logits, &[0, 7], None), "row 1: label 7 is not below the number of classes 3");
    assert_eq!(refusal(&logits, &[0, u32::MAX], None), "row 1: label 4294967295 is not below the number of classes 3");
    assert_eq!(refusal(&[], &[], None), "the batch is empty; at least one row is needed");
    assert_eq!(refusal(&logits, &[0], None), "labels against rows of logits: expected 2, found 1");
    assert_eq!(refusal(&logits[..5], &[0, 1], None), "numbers in the last row of a matrix: expected 3, found 2");
    assert_eq!(refusal(&logits, &[0, 1], Some(&[1.0])), "row weights against rows: expected 2, found 1");
    for (bad, text) in [(-0.5, "-0.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let expected = format!("row weight at row 1 is {text}: expected a finite number, at least 0");
        assert_eq!(refusal(&logits, &[0, 1], Some(&[1.0, bad])), expected);
    }
    assert_eq!(
        refusal(&logits, &[0, 1], Some(&[0.0, 0.0])),
        "sum of the row weights = 0 is out of range: expected a finite positive number"
    );
    assert!(refusal(&logits, &[0, 1], Some(&[f64::MAX, f64::MAX])).starts_with("sum of the row weights = inf"));
}

#[test]
fn shapes_that_no_loss_can_use_are_refused() {
    let single_class = evaluate(&cross_entropy(), None, 1, &[1.0, 2.0], &[0, 0], None).unwrap_err();
    assert_eq!(single_class.to_string(), "classes = 1 is out of range: expected at least two classes");
    assert!(evaluate::<f64>(&cross_entropy(), None, 0, &[], &[], None).is_err());
    let logistic = LossConfig::Logistic.validate(&[]).unwrap();
    let error = evaluate(&logistic, None, 3, &[1.0, 2.0, 3.0], &[0], None).unwrap_err();
    assert_eq!(error, Error::Shape { what: "classes of the logistic loss", expected: 2, found: 3 });
    let ldam = LossConfig::Ldam { max_margin: 0.5, scale: 30.0 }.validate(&[1.0, 2.0]).unwrap();
    let error = evaluate(&ldam, None, 3, &[1.0, 2.0, 3.0], &[0], None).unwrap_err();
    assert_eq!(error, Error::Shape { what: "class counts of LDAM against classes", expected: 3, found: 2 });
    let cores = LossConfig::Cores { beta: 1.0 }.validate(&[1.0, 2.0]).unwrap();
    let error = evaluate(&cores, None, 3, &[1.0, 2.0, 3.0], &[0], None).unwrap_err();
    assert_eq!(error, Error::Shape { what: "class counts of cores against classes", expected: 3, found: 2 });
    for config in [LossConfig::Forward, LossConfig::Backward] {
        let loss = config.validate_with(&[], Some(&Transition::uniform(2, 0.1).unwrap())).unwrap();
        let error = evaluate(&loss, None, 3, &[1.0, 2.0, 3.0], &[0], None).unwrap_err();
        let what = "classes of the transition matrix against classes";
        assert_eq!(error, Error::Shape { what, expected: 3, found: 2 });
        let error = config.validate(&[1.0, 2.0]).unwrap_err().to_string();
        assert_eq!(error, format!("transition matrix: the loss {} needs one; none was given", config.name()));
    }

    let objective = Objective::base(cross_entropy());
    let logits = [1.0, 2.0, 3.0, 4.0];
    let batch = Batch::new(Matrix::new(&logits, 2).unwrap(), &[0, 1]);
    let error = objective.evaluate(&batch, &mut [0.0; 3], &mut Scratch::default()).unwrap_err();
    assert_eq!(error, Error::Shape { what: "gradient against logits", expected: 4, found: 3 });
}

#[test]
fn parameters_outside_their_range_are_refused() {
    let good = Preset::Robust.config(&LossConfig::CrossEntropy);
    for alpha in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        let error = EnvelopeConfig { alpha, ..good }.validate().unwrap_err().to_string();
        assert_eq!(error, format!("alpha = {alpha} is out of range: expected a number strictly inside (0, 1)"));
        assert!(BinaryConfig::paper(1.0, 1.0, alpha, 0.5).validate().is_err());
        assert!(BinaryConfig::paper(1.0, 1.0, 0.5, alpha).validate().is_err());
    }
    for temperature in [0.0, -1.0, 1e-31, f64::NAN, f64::INFINITY] {
        assert!(EnvelopeConfig { temperature, ..good }.validate().is_err(), "{temperature}");
    }
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(EnvelopeConfig { lambda: bad, ..good }.validate().is_err());
        assert!(BinaryConfig::paper(bad, 1.0, 0.5, 0.5).validate().is_err());
        assert!(LossConfig::Focal { gamma: bad }.validate(&[]).is_err());
        assert!(LossConfig::Gce { q: bad }.validate(&[]).is_err());
        assert!(LossConfig::Sce { alpha: bad, beta: 1.0 }.validate(&[]).is_err());
        assert!(LossConfig::Sce { alpha: 0.1, beta: bad }.validate(&[]).is_err());
        assert!(LossConfig::LabelSmoothing { epsilon: bad }.validate(&[]).is_err());
        assert!(LossConfig::Elr { lambda: bad, beta: 0.7 }.validate(&[]).is_err());
        assert!(LossConfig::Elr { lambda: 3.0, beta: bad }.validate(&[]).is_err());
        assert!(LossConfig::Apl { a: bad, b: 1.0 }.validate(&[]).is_err());
        assert!(LossConfig::Apl { a: 1.0, b: bad }.validate(&[]).is_err());
        assert!(LossConfig::Cores { beta: bad }.validate(&[1.0]).is_err());
        assert!(LossConfig::Cores { beta: 1.0 }.validate(&[1.0, bad]).is_err());
        assert!(LossConfig::BootstrapSoft { beta: bad }.validate(&[]).is_err());
        assert!(LossConfig::BootstrapHard { beta: bad }.validate(&[]).is_err());
        assert!(VolMin::new(bad, Transition::uniform(2, 0.1).unwrap()).is_err());
        assert!(LearnedTransition::new(3, bad).is_err());
        assert!(LossConfig::Ldam { max_margin: bad, scale: 30.0 }.validate(&[1.0]).is_err());
        assert!(LossConfig::Ldam { max_margin: 0.5, scale: bad }.validate(&[1.0]).is_err());
        assert!(LossConfig::Ldam { max_margin: 0.5, scale: 30.0 }.validate(&[1.0, bad]).is_err());
    }
    assert!(LossConfig::Gce { q: 0.0 }.validate(&[]).is_err());
    assert!(LossConfig::Sce { alpha: 0.0, beta: 0.0 }.validate(&[]).is_err());
    assert!(LossConfig::LabelSmoothing { epsilon: 1.0 }.validate(&[]).is_err());
    assert!(LossConfig::Apl { a: 0.0, b: 0.0 }.validate(&[]).is_err());
    assert!(LossConfig::BootstrapSoft { beta: 0.0 }.validate(&[]).is_err());
    assert!(LossConfig::BootstrapHard { beta: 1.1 }.validate(&[]).is_err());
    assert!(
        LossConfig::Cores { beta: 1.0 }.validate(&[0.0, 0.0]).is_err()
            && LossConfig::Cores { beta: 1.0 }.validate(&[]).is_err()
    );
    assert!(LossConfig::Ldam { max_margin: 0.5, scale: 30.0 }.validate(&[]).is_err());
    let error = LossConfig::Ldam { max_margin: 1.0, scale: 65.0 }.validate(&[1.0]).unwrap_err().to_string();
    assert_eq!(error, "scale · max_margin = 65 is out of range: expected at most 64");
}

#[test]
fn parameters_too_large_for_the_number_type_are_refused_when_they_meet_it() {
    let huge = EnvelopeConfig { lambda: 1e300, ..Preset::Paper.config(&LossConfig::CrossEntropy) };
    let logits = [1.0f32, 2.0, 0.5, -1.0];
    let result = evaluate(&cross_entropy(), Some(huge), 2, &logits, &[0, 1], None);
    assert!(matches!(result, Err(Error::NonFinite { what: "gradient", row: 0, .. })), "{result:?}");
    let focal = LossConfig::Focal { gamma: 1e39 }.validate(&[]).unwrap();
    let result = evaluate(&focal, None, 2, &logits, &[0, 1], None);
    assert!(matches!(result, Err(Error::NonFinite { row: 0, .. })), "{result:?}");
}

#[test]
fn binary_input_is_refused_likewise() {
    let objective = BinaryObjective { loss: cross_entropy(), envelope: None };
    let refusal = |scores: &[f64], labels: &[u32], weights: Option<&[f64]>, grad: usize| {
        let mut grad = vec![0.0; grad];
        objective.evaluate(scores, labels, weights, &mut grad, &mut BinaryScratch::default()).unwrap_err().to_string()
    };
    assert_eq!(refusal(&[], &[], None, 0), "the batch is empty; at least one row is needed");
    assert_eq!(refusal(&[1.0, 2.0], &[0], None, 2), "labels against scores: expected 2, found 1");
    assert_eq!(refusal(&[1.0, 2.0], &[0, 1], None, 1), "gradient against scores: expected 2, found 1");
    assert_eq!(refusal(&[1.0, 2.0], &[0, 2], None, 2), "row 1: label 2 is not below the number of classes 2");
    assert!(refusal(&[1.0, f64::NAN], &[0, 1], None, 2).starts_with("score at row 1, column 0 is NaN"));
    assert!(refusal(&[1.0, 2.0], &[0, 1], Some(&[1.0, -2.0]), 2).starts_with("row weight at row 1 is -2"));
}

/// The widest class offset that is allowed costs neither digits nor range.
#[test]
fn a_wide_ldam_offset_keeps_the_loss() {
    let ldam = LossConfig::Ldam { max_margin: 0.64, scale: 100.0 }.validate(&[1.0, 1.0]).unwrap();
    // Scaled logits 50 and 0, offset 64: the label is behind by 14.
    let (single, grad) = evaluate(&ldam, None, 2, &[0.5f32, 0.0], &[0], None).unwrap();
    let expected = 14.0 + (-14.0f64).exp().ln_1p();
    assert!((single.base - expected).abs() < 1e-5, "{single:?}");
    assert!((grad[0] + 100.0).abs() < 1e-3 && (grad[1] - 100.0).abs() < 1e-3, "{grad:?}");
    let (double, _) = evaluate(&ldam, None, 2, &[0.5f64, 0.0], &[0], None).unwrap();
    assert!((double.base - expected).abs() < 1e-13, "{double:?}");
}

/// Losses of rows that are almost certain keep their digits.
#[test]
fn a_learned_row_has_a_small_loss_not_a_zero_loss() {
    let odds = (-18.0f64).exp();
    for (config, expected) in [
        (LossConfig::CrossEntropy, odds.ln_1p()),
        (LossConfig::Gce { q: 0.7 }, -(-0.7 * odds.ln_1p()).exp_m1() / 0.7),
        (LossConfig::Sce { alpha: 0.1, beta: 1.0 }, 0.1 * odds.ln_1p() + 4.0 * odds / (1.0 + odds)),
        (LossConfig::Focal { gamma: 0.5 }, (odds / (1.0 + odds)).sqrt() * odds.ln_1p()),
    ] {
        let loss = config.validate(&[]).unwrap();
        let (double, _) = evaluate(&loss, None, 2, &[18.0f64, 0.0], &[0], None).unwrap();
        assert!((double.base / expected - 1.0).abs() < 1e-12, "{config:?}: {} {expected}", double.base);
        let (single, _) = evaluate(&loss, None, 2, &[18.0f32, 0.0], &[0], None).unwrap();
        assert!((single.base / expected - 1.0).abs() < 1e-6, "{config:?}: {} {expected}", single.base);
    }
}

#[test]
fn strides_that_do_not_fit_are_refused() {
    let objective = Objective::base(cross_entropy());
    let logits = [1.0, 2.0, f64::NAN, 3.0, 4.0, f64::NAN, 5.0, 6.0];
    let evaluate = |classes: usize, stride: usize, labels: &[u32]| {
        let mut grad = [9.0; 8];
        let batch = Batch::strided(&logits, classes, stride, labels);
        objective.evaluate(&batch, &mut grad, &mut Scratch::default()).map(|_| grad)
    };
    // What lies between the rows is neither read nor written.
    let grad = evaluate(2, 3, &[0, 1, 0]).unwrap();
    assert_eq!((grad[2], grad[5]), (9.0, 9.0));
    assert!([0, 1, 3, 4, 6, 7].iter().all(|&j| grad[j].abs() < 1.0));
    let short = Error::Shape { what: "numbers in strided logits", expected: 11, found: 8 };
    assert_eq!(evaluate(2, 3, &[0, 1, 0, 1]).unwrap_err(), short);
    for (classes, stride) in [(2, 1), (2, 0), (1, 3), (0, 0), (0, 3), (9, 9), (usize::MAX, usize::MAX)] {
        assert!(evaluate(classes, stride, &[0, 0]).is_err(), "{classes} {stride}");
    }
    for stride in [usize::MAX, usize::MAX / 2, usize::MAX / 2 + 1] {
        assert!(evaluate(2, stride, &[0, 1, 0]).is_err(), "{stride}");
    }
}
