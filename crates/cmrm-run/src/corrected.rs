//! How good a model is by the true classes of rows, told from labels that may be wrong.

use cmrm::Matrix;
use cmrm::metric::{self, CorrectedRows};
use cmrm::noise_model::Transition;
use cmrm_report::RiskCoverage;

use crate::compare::{resampled, times};
use crate::error::Result;
use crate::judge::{CALIBRATION_BINS, Measured, mean};

/// Least share of the rows at which a curve of risks begins: of fewer the risk is chance.
const LEAST_COVERAGE: f64 = 0.05;

/// The metrics that [`CorrectedRows`] gives, with bootstrap intervals; none from a single row. The intervals speak of the rows drawn, for
/// noise as it was estimated.
pub fn measure_corrected(found: &CorrectedRows, seed: u64) -> Result<Vec<Measured>> {
    let rows = found.right.len();
    let calibration_error = |drawn: &[usize]| {
        let each = times(drawn, rows).into_iter().enumerate().map(|(row, times)| (found.calibration(row), times));
        metric::calibration_error_beyond(each, CALIBRATION_BINS)
    };
    let measured = [
        ("accuracy", resampled(rows, seed, |drawn| mean(&found.right, drawn))?),
        ("log_loss", resampled(rows, seed, |drawn| mean(&found.log_loss, drawn))?),
        ("brier", resampled(rows, seed, |drawn| mean(&found.brier, drawn))?),
        ("ece", resampled(rows, seed, calibration_error)?),
    ];
    let known = measured.into_iter().filter_map(|(name, of)| {
        let of = of?;
        Some(Measured { name: name.into(), value: of.value, low: of.low, high: of.high })
    });
    Ok(known.collect())
}

/// The error rate among the rows that a model is surest of, by labels or, where a transition matrix says how these go wrong, by the true
/// classes. Nothing from a single row.
pub fn risk_coverage(
    probabilities: Matrix<'_, f32>,
    labels: &[u32],
    noise: Option<&Transition>,
    seed: u64,
) -> Result<Option<RiskCoverage>> {
    let (confidence, right) = match noise {
        Some(transition) => {
            let found = CorrectedRows::new(probabilities, labels, transition)?;
            (found.confidence, found.right)
        }
        None => {
            let predicted = metric::predicted_classes(probabilities)?;
            let confidence = probabilities.iter_rows().zip(&predicted).map(|(row, &class)| row[class as usize].into());
            let right = predicted.iter().zip(labels).map(|(class, label)| f64::from(u8::from(class == label)));
            (confidence.collect::<Vec<f64>>(), right.collect::<Vec<f64>>())
        }
    };
    let pick = |values: &[f64], drawn: &[usize]| drawn.iter().map(|&row| values[row]).collect::<Vec<f64>>();
    let curve = metric::risk_coverage(&confidence, &right)?;
    let area = resampled(labels.len(), seed, |drawn| {
        // Rows that were judged already are finite and as many as before.
        metric::risk_coverage(&pick(&confidence, drawn), &pick(&right, drawn)).map_or(f64::NAN, |curve| curve.area)
    })?;
    // The first step at or beyond every whole per cent.
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut percents = (0..=100).map(|percent| f64::from(percent) / 100.0).filter(|&share| share >= LEAST_COVERAGE);
    let mut next = percents.next();
    for step in &curve.steps {
        if next.is_none_or(|next| step.coverage < next) {
            continue;
        }
        points.push((step.coverage, step.risk));
        next = percents.find(|&share| share > step.coverage);
    }
    Ok(area.map(|area| RiskCoverage { points, area, corrected: noise.is_some() }))
}

#[cfg(test)]
mod tests {
    use cmrm::metric::{accuracy, expected_calibration_error, log_loss, predicted_classes};
    use cmrm::rng::Rng;

    use super::*;

    const CLASSES: usize = 4;

