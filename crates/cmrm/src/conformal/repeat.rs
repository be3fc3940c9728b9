//! The same evaluation over several random calibration splits, so that one lucky split decides nothing.

use serde::{Deserialize, Serialize};

use super::calibrate::{Conformal, draw_uniforms};
use super::config::ScoreKind;
use super::evaluate::{ClassSets, SetReport, evaluate};
use super::split::CalibrationSplit;
use crate::error::{Result, check_parameter};
use crate::matrix::Matrix;
use crate::rng::Rng;

/// Stream of the split of repeat 0; repeat r uses the r-th stream after it.
const SPLIT_STREAM: u64 = 0x636f_6e66_0002_0000;

/// How often to split, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepeatConfig {
    /// Number of splits; at least 1.
    pub repeats: usize,
    /// How rows are divided.
    pub split: CalibrationSplit,
    /// Seed of the splits and of the uniform numbers of randomised APS.
    pub seed: u64,
}

impl Default for RepeatConfig {
    fn default() -> Self {
        RepeatConfig { repeats: 10, split: CalibrationSplit::Fraction(0.5), seed: 0 }
    }
}

/// Mean and standard deviation over splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation (divided by the number of splits less one); 0 for one split.
    pub standard_deviation: f64,
}

impl Spread {
    /// Of the given numbers; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let standard_deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Some(Spread { mean, standard_deviation })
    }
}

/// Set quality over all splits. The spread is that of the splits of one test set, not of new test sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatedReport {
    /// Share of rows whose set holds the label.
    pub coverage: Spread,
    /// Mean set size (M.APSS).
    pub mean_size: Spread,
    /// Share of empty sets.
    pub empty_rate: Spread,
    /// Per class, by class index; entry 1 and 0 of binary problems are PC and NC APSS.
    pub per_class: Vec<RepeatedClass>,
    /// Each split's own report, in order.
    pub runs: Vec<SetReport>,
}

/// One class over all splits that had test rows of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatedClass {
    /// Coverage within the class.
    pub coverage: Option<Spread>,
    /// Mean set size over the class's rows.
    pub mean_size: Option<Spread>,
}

/// Calibrates on one part and evaluates on the rest, for each of several random splits. The rows must be ones that the
/// model was not trained on, with labels that can be trusted. Randomised APS draws one uniform number a row for all
/// splits.
pub fn repeat_splits<T: Copy + Into<f64>>(
    conformal: &Conformal,
    probabilities: Matrix<'_, T>,
    labels: &[u32],
    config: &RepeatConfig,
) -> Result<RepeatedReport> {
    check_parameter("repeats", config.repeats as f64, config.repeats > 0, "at least 1")?;
    let uniforms = match conformal.config().score {
        ScoreKind::ApsRandomised => draw_uniforms(probabilities.rows(), config.seed),
        _ => Vec::new(),
    };
    // A row's score depends on the row alone: computed once, every split picks from it.
    let scores = conformal.scores(probabilities, labels, &uniforms)?;
    let mut runs = Vec::new();
    for repeat in 0..config.repeats {
        let mut rng = Rng::new(config.seed, SPLIT_STREAM.wrapping_add(repeat as u64));
        let split = config.split.draw(labels, &mut rng)?;
        let pick_labels = |rows: &[usize]| rows.iter().map(|&row| labels[row]).collect::<Vec<u32>>();
        let calibration_scores = split.calibration.iter().map(|&row| scores[row]).collect();
        let calibration_labels = pick_labels(&split.calibration);
        let predictor =
            conformal.predictor_from_scores(calibration_scores, &calibration_labels, probabilities.columns())?;
        let sets = predictor.predict_checked(probabilities, &uniforms, split.test.iter().copied());
        runs.push(evaluate(&sets, &pick_labels(&split.test))?);
    }
    Ok(summarise(runs, probabilities.columns()))
}

fn summarise(runs: Vec<SetReport>, classes: usize) -> RepeatedReport {
    let none = Spread { mean: f64::NAN, standard_deviation: f64::NAN };
    // There is at least one run, so the fallback is never seen.
    let over = |pick: fn(&SetReport) -> f64| Spread::of(&runs.iter().map(pick).collect::<Vec<_>>()).unwrap_or(none);
    let within = |class: usize, pick: fn(&ClassSets) -> Option<f64>| {
        Spread::of(&runs.iter().filter_map(|run| pick(&run.per_class[class])).collect::<Vec<_>>())
    };
    let per_class = (0..classes)
        .map(|class| RepeatedClass {
            coverage: within(class, |sets| sets.coverage),
            mean_size: within(class, |sets| sets.mean_size),
        })
        .collect();
    RepeatedReport {
        coverage: over(|run| run.coverage),
        mean_size: over(|run| run.mean_size),
        empty_rate: over(|run| run.empty_rate),
        per_class,
        runs,
    }
}
