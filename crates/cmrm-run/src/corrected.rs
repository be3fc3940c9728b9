//! How good a model is by the true classes of rows, told from labels that may be wrong.

use cmrm::Matrix;
use cmrm::metric::{self, ConfidenceRanks, CorrectedRows};
use cmrm::noise_model::{NoiseModel, Transition};
use cmrm_report::{Estimate, RiskCoverage};

use crate::compare::{resampled, times};
use crate::error::Result;
use crate::judge::{CALIBRATION_BINS, Measured, mean};

/// Least share of the rows at which a curve of risks begins: of fewer the risk is chance.
const LEAST_COVERAGE: f64 = 0.05;
/// From the ends of a 90 % interval to those of a 95 % interval.
const WIDER: f64 = 1.96 / 1.645;

/// What probabilities of the true classes are worth by labels with this noise: [`CorrectedRows`] at the estimated rate, and at the ends of its
/// interval.
pub struct Corrected {
    rows: CorrectedRows,
    ends: Vec<CorrectedRows>,
    seed: u64,
}

impl Corrected {
    /// Of rows that were judged.
    pub fn new(probabilities: Matrix<'_, f32>, labels: &[u32], noise: &NoiseModel, seed: u64) -> Result<Self> {
        let at = |transition: &Transition| CorrectedRows::new(probabilities, labels, transition);
        // At a rate at which labels say nothing, nothing can be told.
        let ends = noise.interval.into_iter().filter_map(|rate| noise.at_rate(rate).ok());
        let ends = ends.map(|transition| at(&transition)).collect::<cmrm::Result<_>>()?;
        Ok(Corrected { rows: at(&noise.transition)?, ends, seed })
    }

    /// Accuracy, log loss, Brier score and calibration error; none from a single row.
    pub fn metrics(&self) -> Result<Vec<Measured>> {
        let calibration_error = |of: &CorrectedRows, drawn: &[usize]| {
            let times = times(drawn, of.right.len()).into_iter().enumerate();
            let each = times.map(|(row, times)| (of.calibration(row), times));
            metric::calibration_error_beyond(each, CALIBRATION_BINS)
        };
        let measured = [
            ("accuracy", self.estimate(|of, drawn| mean(&of.right, drawn))?),
            ("log_loss", self.estimate(|of, drawn| mean(&of.log_loss, drawn))?),
            ("brier", self.estimate(|of, drawn| mean(&of.brier, drawn))?),
            ("ece", self.estimate(calibration_error)?),
        ];
        let known = measured.into_iter().filter_map(|(name, of)| {
            let Estimate { value, low, high } = of?;
            Some(Measured { name: name.into(), value, low, high })
        });
        Ok(known.collect())
    }

    /// The error rate among the rows that the model is surest of; nothing from a single row.
    pub fn risk_coverage(&self) -> Result<Option<RiskCoverage>> {
        // The same at all rates.
        let ranks = ConfidenceRanks::new(&self.rows.confidence);
        let area = self.estimate(|of, drawn| ranks.area(&of.right, &times(drawn, of.right.len())))?;
        curve(&self.rows.confidence, &self.rows.right, area, true)
    }

    /// A metric of drawn rows, with a 95 % interval for the rows drawn and for the noise: both move it independently of each other, so that their
    /// distances add up by squares.
    fn estimate(&self, of: impl Fn(&CorrectedRows, &[usize]) -> f64) -> Result<Option<Estimate>> {
        let rows = self.rows.right.len();
        let Some(found) = resampled(rows, self.seed, |drawn| of(&self.rows, drawn))? else { return Ok(None) };
        let all: Vec<usize> = (0..rows).collect();
        let ends = || self.ends.iter().map(|end| of(end, &all));
        let (lowest, highest) = (ends().fold(found.value, f64::min), ends().fold(found.value, f64::max));
        // Resampling adds to a calibration error: the interval of a small one may begin above it.
        let rows_below = (found.value - found.low).max(0.0);
        let rows_above = (found.high - found.value).max(0.0);
        Ok(Some(Estimate {
            value: found.value,
            low: found.value - rows_below.hypot(WIDER * (found.value - lowest)),
            high: found.value + rows_above.hypot(WIDER * (highest - found.value)),
        }))
    }
}

