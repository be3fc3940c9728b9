//! Metrics by labels that are partly wrong, against the same by clean labels; risk against coverage.

use cmrm::Matrix;
use cmrm::metric::*;
use cmrm::noise_model::Transition;
use cmrm::rng::Rng;
use proptest::prelude::*;

const CLASSES: usize = 3;
/// Class 0 is taken for 1, class 1 for 2, and class 2 for both.
const TRANSITION: [f64; 9] = [0.7, 0.3, 0.0, 0.05, 0.75, 0.2, 0.1, 0.15, 0.75];

fn transition() -> Transition {
    Transition::new(Matrix::new(&TRANSITION, CLASSES).unwrap()).unwrap()
}

/// A class drawn by its probability.
fn draw(rng: &mut Rng, probabilities: &[f64]) -> u32 {
    let mut left = rng.uniform();
    for (class, p) in probabilities.iter().enumerate() {
        left -= p;
        if left < 0.0 {
            return class as u32;
        }
    }
    probabilities.len() as u32 - 1
}

/// Probabilities of a model that is too sure, clean labels, and observed ones.
fn simulated(rows: usize, seed: u64) -> (Vec<f64>, Vec<u32>, Vec<u32>) {
    let mut rng = Rng::new(seed, 1);
    let (mut said, mut clean, mut observed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let normalised = |row: [f64; CLASSES]| row.map(|p| p / row.iter().sum::<f64>());
        let row = normalised([0, 1, 2].map(|_| 0.02 + rng.uniform().powi(3)));
        let class = draw(&mut rng, &normalised(row.map(|p| p.powf(0.7))));
        observed.push(draw(&mut rng, transition().row(class as usize)));
        clean.push(class);
        said.extend(row);
    }
    (said, clean, observed)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn calibration_error(rows: &CorrectedRows) -> f64 {
    calibration_error_beyond((0..rows.right.len()).map(|row| (rows.calibration(row), 1)), 15)
}

#[test]
fn metrics_by_observed_labels_are_those_by_clean_ones_in_the_mean() {
    let (said, clean, observed) = simulated(40_000, 5);
    let said = Matrix::new(&said, CLASSES).unwrap();
    let found = CorrectedRows::new(said, &observed, &transition()).unwrap();
    let predicted = predicted_classes(said).unwrap();
    let by = |labels: &[u32]| {
        [
            accuracy(&predicted, labels).unwrap(),
            log_loss(said, labels).unwrap(),
            brier(said, labels).unwrap(),
            expected_calibration_error(said, labels, 15).unwrap(),
        ]
    };
    let corrected = [mean(&found.right), mean(&found.log_loss), mean(&found.brier), calibration_error(&found)];
    for ((corrected, clean), observed) in corrected.into_iter().zip(by(&clean)).zip(by(&observed)) {
        assert!((corrected - clean).abs() < 0.02, "{corrected} for {clean}");
        assert!((observed - clean).abs() > 0.05, "the noise makes no difference: {observed} and {clean}");
    }
}

#[test]
fn without_noise_they_are_the_metrics_themselves() {
    let (said, clean, _) = simulated(200, 1);
    let said = Matrix::new(&said, CLASSES).unwrap();
    let found = CorrectedRows::new(said, &clean, &Transition::uniform(CLASSES, 0.0).unwrap()).unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    close(mean(&found.right), accuracy(&predicted_classes(said).unwrap(), &clean).unwrap());
    close(mean(&found.log_loss), log_loss(said, &clean).unwrap());
    close(mean(&found.brier), brier(said, &clean).unwrap());
    close(calibration_error(&found), expected_calibration_error(said, &clean, 15).unwrap());
    assert!(CorrectedRows::new(said, &clean, &Transition::uniform(4, 0.1).unwrap()).is_err());
    assert!(CorrectedRows::new(said, &clean[1..], &transition()).is_err());
}

#[test]
fn wrong_labels_do_not_pass_for_bad_calibration_of_few_rows() {
    let (mut corrected, mut clean_ones, mut raw) = (0.0, 0.0, 0.0);
    for seed in 0..100 {
        let (said, clean, observed) = simulated(300, seed);
        let said = Matrix::new(&said, CLASSES).unwrap();
        let found = CorrectedRows::new(said, &observed, &transition()).unwrap();
        corrected += calibration_error(&found) / 100.0;
        clean_ones += expected_calibration_error(said, &clean, 15).unwrap() / 100.0;
        let rows = (0..300).map(|row| (RowCalibration { variance: 0.0, ..found.calibration(row) }, 1));
        raw += calibration_error_beyond(rows, 15) / 100.0;
    }
    assert!((corrected - clean_ones).abs() < 0.5 * (raw - clean_ones), "{corrected} and {raw} for {clean_ones}");
}

#[test]
fn chance_does_not_make_varied_confidence_worse_calibrated() {
    let (mut plain, mut beyond) = ([0.0; 2], [0.0; 2]);
    for seed in 0..100 {
        let mut rng = Rng::new(seed, 2);
        // Both say the truth: one that every row is right with 0.75, the other how sure each is.
        let mut row = || {
            let p = rng.uniform().cbrt();
            (p, rng.uniform() < p)
        };
        let rows: Vec<(f64, bool)> = (0..300).map(|_| row()).collect();
        for (model, knows) in [false, true].into_iter().enumerate() {
            let said = || rows.iter().map(|&(p, right)| (if knows { p } else { 0.75 }, right));
            plain[model] += calibration_error_of(said(), 15) / 100.0;
            let said = said().map(|(p, right)| (RowCalibration::by_label(p, right), 1));
            beyond[model] += calibration_error_beyond(said, 15) / 100.0;
        }
    }
    assert!(plain[1] > plain[0] + 0.02, "{plain:?}");
    assert!(beyond[1] - beyond[0] < 0.5 * (plain[1] - plain[0]), "{beyond:?} {plain:?}");
}

#[test]
fn risk_falls_with_coverage_and_ties_are_one_step() {
    let found = risk_coverage(&[0.9, 0.6, 0.6, 0.5], &[1.0, 1.0, 0.0, 0.0]).unwrap();
    let steps: Vec<(f64, f64)> = found.steps.iter().map(|step| (step.coverage, step.risk)).collect();
    assert_eq!(steps, [(0.25, 0.0), (0.75, 1.0 / 3.0), (1.0, 0.5)]);
    assert!((found.area - (0.0 + 1.0 / 3.0 + 1.0 / 3.0 + 0.5) / 4.0).abs() < 1e-15);
    assert_eq!(risk_coverage(&[0.7; 3], &[1.0, 0.0, 1.0]).unwrap().steps.len(), 1);
    assert!(risk_coverage(&[], &[]).is_err() && risk_coverage(&[0.5], &[]).is_err());
    assert!(risk_coverage(&[f64::NAN], &[1.0]).is_err() && risk_coverage(&[0.5], &[f64::INFINITY]).is_err());
}

proptest! {
    #[test]
    fn the_curve_ends_at_the_error_rate_whatever_the_order(
        rows in prop::collection::vec((0u8..20, any::<bool>()), 1..60), turn in 0usize..60
    ) {
        let curve = |rows: &[(u8, bool)]| {
            let confidence: Vec<f64> = rows.iter().map(|row| f64::from(row.0) / 20.0).collect();
            let right: Vec<f64> = rows.iter().map(|row| f64::from(u8::from(row.1))).collect();
            risk_coverage(&confidence, &right).unwrap()
        };
        let found = curve(&rows);
        let wrong = rows.iter().filter(|row| !row.1).count();
        let last = found.steps.last().unwrap();
        prop_assert_eq!(last.coverage, 1.0);
        prop_assert_eq!(last.risk, wrong as f64 / rows.len() as f64);
        prop_assert!(found.steps.is_sorted_by(|a, b| a.coverage < b.coverage));
        let lowest = found.steps.iter().map(|step| step.risk).fold(1.0, f64::min);
        prop_assert!(lowest <= found.area + 1e-12 && found.area <= 1.0);
        let mut turned = rows.clone();
        turned.rotate_left(turn % rows.len());
        prop_assert_eq!(curve(&turned), found);
    }
}
