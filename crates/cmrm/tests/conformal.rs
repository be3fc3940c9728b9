//! Prediction sets against reference values, their definition, and the promised coverage.

use cmrm::conformal::{
    CalibrationSplit, ConformalConfig, EmptySets, PredictionSets, RepeatConfig, ScoreKind, SetPredictor, ThresholdKind,
    Thresholds, draw_uniforms, evaluate, repeat_splits,
};
use cmrm::rng::Rng;
use cmrm::{Error, Matrix};
use proptest::prelude::*;
use serde::Deserialize;

const SCORES: [ScoreKind; 4] = [ScoreKind::Lac, ScoreKind::Aps, ScoreKind::ApsRandomised, ScoreKind::Raps];

#[derive(Deserialize)]
struct Record {
    coverage: f64,
    probabilities: Vec<Vec<f64>>,
    labels: Vec<u32>,
    uniforms: Vec<f64>,
    calibration_rows: usize,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    score: ScoreKind,
    threshold: f64,
    mean_size: f64,
    coverage: f64,
    sizes: Vec<usize>,
}

#[test]
fn every_reference_case_holds() {
    let records: Vec<Record> = serde_json::from_str(include_str!("fixtures/sets.json")).unwrap();
    let mut checked = 0;
    for record in &records {
        let classes = record.probabilities[0].len();
        let values = record.probabilities.concat();
        let n = record.calibration_rows;
        let (calibration, test) = values.split_at(n * classes);
        for case in &record.cases {
            let config = ConformalConfig { coverage: record.coverage, score: case.score, ..Default::default() };
            let conformal = config.validate().unwrap();
            let calibration = Matrix::new(calibration, classes).unwrap();
            let predictor = conformal.calibrate(calibration, &record.labels[..n], &record.uniforms[..n]).unwrap();
            let Thresholds::Marginal(threshold) = predictor.thresholds else { panic!("expected one threshold") };
            assert!((threshold - case.threshold).abs() <= 1e-9, "{threshold} {}", case.threshold);
            let sets = predictor.predict(Matrix::new(test, classes).unwrap(), &record.uniforms[n..]).unwrap();
            assert_eq!(sets.sizes().collect::<Vec<_>>(), case.sizes);
            let report = evaluate(&sets, &record.labels[n..]).unwrap();
            assert!((report.mean_size - case.mean_size).abs() <= 1e-9);
            assert!((report.coverage - case.coverage).abs() <= 1e-9);
            checked += 1;
        }
    }
    assert_eq!(checked, 20);
}

/// Rows of probabilities that are multiples of 1/256: sums are exact and ties are common.
fn tied_rows(classes: usize, rows: usize, rng: &mut Rng) -> Vec<f64> {
    let mut values = vec![0.0; classes * rows];
    for row in values.chunks_exact_mut(classes) {
        let favourite = rng.below(classes);
        for _ in 0..256 {
            let class = if rng.uniform() < 0.4 { favourite } else { rng.below(classes) };
            row[class] += 1.0 / 256.0;
        }
    }
    values
}

/// The scores as they are defined, without any cleverness.
fn defined_score(config: &ConformalConfig, row: &[f64], class: usize, uniform: f64) -> f64 {
    let larger: Vec<f64> = row.iter().copied().filter(|&p| p > row[class]).collect();
    let above: f64 = larger.iter().sum();
    match config.score {
        ScoreKind::Lac => 1.0 - row[class],
        ScoreKind::Aps => above + row[class],
        ScoreKind::ApsRandomised => above + uniform * row[class],
        ScoreKind::Raps => {
            let late = (larger.len() as f64 + 1.0 - config.raps_free_ranks as f64).max(0.0);
            above + row[class] + config.raps_penalty * late
        }
    }
}

