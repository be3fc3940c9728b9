//! The noise in labels: estimated from planted noise, and undone.

use cmrm::Matrix;
use cmrm::conformal::{
    Assurance, ConformalConfig, ScoreKind, ThresholdKind, conformal_threshold, corrected_threshold, evaluate,
};
use cmrm::noise_model::{NoiseModel, PlausibleNoise, Transition};
use cmrm::rng::Rng;
use proptest::prelude::*;

/// Reference thresholds of an independent implementation.
#[test]
fn corrected_thresholds_are_those_of_the_reference() {
    #[derive(serde::Deserialize)]
    struct Record {
        rate: f64,
        coverage: f64,
        probabilities: Vec<Vec<f64>>,
        labels: Vec<u32>,
        threshold: f64,
    }
    #[derive(serde::Deserialize)]
    struct File {
        corrected_sets: Vec<Record>,
    }
    let File { corrected_sets: records } = serde_json::from_str(include_str!("fixtures/methods.json")).unwrap();
    assert!(!records.is_empty());
    for record in records {
        let classes = record.probabilities[0].len();
        let transition = Transition::uniform(classes, record.rate).unwrap();
        let mut scored = Vec::new();
        for (row, &label) in record.probabilities.iter().zip(&record.labels) {
            let weights = transition.unbiased(label as usize);
            scored.extend(row.iter().zip(weights).map(|(p, &weight)| (1.0 - p, weight)));
        }
        let found = corrected_threshold(&mut scored, record.coverage * record.labels.len() as f64);
        assert!((found - record.threshold).abs() <= 1e-12, "{found} where the reference has {}", record.threshold);
    }
}

/// Rows of a model that knows the classes' densities on a line, with labels made wrong: clean probabilities, and true and observed classes.
struct Planted {
    clean: Vec<f32>,
    observed: Vec<f32>,
    truth: Vec<u32>,
    labels: Vec<u32>,
    classes: usize,
}