/// The error rate by the labels themselves among the rows that a model is surest of; nothing from a single row.
pub fn risk_coverage(probabilities: Matrix<'_, f32>, labels: &[u32], seed: u64) -> Result<Option<RiskCoverage>> {
    let predicted = metric::predicted_classes(probabilities)?;
    let confidence = probabilities.iter_rows().zip(&predicted).map(|(row, &class)| row[class as usize].into());
    let right = predicted.iter().zip(labels).map(|(class, label)| f64::from(u8::from(class == label)));
    let (confidence, right): (Vec<f64>, Vec<f64>) = (confidence.collect(), right.collect());
    let ranks = ConfidenceRanks::new(&confidence);
    let area = resampled(labels.len(), seed, |drawn| ranks.area(&right, &times(drawn, right.len())))?;
    curve(&confidence, &right, area, false)
}

/// The curve with one point for every whole per cent of the rows: the first step that reaches it.
fn curve(confidence: &[f64], right: &[f64], area: Option<Estimate>, corrected: bool) -> Result<Option<RiskCoverage>> {
    let Some(area) = area else { return Ok(None) };
    let mut percents = (0..=100).map(|percent| f64::from(percent) / 100.0).filter(|&share| share >= LEAST_COVERAGE);
    let mut next = percents.next();
    let mut points = Vec::new();
    for step in metric::risk_coverage(confidence, right)?.steps {
        if next.is_some_and(|next| step.coverage >= next) {
            points.push((step.coverage, step.risk));
            next = percents.find(|&share| share > step.coverage);
        }
    }
    Ok(Some(RiskCoverage { points, area, corrected }))
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

    fn noise() -> NoiseModel {
        NoiseModel::known(Transition::uniform(CLASSES, 1.0 / 3.0).unwrap(), &[0.25; CLASSES]).unwrap()
    }

    #[test]
    fn intervals_by_wrong_labels_hold_what_clean_labels_say() {
        let noise = noise();
        let mut outside = [0; 3];
        for seed in 0..60 {
            let (said, clean, observed) = simulated(300, seed);
            let said = Matrix::new(&said, CLASSES).unwrap();
            let found = Corrected::new(said, &observed, &noise, seed).unwrap().metrics().unwrap();
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
        let one = Corrected::new(Matrix::new(&said, CLASSES).unwrap(), &observed, &noise, 0).unwrap();
        assert_eq!((one.metrics().unwrap(), one.risk_coverage().unwrap()), (Vec::new(), None));
    }

    #[test]
    fn an_uncertain_rate_widens_the_interval_on_its_side() {
        let (said, _, observed) = simulated(2000, 3);
        let accuracy = |noise: &NoiseModel| {
            let found = Corrected::new(Matrix::new(&said, CLASSES).unwrap(), &observed, noise, 0).unwrap();
            found.metrics().unwrap().remove(0)
        };
        let (known, uncertain) = (noise(), NoiseModel { interval: [1.0 / 3.0, 0.4], ..noise() });
        let (known, uncertain) = (accuracy(&known), accuracy(&uncertain));
        assert_eq!((known.value, known.low), (uncertain.value, uncertain.low));
        assert!(
            uncertain.high > known.high + 0.02,
            "more wrong labels, more right predictions: {known:?} {uncertain:?}"
        );
    }

    #[test]
    fn the_curve_is_short_and_ends_at_the_error_rate() {
        let (said, clean, observed) = simulated(2000, 7);
        let said = Matrix::new(&said, CLASSES).unwrap();
        let wrong = 1.0 - accuracy(&predicted_classes(said).unwrap(), &clean).unwrap();
        let curve = risk_coverage(said, &clean, 1).unwrap().unwrap();
        assert_eq!(curve.points.len(), 96);
        let (first, last) = (curve.points[0], curve.points[95]);
        assert!(
            first.0 == 0.05 && first.1 < 0.3 * wrong && last.0 == 1.0 && (last.1 - wrong).abs() < 1e-12,
            "{curve:?}"
        );
        assert!(curve.area.low < curve.area.value && curve.area.value < wrong && !curve.corrected);
        let corrected = Corrected::new(said, &observed, &noise(), 1).unwrap().risk_coverage().unwrap().unwrap();
        assert!(corrected.corrected && corrected.area.low < curve.area.value && curve.area.value < corrected.area.high);
        let by_observed = risk_coverage(said, &observed, 1).unwrap().unwrap();
        assert!(by_observed.area.low > corrected.area.high, "{:?} {:?}", by_observed.area, corrected.area);
        // Rows that all have the same confidence are one step, however few are wanted.
        let same = Matrix::new(&[0.4f32, 0.6, 0.6, 0.4, 0.4, 0.6], 2).unwrap();
        assert_eq!(risk_coverage(same, &[1, 0, 0], 0).unwrap().unwrap().points, [(1.0, 1.0 / 3.0)]);
        assert_eq!(risk_coverage(Matrix::new(&[1.0f32, 0.0], 2).unwrap(), &[0], 0).unwrap(), None);
    }
}