fn defined_threshold(mut scores: Vec<f64>, coverage_percent: usize) -> f64 {
    scores.sort_by(f64::total_cmp);
    let rank = ((scores.len() + 1) * coverage_percent).div_ceil(100);
    scores.get(rank.max(1) - 1).copied().unwrap_or(f64::INFINITY)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn sets_follow_the_definition(
        seed in any::<u64>(), classes in 1usize..130, n in 1usize..60, percent in 1usize..100,
        kind in 0usize..4, per_class in any::<bool>(), fill in any::<bool>(),
    ) {
        let mut rng = Rng::new(seed, 0);
        let calibration = tied_rows(classes, n, &mut rng);
        let test = tied_rows(classes, 20, &mut rng);
        let labels: Vec<u32> = (0..n).map(|_| rng.below(classes) as u32).collect();
        let uniforms = draw_uniforms(n, seed);
        let test_uniforms = draw_uniforms(20, seed ^ 1);
        let config = ConformalConfig {
            coverage: percent as f64 / 100.0,
            score: SCORES[kind],
            thresholds: if per_class { ThresholdKind::PerClass } else { ThresholdKind::Marginal },
            empty_sets: if fill { EmptySets::TopClass } else { EmptySets::Allowed },
            ..Default::default()
        };
        let predictor = config.clone().validate().unwrap()
            .calibrate(Matrix::new(&calibration, classes).unwrap(), &labels, &uniforms).unwrap();
        let sets = predictor.predict(Matrix::new(&test, classes).unwrap(), &test_uniforms).unwrap();
        let mut mask = vec![true; test.len()];
        predictor.predict_mask(Matrix::new(&test, classes).unwrap(), &test_uniforms, &mut mask).unwrap();

        let scores: Vec<f64> = (0..n)
            .map(|i| defined_score(&config, &calibration[i * classes..][..classes], labels[i] as usize, uniforms[i]))
            .collect();
        for i in 0..20 {
            let row = &test[i * classes..][..classes];
            let mut expected: Vec<u32> = (0..classes as u32).filter(|&class| {
                let mine = (0..n).filter(|&j| !per_class || labels[j] == class).map(|j| scores[j]).collect();
                defined_score(&config, row, class as usize, test_uniforms[i]) <= defined_threshold(mine, percent)
            }).collect();
            if expected.is_empty() && fill {
                let top = row.iter().copied().fold(0.0, f64::max);
                expected.push(row.iter().position(|&p| p == top).unwrap() as u32);
            }
            prop_assert_eq!(sets.row(i), &expected[..]);
            let marked: Vec<u32> = (0..classes as u32).filter(|&class| mask[i * classes + class as usize]).collect();
            prop_assert_eq!(sets.row(i), &marked[..]);
        }
    }

    #[test]
    fn order_of_rows_and_numbering_of_classes_do_not_matter(seed in any::<u64>(), kind in 0usize..4, per_class in any::<bool>()) {
        let (classes, n) = (40, 70);
        let mut rng = Rng::new(seed, 0);
        let data = soft_data(classes, n, 2.0, &mut rng);
        let uniforms = draw_uniforms(n, seed);
        let config = ConformalConfig {
            score: SCORES[kind],
            thresholds: if per_class { ThresholdKind::PerClass } else { ThresholdKind::Marginal },
            ..Default::default()
        };
        let conformal = config.validate().unwrap();
        let rows = rng.permutation(n);
        let numbers = rng.permutation(classes);
        let mut moved = vec![0.0; classes * n];
        for (i, &row) in rows.iter().enumerate() {
            for class in 0..classes {
                moved[i * classes + numbers[class]] = data.values[row * classes + class];
            }
        }
        let moved_labels: Vec<u32> = rows.iter().map(|&row| numbers[data.labels[row] as usize] as u32).collect();
        let moved_uniforms: Vec<f64> = rows.iter().map(|&row| uniforms[row]).collect();
        let run = |values: &[f64], labels: &[u32], uniforms: &[f64]| -> (SetPredictor, PredictionSets) {
            let matrix = Matrix::new(values, classes).unwrap();
            let predictor = conformal.calibrate(matrix, labels, uniforms).unwrap();
            let sets = predictor.predict(matrix, uniforms).unwrap();
            (predictor, sets)
        };
        let (before, sets) = run(&data.values, &data.labels, &uniforms);
        let (after, moved_sets) = run(&moved, &moved_labels, &moved_uniforms);
        for class in 0..classes {
            prop_assert_eq!(before.thresholds.of(class as u32), after.thresholds.of(numbers[class] as u32));
        }
        for (i, &row) in rows.iter().enumerate() {
            let mut expected: Vec<u32> = sets.row(row).iter().map(|&class| numbers[class as usize] as u32).collect();
            expected.sort_unstable();
            prop_assert_eq!(moved_sets.row(i), &expected[..]);
        }
    }

    #[test]
    fn no_input_panics(values in prop::collection::vec(any::<f32>(), 0..40), label in any::<u32>(), u in any::<f64>(), kind in 0usize..4) {
        let conformal = ConformalConfig { score: SCORES[kind], ..Default::default() }.validate().unwrap();
        for columns in 1..5 {
            if let Ok(matrix) = Matrix::new(&values, columns) {
                let labels = vec![label % 4; matrix.rows()];
                let uniforms = vec![u; matrix.rows()];
                let _ = conformal.calibrate(matrix, &labels, &uniforms);
                let _ = repeat_splits(&conformal, matrix, &labels, &RepeatConfig::default());
            }
        }
    }
}

