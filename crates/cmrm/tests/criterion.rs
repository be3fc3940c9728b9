//! Criteria that see observed labels only, on labels whose clean version is known.

use cmrm::Matrix;
use cmrm::criterion::{Criterion, Ensemble, agreement};
use cmrm::metric::accuracy;
use cmrm::rng::Rng;

const CLASSES: usize = 3;
const ROWS: usize = 6000;

/// Clean labels, observed labels where four in ten of class 0 are called 1, and a candidate that is right at `rate`.
fn labels() -> (Vec<u32>, Vec<u32>) {
    let mut rng = Rng::new(1, 1);
    let clean: Vec<u32> = (0..ROWS).map(|_| rng.below(CLASSES) as u32).collect();
    let observed = clean.iter().map(|&y| if y == 0 && rng.uniform() < 0.4 { 1 } else { y }).collect();
    (clean, observed)
}

/// Probabilities of a model that is sure of the clean class, except that it mistakes `share` of class `from` for `to`.
fn candidate(clean: &[u32], from: u32, to: u32, share: f64, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed, 2);
    let mut row = |&y: &u32| {
        let said = if y == from && rng.uniform() < share { to } else { y };
        (0..CLASSES as u32).map(move |k| if k == said { 0.8 } else { 0.1 }).collect::<Vec<f32>>()
    };
    clean.iter().flat_map(&mut row).collect()
}

fn predictions(probabilities: &[f32]) -> Vec<u32> {
    cmrm::metric::predicted_classes(Matrix::new(probabilities, CLASSES).unwrap()).unwrap()
}

#[test]
fn corrected_accuracy_finds_what_observed_accuracy_misses() {
    let (clean, observed) = labels();
    // One has learned the noise (it says 1 for 35 % of class 0), the other errs elsewhere, less often.
    let learned_noise = candidate(&clean, 0, 1, 0.35, 3);
    let honest = candidate(&clean, 2, 1, 0.25, 4);
    let steady: Vec<Vec<f32>> = (5..8).map(|seed| candidate(&clean, 2, 0, 0.1, seed)).collect();
    let all: Vec<Matrix<'_, f32>> =
        [&learned_noise, &honest].into_iter().chain(&steady).map(|p| Matrix::new(p, CLASSES).unwrap()).collect();
    let ensemble = Ensemble::new(&all, &observed).unwrap();
    let truth = |p: &[f32]| accuracy(&predictions(p), &clean).unwrap();
    assert!(truth(&honest) > truth(&learned_noise) + 0.02);
    let by = |p: &[f32], criterion: Criterion| ensemble.judge(&predictions(p)).unwrap().by(criterion).unwrap();
    assert!(by(&honest, Criterion::Observed) < by(&learned_noise, Criterion::Observed) + 0.02);
    assert!(by(&honest, Criterion::Corrected) > by(&learned_noise, Criterion::Corrected));
    for criterion in [Criterion::Observed, Criterion::Weighted, Criterion::Posterior] {
        assert!(by(&steady[0], criterion) > by(&honest, criterion), "{criterion:?}");
    }
    for p in [&learned_noise, &honest] {
        let (estimate, observed, truth) = (by(p, Criterion::Corrected), by(p, Criterion::Observed), truth(p));
        assert!((estimate - truth).abs() < 0.6 * (observed - truth).abs(), "{estimate}, {observed}, true {truth}");
    }
    let wrong = clean.iter().zip(&observed).filter(|(a, b)| a != b).count() as f64 / ROWS as f64;
    assert!((ensemble.noise_rate() - wrong).abs() < 0.06, "estimated {}, true {wrong}", ensemble.noise_rate());
}

#[test]
fn a_perfect_model_on_clean_labels_has_full_marks() {
    let (clean, _) = labels();
    let perfect = candidate(&clean, 0, 1, 0.0, 3);
    let ensemble = Ensemble::new(&[Matrix::new(&perfect, CLASSES).unwrap()], &clean).unwrap();
    let verdict = ensemble.judge(&clean).unwrap();
    for criterion in [Criterion::Observed, Criterion::Weighted, Criterion::Corrected, Criterion::Posterior] {
        assert!((verdict.by(criterion).unwrap() - 1.0).abs() < 1e-6, "{criterion:?}: {verdict:?}");
    }
    assert_eq!(verdict.by(Criterion::Agreement), None);
}

#[test]
fn agreement_is_a_share_of_rows() {
    assert_eq!(agreement(&[0, 1, 2, 1], &[0, 1, 1, 1]).unwrap(), 0.75);
    assert!(agreement(&[], &[]).is_err());
    assert!(agreement(&[0], &[0, 1]).is_err());
}

#[test]
fn names_come_back_and_wrong_shapes_do_not_pass() {
    for criterion in Criterion::ALL {
        assert_eq!(criterion.name().parse::<Criterion>().unwrap(), criterion);
    }
    assert!("acuracy".parse::<Criterion>().is_err());
    let p = [0.5f32, 0.5, 0.2, 0.8];
    let two = Matrix::new(&p, 2).unwrap();
    assert!(Ensemble::new(&[], &[0, 1]).is_err());
    assert!(Ensemble::new(&[two], &[0]).is_err());
    assert!(Ensemble::new(&[two], &[0, 2]).is_err());
    let ensemble = Ensemble::new(&[two], &[0, 1]).unwrap();
    assert!(ensemble.judge(&[0]).is_err());
    assert!(ensemble.judge(&[0, 2]).is_err());
}