/// Classes lie `distance` standard deviations apart on a circle of means.
fn plant(rows: usize, transition: &Transition, distance: f64, seed: u64) -> Planted {
    let classes = transition.classes();
    let mut rng = Rng::new(seed, 7);
    let mut normal = || (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
    let mut planted = Planted { clean: vec![], observed: vec![], truth: vec![], labels: vec![], classes };
    let mut draw = Rng::new(seed, 8);
    for row in 0..rows {
        let class = row % classes;
        let x: Vec<f64> = (0..classes).map(|k| normal() + if k == class { distance } else { 0.0 }).collect();
        let weights: Vec<f64> = x.iter().map(|x| (distance * x).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let clean: Vec<f64> = weights.iter().map(|w| w / sum).collect();
        let observed = (0..classes).map(|j| (0..classes).map(|k| clean[k] * transition.probability(k, j)).sum::<f64>());
        planted.observed.extend(observed.map(|p| p as f32));
        planted.clean.extend(clean.iter().map(|&p| p as f32));
        planted.truth.push(class as u32);
        let mut share = draw.uniform();
        let drawn = transition.row(class).iter().position(|p| {
            share -= p;
            share < 0.0
        });
        planted.labels.push(drawn.unwrap_or(class) as u32);
    }
    planted
}

impl Planted {
    fn observed(&self) -> Matrix<'_, f32> {
        Matrix::new(&self.observed, self.classes).unwrap()
    }

    fn rate(&self) -> f64 {
        self.truth.iter().zip(&self.labels).filter(|(a, b)| a != b).count() as f64 / self.truth.len() as f64
    }
}

#[test]
fn the_planted_rate_is_found_and_overlap_is_not_taken_for_noise() {
    let (mut cells, mut covered, mut error) = (0.0, 0.0, 0.0);
    for classes in [2, 3, 10] {
        for (distance, rate) in [(2.0, 0.0), (2.0, 0.2), (3.0, 0.0), (3.0, 0.1), (3.0, 0.2), (3.0, 0.3)] {
            for seed in 0..4 {
                let planted = plant(2400, &Transition::uniform(classes, rate).unwrap(), distance, seed);
                let found = NoiseModel::estimate(planted.observed(), &planted.labels).unwrap();
                let [low, high] = found.interval;
                assert!(low <= found.rate && found.rate <= high && !found.by_pair, "{found:?}");
                assert!(rate > 0.0 || found.rate < 0.02, "{classes} classes without noise: {found:?}");
                cells += 1.0;
                covered += f64::from(u8::from((low..=high).contains(&planted.rate())));
                error += (found.rate - planted.rate()).abs();
            }
        }
    }
    assert!(covered / cells > 0.85, "the 90 % intervals cover {covered} of {cells} rates");
    assert!(error / cells < 0.02, "mean error {}", error / cells);
}

#[test]
fn labels_that_slip_to_the_next_class_are_told_from_random_ones() {
    let classes = 5;
    let entries: Vec<f64> = (0..classes * classes)
        .map(|at| match (at % classes + classes - at / classes) % classes {
            0 => 0.8,
            1 => 0.2,
            _ => 0.0,
        })
        .collect();
    let mut planted = plant(3000, &Transition::new(Matrix::new(&entries, classes).unwrap()).unwrap(), 3.0, 5);
    // Learners see some of the form of the noise, and blur it.
    let blurred = |row: &[f32]| row.iter().map(|p| 0.85 * p + 0.15 / 5.0).collect::<Vec<f32>>();
    planted.observed = planted.observed.chunks_exact(classes).flat_map(blurred).collect();
    let found = NoiseModel::estimate(planted.observed(), &planted.labels).unwrap();
    assert!(found.by_pair && (found.rate - 0.2).abs() < 0.03, "{found:?}");
    for class in 0..classes {
        assert!(found.transition.probability(class, (class + 1) % classes) > 0.12, "{found:?}");
        assert!(found.transition.probability(class, (class + 2) % classes) < 0.05, "{found:?}");
    }
}

#[test]
fn clean_probabilities_and_doubts_are_those_of_the_truth() {
    let planted = plant(4000, &Transition::uniform(4, 0.3).unwrap(), 2.5, 11);
    let found = NoiseModel::estimate(planted.observed(), &planted.labels).unwrap();
    let clean = found.clean_probabilities(planted.observed()).unwrap();
    let away = clean.iter().zip(&planted.clean).map(|(a, b)| (a - b).abs()).sum::<f32>() / clean.len() as f32;
    assert!(away < 0.02, "{away}");
    let wrong = found.wrong_probabilities(planted.observed(), &planted.labels).unwrap();
    // Among labels that are wrong with about this probability, about this share is.
    for low in [0.0, 0.25, 0.5, 0.75] {
        let near: Vec<usize> =
            (0..wrong.len()).filter(|&row| (low..low + 0.25).contains(&(wrong[row] as f64))).collect();
        if near.len() < 100 {
            continue;
        }
        let said = near.iter().map(|&row| f64::from(wrong[row])).sum::<f64>() / near.len() as f64;
        let are = near.iter().filter(|&&row| planted.truth[row] != planted.labels[row]).count() as f64;
        assert!((said - are / near.len() as f64).abs() < 0.08, "{low}: {said} said, {}", are / near.len() as f64);
    }
}

#[test]
fn corrected_sets_cover_the_true_class_and_observed_ones_too_much() {
    let transition = Transition::uniform(10, 0.4).unwrap();
    let (calibration, new) = (plant(3000, &transition, 3.0, 1), plant(3000, &transition, 3.0, 2));
    let found = NoiseModel::estimate(calibration.observed(), &calibration.labels).unwrap();
    let posteriors = found.posteriors(calibration.observed(), &calibration.labels).unwrap();
    let unbiased = found.transition.unbiased_weights(&calibration.labels).unwrap();
    for score in [ScoreKind::Lac, ScoreKind::Aps, ScoreKind::Raps] {
        for thresholds in [ThresholdKind::Marginal, ThresholdKind::PerClass] {
            let conformal = ConformalConfig { score, thresholds, ..Default::default() }.validate().unwrap();
            let observed = conformal.calibrate(calibration.observed(), &calibration.labels, &[]).unwrap();
            let judge = |predictor: &cmrm::conformal::SetPredictor| {
                evaluate(&predictor.predict(new.observed(), &[]).unwrap(), &new.truth).unwrap()
            };
            let observed = judge(&observed);
            assert!(observed.coverage > 0.97, "{score:?}: {observed:?}");
            for weights in [&posteriors, &unbiased] {
                let weights = Matrix::new(weights, 10).unwrap();
                let corrected = judge(&conformal.calibrate_corrected(calibration.observed(), weights, &[]).unwrap());
                // APS counts whole probabilities, so it covers more than it was asked for.
                let most = if score == ScoreKind::Lac { 0.94 } else { 0.99 };
                assert!((0.86..most).contains(&corrected.coverage), "{score:?} {thresholds:?}: {corrected:?}");
                assert!(corrected.mean_size < observed.mean_size / 2.0);
            }
        }
    }
}

#[test]
fn sets_are_larger_where_the_rate_is_less_certain() {
    let transition = Transition::uniform(3, 0.25).unwrap();
    let size = |rows: usize| {
        let (calibration, new) = (plant(rows, &transition, 2.0, 3), plant(4000, &transition, 2.0, 4));
        let found = PlausibleNoise::of(calibration.observed(), &calibration.labels).unwrap();
        assert!(found.models.is_sorted_by(|a, b| a.rate <= b.rate));
        let [low, high] = found.likeliest.interval;
        assert!(found.models[0].rate < high && low < found.models[found.models.len() - 1].rate, "{found:?}");
        let of = |weights: Vec<f32>| {
            assert!(weights.chunks_exact(3).all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
            let conformal = ConformalConfig::default().validate().unwrap();
            let weights = Matrix::new(&weights, 3).unwrap();
            let predictor = conformal.calibrate_corrected(calibration.observed(), weights, &[]).unwrap();
            evaluate(&predictor.predict(new.observed(), &[]).unwrap(), &new.truth).unwrap()
        };
        let likeliest = of(found.likeliest.posteriors(calibration.observed(), &calibration.labels).unwrap());
        let plausible = of(found.posteriors(calibration.observed(), &calibration.labels).unwrap());
        assert!(plausible.coverage > 0.87, "{rows} rows: {plausible:?}");
        plausible.mean_size / likeliest.mean_size
    };
    let (few, many) = (size(200), size(8000));
    assert!(few > 1.05 && many < 1.03, "{few} {many}");
}

#[test]
fn a_guarantee_holds_on_average_for_few_rows_too() {
    let entries = [0.9, 0.1, 0.0, 0.0, 0.8, 0.2, 0.15, 0.05, 0.8];
    let general = Transition::new(Matrix::new(&entries, 3).unwrap()).unwrap();
    for transition in [Transition::uniform(3, 0.3).unwrap(), general] {
        let new = plant(4000, &transition, 2.0, 99);
        let conformal = ConformalConfig { coverage: 0.7, ..ConformalConfig::default() }.validate().unwrap();
        let mean = |assurance: Assurance, rows: usize| {
            let one = |seed| {
                let sample = plant(rows, &transition, 2.0, seed);
                let found =
                    conformal.calibrate_known_noise(sample.observed(), &sample.labels, &transition, assurance, &[]);
                let sets = found.unwrap().predict(new.observed(), &[]).unwrap();
                evaluate(&sets, &new.truth).unwrap().coverage
            };
            (0..40).map(one).sum::<f64>() / 40.0
        };
        for rows in [90, 900] {
            let (estimated, guaranteed) = (mean(Assurance::Estimated, rows), mean(Assurance::Guaranteed, rows));
            assert!((estimated - 0.7).abs() < 0.03 && guaranteed > 0.7 + 0.01, "{rows}: {estimated} {guaranteed}");
        }
        assert!(mean(Assurance::Guaranteed, 9000) < 0.78);
    }
    let labels: Vec<u32> = (0..90).map(|row| row % 3).collect();
    let expected = (1.0 + 0.45) / (1.0 - 0.45) * (std::f64::consts::PI / 8.0 / 90.0).sqrt();
    assert!((Transition::uniform(3, 0.3).unwrap().deviation(&labels).unwrap() - expected).abs() < 1e-12);
    assert!(Transition::uniform(3, 0.3).unwrap().deviation(&[]).is_err());
    let by_class = ConformalConfig { thresholds: ThresholdKind::PerClass, ..Default::default() }.validate().unwrap();
    let sample = plant(90, &Transition::uniform(3, 0.3).unwrap(), 2.0, 1);
    let noise = Transition::uniform(3, 0.3).unwrap();
    let of = |assurance| by_class.calibrate_known_noise(sample.observed(), &sample.labels, &noise, assurance, &[]);
    assert!(of(Assurance::Guaranteed).is_err() && of(Assurance::Estimated).is_ok());
}

#[test]
fn models_that_know_labels_become_as_sure_as_those_that_do_not() {
    let planted = plant(3000, &Transition::uniform(4, 0.3).unwrap(), 2.0, 21);
    let found = NoiseModel::estimate(planted.observed(), &planted.labels).unwrap();
    let clean = found.clean_probabilities(planted.observed()).unwrap();
    let sure = |p: &[f32]| {
        let highest = p.chunks_exact(4).map(|row| row.iter().copied().fold(0.0, f32::max));
        f64::from(highest.sum::<f32>()) / 3000.0
    };
    // The same rows, as models say that are too sure or not sure enough.
    for exponent in [0.6f32, 1.0, 2.0] {
        let said: Vec<f32> = planted
            .observed
            .chunks_exact(4)
            .flat_map(|row| {
                let powers: Vec<f32> = row.iter().map(|p| p.powf(exponent)).collect();
                let sum: f32 = powers.iter().sum();
                powers.into_iter().map(move |p| p / sum)
            })
            .collect();
        let said = Matrix::new(&said, 4).unwrap();
        let adapted = found.as_sure_as(said, Matrix::new(&clean, 4).unwrap()).unwrap();
        assert_eq!((adapted.rate, &adapted.transition), (found.rate, &found.transition));
        let after = adapted.clean_probabilities(said).unwrap();
        assert!((sure(&after) - sure(&clean)).abs() < 0.01, "{exponent}: {} {}", sure(&after), sure(&clean));
    }
    let clean = Matrix::new(&clean, 4).unwrap();
    assert!(found.as_sure_as(Matrix::new(&planted.observed[..4], 4).unwrap(), clean).is_err());
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let p = [0.5f32, 0.5, 0.2, 0.8];
    let matrix = Matrix::new(&p, 2).unwrap();
    assert!(NoiseModel::estimate(matrix, &[0]).is_err());
    assert!(NoiseModel::estimate(matrix, &[0, 2]).is_err());
    assert!(NoiseModel::estimate(Matrix::new(&[1.0f32], 1).unwrap(), &[0]).is_err());
    assert!(NoiseModel::estimate(Matrix::new(&[] as &[f32], 2).unwrap(), &[]).is_err());
    assert!(NoiseModel::estimate(Matrix::new(&[0.5f32, 0.1], 2).unwrap(), &[0]).is_err());
    // One row is no evidence, and no panic.
    let one = NoiseModel::estimate(Matrix::new(&p[..2], 2).unwrap(), &[0]).unwrap();
    assert!(one.interval[1] > 0.3, "{one:?}");
    assert!(one.posteriors(Matrix::new(&[0.2f32, 0.3, 0.5], 3).unwrap(), &[0]).is_err());
    let conformal = ConformalConfig::default().validate().unwrap();
    assert!(
        conformal.calibrate_corrected(matrix, Matrix::new(&[1.0f32, f32::NAN, 0.0, 1.0], 2).unwrap(), &[]).is_err()
    );
    assert!(conformal.calibrate_corrected(matrix, Matrix::new(&[1.0f32, 0.0], 2).unwrap(), &[]).is_err());
}

proptest! {
    /// Whatever probabilities and labels: rates, posteriors and probabilities are what their names say.
    #[test]
    fn numbers_are_in_range(
        raw in proptest::collection::vec(0.001f32..1.0, 3..120),
        seed in 0u64..100,
    ) {
        let rows = raw.len() / 3;
        let p: Vec<f32> =
            raw.chunks_exact(3).flat_map(|row| row.iter().map(|p| p / row.iter().sum::<f32>())).collect();
        let mut rng = Rng::new(seed, 1);
        let labels: Vec<u32> = (0..rows).map(|_| rng.below(3) as u32).collect();
        let matrix = Matrix::new(&p, 3).unwrap();
        let found = NoiseModel::estimate(matrix, &labels).unwrap();
        prop_assert!((0.0..0.67).contains(&found.rate));
        prop_assert!(found.interval[0] <= found.rate && found.rate <= found.interval[1]);
        for rows in [found.posteriors(matrix, &labels).unwrap(), found.clean_probabilities(matrix).unwrap()] {
            for row in rows.chunks_exact(3) {
                prop_assert!(row.iter().all(|p| (0.0..=1.0).contains(p)));
                prop_assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }

    /// Labels that are known to be right, as weights, give split conformal prediction.
    #[test]
    fn clean_labels_as_weights_are_split_conformal(
        scores in proptest::collection::vec(0.0f64..1.0, 1..60), coverage in 0.05f64..0.95,
    ) {
        let mut weighted: Vec<(f64, f64)> = scores.iter().map(|&score| (score, 1.0)).collect();
        let share = coverage * (scores.len() + 1) as f64;
        let found = corrected_threshold(&mut weighted, share);
        prop_assert_eq!(found, conformal_threshold(&mut scores.clone(), coverage));
    }
}

#[test]
fn noise_of_the_same_form_has_another_rate() {
    let shares = [0.5, 0.25, 0.25];
    let entries = [0.9, 0.1, 0.0, 0.0, 0.8, 0.2, 0.1, 0.1, 0.8];
    let model = NoiseModel::known(Transition::new(Matrix::new(&entries, 3).unwrap()).unwrap(), &shares).unwrap();
    assert!((model.rate - 0.15).abs() < 1e-12);
    let twice = NoiseModel::known(model.at_rate(0.3).unwrap(), &shares).unwrap();
    assert!((twice.rate - 0.3).abs() < 1e-12);
    for (of, observed, p) in [(0, 0, 0.8), (0, 1, 0.2), (0, 2, 0.0), (1, 2, 0.4), (2, 0, 0.2), (2, 2, 0.6)] {
        assert!((twice.transition.probability(of, observed) - p).abs() < 1e-12, "{of} {observed}");
    }
    let none = NoiseModel::known(model.at_rate(0.0).unwrap(), &shares).unwrap();
    assert_eq!(none.transition, Transition::uniform(3, 0.0).unwrap());
    let again = none.at_rate(0.15).unwrap();
    assert!((again.probability(1, 0) - 0.075).abs() < 1e-12, "of no noise there is no form: all pairs are alike");
    assert!(model.at_rate(-0.1).is_err() && model.at_rate(f64::NAN).is_err());
}