struct Data {
    values: Vec<f64>,
    labels: Vec<u32>,
}

impl Data {
    fn matrix(&self, classes: usize) -> Matrix<'_, f64> {
        Matrix::new(&self.values, classes).unwrap()
    }
}

/// Exchangeable rows of an overconfident model: labels are drawn by `exp(z)`, probabilities by `exp(sharpness · z)`.
fn soft_data(classes: usize, rows: usize, sharpness: f64, rng: &mut Rng) -> Data {
    let mut data = Data { values: Vec::new(), labels: Vec::new() };
    for _ in 0..rows {
        let logits: Vec<f64> = (0..classes).map(|_| 1.5 * rng.normal()).collect();
        let softmax = |scale: f64| {
            let total: f64 = logits.iter().map(|z| (scale * z).exp()).sum();
            logits.iter().map(|z| (scale * z).exp() / total).collect::<Vec<f64>>()
        };
        let mut left = rng.uniform();
        let label = softmax(1.0).iter().position(|p| {
            left -= p;
            left < 0.0
        });
        data.labels.push(label.unwrap_or(classes - 1) as u32);
        data.values.extend(softmax(sharpness));
    }
    data
}

#[test]
fn coverage_keeps_its_promise_on_exchangeable_data() {
    let (classes, n, m, trials) = (6, 99, 100, 300);
    for score in SCORES {
        for coverage in [0.8, 0.9] {
            let conformal = ConformalConfig { coverage, score, ..Default::default() }.validate().unwrap();
            let mut rng = Rng::new(7, score as u64);
            let mut total = 0.0;
            for trial in 0..trials {
                let calibration = soft_data(classes, n, 2.0, &mut rng);
                let test = soft_data(classes, m, 2.0, &mut rng);
                let seed = 2 * trial as u64;
                let predictor = conformal
                    .calibrate(calibration.matrix(classes), &calibration.labels, &draw_uniforms(n, seed))
                    .unwrap();
                let sets = predictor.predict(test.matrix(classes), &draw_uniforms(m, seed + 1)).unwrap();
                total += evaluate(&sets, &test.labels).unwrap().coverage;
            }
            let mean = total / trials as f64;
            // Variance of one trial: that of the threshold's coverage (a beta variable) and of m test rows around it.
            let variance = coverage * (1.0 - coverage) * (1.0 / (n as f64 + 2.0) + 1.0 / m as f64);
            let error = 4.0 * (variance / trials as f64).sqrt();
            assert!(mean >= coverage - error, "{score:?} at {coverage}: {mean}");
            // (n+1)·coverage is whole and these scores have no ties, so the coverage is exact as well.
            assert!(mean <= coverage + error, "{score:?} at {coverage}: {mean}");
        }
    }
}