    /// Probabilities, clean labels drawn from them, and labels a third of which are wrong.
    fn simulated(rows: usize, seed: u64) -> (Vec<f32>, Vec<u32>, Vec<u32>) {
        let mut rng = Rng::new(seed, 1);
        let (mut said, mut clean, mut observed) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let row = [0; CLASSES].map(|_| rng.uniform().powi(4) as f32 + 0.01);
            let sum: f32 = row.iter().sum();
            let mut left = sum * rng.uniform() as f32;
            let class = row
                .iter()
                .take_while(|&&p| {
                    left -= p;
                    left > 0.0
                })
                .count()
                .min(CLASSES - 1);
            let shift = if rng.uniform() < 1.0 / 3.0 { 1 + rng.below(CLASSES - 1) } else { 0 };
            said.extend(row.map(|p| p / sum));
            clean.push(class as u32);
            observed.push(((class + shift) % CLASSES) as u32);
        }
        (said, clean, observed)
    }

    #[test]
    fn intervals_by_wrong_labels_hold_what_clean_labels_say() {
        let noise = Transition::uniform(CLASSES, 1.0 / 3.0).unwrap();
        let mut outside = [0; 3];
        for seed in 0..60 {
            let (said, clean, observed) = simulated(300, seed);
            let said = Matrix::new(&said, CLASSES).unwrap();
            let found = measure_corrected(&CorrectedRows::new(said, &observed, &noise).unwrap(), seed).unwrap();
            let names: Vec<&str> = found.iter().map(|measured| measured.name.as_str()).collect();
            assert_eq!(names, ["accuracy", "log_loss", "brier", "ece"]);
            let by_clean = [
                accuracy(&predicted_classes(said).unwrap(), &clean).unwrap(),
                log_loss(said, &clean).unwrap(),
                expected_calibration_error(said, &clean, CALIBRATION_BINS).unwrap(),
            ];
            for ((outside, clean), found) in outside.iter_mut().zip(by_clean).zip([&found[0], &found[1], &found[3]]) {
                *outside += u32::from(!(found.low..=found.high).contains(&clean));
            }
        }
        // One in twenty, and chance.
        assert!(outside.iter().all(|&rows| rows <= 8), "{outside:?}");
        let (said, _, observed) = simulated(1, 1);
        let one = CorrectedRows::new(Matrix::new(&said, CLASSES).unwrap(), &observed, &noise).unwrap();
        assert_eq!(measure_corrected(&one, 0).unwrap(), []);
    }

    #[test]
    fn the_curve_is_short_and_ends_at_the_error_rate() {
        let (said, clean, observed) = simulated(2000, 7);
        let said = Matrix::new(&said, CLASSES).unwrap();
        let wrong = 1.0 - accuracy(&predicted_classes(said).unwrap(), &clean).unwrap();
        let curve = risk_coverage(said, &clean, None, 1).unwrap().unwrap();
        assert_eq!(curve.points.len(), 96);
        let (first, last) = (curve.points[0], curve.points[95]);
        assert!(
            first.0 == 0.05 && first.1 < 0.3 * wrong && last.0 == 1.0 && (last.1 - wrong).abs() < 1e-12,
            "{curve:?}"
        );
        assert!(curve.area.low < curve.area.value && curve.area.value < wrong && !curve.corrected);
        let noise = Transition::uniform(CLASSES, 1.0 / 3.0).unwrap();
        let corrected = risk_coverage(said, &observed, Some(&noise), 1).unwrap().unwrap();
        assert!(corrected.corrected && corrected.area.low < curve.area.value && curve.area.value < corrected.area.high);
        let by_observed = risk_coverage(said, &observed, None, 1).unwrap().unwrap();
        assert!(by_observed.area.low > corrected.area.high, "{:?} {:?}", by_observed.area, corrected.area);
        // Rows that all have the same confidence are one step, however few are wanted.
        let same = Matrix::new(&[0.4f32, 0.6, 0.6, 0.4, 0.4, 0.6], 2).unwrap();
        assert_eq!(risk_coverage(same, &[1, 0, 0], None, 0).unwrap().unwrap().points, [(1.0, 1.0 / 3.0)]);
        assert_eq!(risk_coverage(Matrix::new(&[1.0f32, 0.0], 2).unwrap(), &[0], None, 0).unwrap(), None);
    }
}