#[test]
fn class_thresholds_cover_every_class_where_one_threshold_does_not() {
    // A rare second class that the model underrates: its probability is pushed down by a constant.
    let biased = |rows: usize, rng: &mut Rng| {
        let mut data = Data { values: Vec::new(), labels: Vec::new() };
        for _ in 0..rows {
            let label = u32::from(rng.uniform() < 0.2);
            let z = rng.normal() + if label == 1 { 1.5 } else { -1.5 } - 2.0;
            let p = 1.0 / (1.0 + (-z).exp());
            data.values.extend([1.0 - p, p]);
            data.labels.push(label);
        }
        data
    };
    let mut means = Vec::new();
    for thresholds in [ThresholdKind::Marginal, ThresholdKind::PerClass] {
        let conformal = ConformalConfig { thresholds, ..Default::default() }.validate().unwrap();
        let mut rng = Rng::new(3, 0);
        let mut sums = [0.0; 2];
        let trials = 200;
        for _ in 0..trials {
            let (calibration, test) = (biased(400, &mut rng), biased(400, &mut rng));
            let predictor = conformal.calibrate(calibration.matrix(2), &calibration.labels, &[]).unwrap();
            let sets = predictor.predict(test.matrix(2), &[]).unwrap();
            for (sum, class) in sums.iter_mut().zip(evaluate(&sets, &test.labels).unwrap().per_class) {
                *sum += class.coverage.unwrap() / trials as f64;
            }
        }
        means.push(sums);
    }
    assert!(means[0][1] < 0.8, "one threshold should fail the rare class: {means:?}");
    // About 80 rows of the rare class in each part, 200 trials: four standard errors.
    let error = 4.0 * (0.09 * 2.0 / 80.0 / 200.0f64).sqrt();
    assert!(means[1][0] >= 0.9 - error && means[1][1] >= 0.9 - error, "{means:?}");
    assert!(means[1][0] <= 0.92 && means[1][1] <= 0.93, "{means:?}");
}

#[test]
fn classes_without_enough_rows_are_in_every_set() {
    let conformal = ConformalConfig { thresholds: ThresholdKind::PerClass, ..Default::default() }.validate().unwrap();
    let values: Vec<f64> = (0..30).flat_map(|_| [0.9, 0.1, 0.0]).collect();
    let mut labels = vec![0; 30];
    labels[29] = 1;
    let predictor = conformal.calibrate(Matrix::new(&values, 3).unwrap(), &labels, &[]).unwrap();
    assert_eq!(predictor.unbounded_classes(), [1, 2]);
    let sets = predictor.predict(Matrix::new(&[0.8, 0.1, 0.1], 3).unwrap(), &[]).unwrap();
    assert_eq!(sets.row(0), [1, 2]);
}

#[test]
fn single_precision_gives_the_sets_of_its_own_numbers() {
    let data = soft_data(30, 300, 2.0, &mut Rng::new(1, 0));
    let narrow: Vec<f32> = data.values.iter().map(|&p| p as f32).collect();
    let widened: Vec<f64> = narrow.iter().map(|&p| p.into()).collect();
    let uniforms = draw_uniforms(300, 0);
    for score in SCORES {
        let conformal = ConformalConfig { score, ..Default::default() }.validate().unwrap();
        let a = Matrix::new(&narrow, 30).unwrap();
        let b = Matrix::new(&widened, 30).unwrap();
        let predictor = conformal.calibrate(a, &data.labels, &uniforms).unwrap();
        assert_eq!(predictor, conformal.calibrate(b, &data.labels, &uniforms).unwrap());
        assert_eq!(predictor.predict(a, &uniforms).unwrap(), predictor.predict(b, &uniforms).unwrap());
    }
}

#[test]
fn report_counts_by_hand() {
    let conformal = ConformalConfig { coverage: 0.5, ..Default::default() }.validate().unwrap();
    // One calibration row: the threshold is its score, 1 − 0.6.
    let predictor = conformal.calibrate(Matrix::new(&[0.6, 0.4], 2).unwrap(), &[0], &[]).unwrap();
    let test = [0.7, 0.3, 0.5, 0.5, 0.2, 0.8, 0.65, 0.35];
    let sets = predictor.predict(Matrix::new(&test, 2).unwrap(), &[]).unwrap();
    assert_eq!(sets.iter().map(<[u32]>::to_vec).collect::<Vec<_>>(), [vec![0], vec![], vec![1], vec![0]]);
    let report = evaluate(&sets, &[0, 0, 1, 1]).unwrap();
    assert_eq!((report.coverage, report.mean_size, report.empty_rate), (0.5, 0.75, 0.25));
    assert_eq!(report.singleton_rate, 0.75);
    assert_eq!((report.per_class[0].coverage, report.per_class[0].mean_size), (Some(0.5), Some(0.5)));
    assert_eq!((report.per_class[1].coverage, report.per_class[1].mean_size), (Some(0.5), Some(1.0)));
}

#[test]
fn repeated_splits_average_honest_runs() {
    let data = soft_data(5, 600, 2.0, &mut Rng::new(9, 0));
    let conformal = ConformalConfig { score: ScoreKind::ApsRandomised, ..Default::default() }.validate().unwrap();
    let config = RepeatConfig { split: CalibrationSplit::Rows(200), seed: 4, ..Default::default() };
    let report = repeat_splits(&conformal, data.matrix(5), &data.labels, &config).unwrap();
    assert_eq!(report.runs.len(), 10);
    assert!(report.runs.iter().all(|run| run.rows == 400));
    let sizes: Vec<f64> = report.runs.iter().map(|run| run.mean_size).collect();
    let mean = sizes.iter().sum::<f64>() / 10.0;
    let deviation = (sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / 9.0).sqrt();
    assert!((report.mean_size.mean - mean).abs() < 1e-12);
    assert!((report.mean_size.standard_deviation - deviation).abs() < 1e-12 && deviation > 0.0);
    assert!((report.coverage.mean - 0.9).abs() < 0.05);
    assert_eq!(report, repeat_splits(&conformal, data.matrix(5), &data.labels, &config).unwrap());
    let other = RepeatConfig { seed: 5, ..config };
    assert_ne!(report, repeat_splits(&conformal, data.matrix(5), &data.labels, &other).unwrap());
}

#[test]
fn the_first_bad_row_of_many_is_named() {
    let mut values = vec![0.5; 2 * 5000];
    (values[2 * 4000], values[2 * 3000]) = (0.7, f64::NAN);
    let config = ConformalConfig::default().validate().unwrap();
    let predictor = config.calibrate(Matrix::new(&values[..20], 2).unwrap(), &[0; 10], &[]).unwrap();
    let mut mask = vec![false; values.len()];
    let error = predictor.predict_mask(Matrix::new(&values, 2).unwrap(), &[], &mut mask).unwrap_err();
    assert_eq!(error, Error::non_finite("probability", 3000, 0, f64::NAN));
    let error = predictor.predict_mask(Matrix::new(&values[..20], 2).unwrap(), &[], &mut mask).unwrap_err();
    assert!(error.to_string().contains("expected 20, found 10000"), "{error}");
}

#[test]
fn marks_are_refused_where_sets_are() {
    fn agree<T: cmrm::Scalar + Into<f64>>(row: &[f64]) -> bool {
        let values: Vec<T> = row.iter().map(|&p| T::from_f64(p)).collect();
        let rows = Matrix::new(&values, values.len()).unwrap();
        let (classes, thresholds) = (row.len(), Thresholds::Marginal(0.5));
        let predictor = SetPredictor { config: ConformalConfig::default(), classes, thresholds };
        let sets = predictor.predict(rows, &[]).map(|_| ());
        let marks = predictor.predict_mask(rows, &[], &mut vec![false; classes]);
        assert_eq!(sets, marks, "{row:?}");
        marks.is_ok()
    }
    // Around every limit, at every place: what is summed quickly must not decide otherwise.
    for classes in [1, 2, 15, 16, 17, 33, 100] {
        for place in 0..classes {
            for (value, is_sound) in [
                (1.0, true),
                (1.0 + 5e-7, true),
                (1.0 + 2e-6, false),
                (1.0 - 0.0099, true),
                (1.0 - 0.0101, false),
                (-1e-30, false),
                (f64::INFINITY, false),
                (f64::NEG_INFINITY, false),
                (f64::NAN, false),
            ] {
                let mut row = vec![0.0; classes];
                row[place] = value;
                assert_eq!((agree::<f32>(&row), agree::<f64>(&row)), (is_sound, is_sound), "{value} at {place}");
            }
        }
        for sum in [0.9895, 0.9905, 0.992, 1.0, 1.008, 1.0095, 1.0105] {
            let row = vec![sum / classes as f64; classes];
            let is_sound = (sum - 1.0_f64).abs() < 0.01 && (classes > 1 || sum <= 1.0);
            assert_eq!((agree::<f32>(&row), agree::<f64>(&row)), (is_sound, is_sound), "{classes} classes, sum {sum}");
        }
    }
}

#[test]
fn bad_input_is_named() {
    let conformal = ConformalConfig::default().validate().unwrap();
    let randomised = ConformalConfig { score: ScoreKind::ApsRandomised, ..Default::default() }.validate().unwrap();
    let good = Matrix::new(&[0.5, 0.5, 0.25, 0.75], 2).unwrap();
    let error = |values: &[f64]| conformal.calibrate(Matrix::new(values, 2).unwrap(), &[0, 1], &[]).unwrap_err();
    assert_eq!(error(&[0.5, 0.5, -0.5, 1.5]), Error::Probability { row: 1, column: 0, value: -0.5 });
    assert_eq!(error(&[0.5, 0.5, 0.1, f64::NAN]), Error::non_finite("probability", 1, 1, f64::NAN));
    assert_eq!(error(&[0.5, 0.75, 0.1, 0.9]), Error::RowSum { row: 0, sum: 1.25 });
    assert_eq!(conformal.calibrate(good, &[0, 2], &[]), Err(Error::Label { row: 1, label: 2, classes: 2 }));
    assert!(matches!(conformal.calibrate(good, &[0], &[]), Err(Error::Shape { expected: 2, found: 1, .. })));
    assert!(matches!(randomised.calibrate(good, &[0, 1], &[]), Err(Error::Shape { expected: 2, found: 0, .. })));
    assert!(matches!(randomised.calibrate(good, &[0, 1], &[0.5, 1.5]), Err(Error::Probability { row: 1, .. })));
    assert!(matches!(conformal.calibrate(Matrix::<f64>::new(&[], 2).unwrap(), &[], &[]), Err(Error::Empty { .. })));
    let predictor = conformal.calibrate(good, &[0, 1], &[]).unwrap();
    let wide = Matrix::new(&[0.5, 0.25, 0.25], 3).unwrap();
    assert!(matches!(predictor.predict(wide, &[]), Err(Error::Shape { expected: 2, found: 3, .. })));
    let sets = predictor.predict(good, &[]).unwrap();
    assert!(evaluate(&sets, &[0]).is_err() && evaluate(&sets, &[0, 2]).is_err());
    for coverage in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        let config = ConformalConfig { coverage, ..Default::default() };
        assert!(matches!(config.validate(), Err(Error::Parameter { name: "coverage", .. })));
    }
    assert!(ConformalConfig { raps_penalty: -0.1, ..Default::default() }.validate().is_err());
}

#[test]
fn predictors_survive_storage() {
    let conformal = ConformalConfig { thresholds: ThresholdKind::PerClass, coverage: 0.5, ..Default::default() };
    let conformal = conformal.validate().unwrap();
    let predictor = conformal.calibrate(Matrix::new(&[0.75, 0.25], 2).unwrap(), &[0], &[]).unwrap();
    let text = serde_json::to_string(&predictor).unwrap();
    assert!(text.contains(r#""thresholds":{"per_class":[0.25,"inf"]}"#), "{text}");
    assert_eq!(serde_json::from_str::<SetPredictor>(&text).unwrap(), predictor);
    let broken = text.replace("\"inf\"", "\"lots\"");
    assert!(serde_json::from_str::<SetPredictor>(&broken).unwrap_err().to_string().contains("lots"));
    let marginal: Thresholds = serde_json::from_str(r#"{"marginal":"inf"}"#).unwrap();
    assert_eq!(marginal, Thresholds::Marginal(f64::INFINITY));
    assert!(serde_json::from_str::<ConformalConfig>(r#"{"covrage":0.9}"#).is_err());
}
