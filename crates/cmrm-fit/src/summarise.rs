//! From a fit in memory to its summary.

use cmrm::Matrix;
use cmrm::conformal::{self, ConformalConfig};
use cmrm::metric::{predicted_classes, wilson};
use cmrm_data::Dataset;
use cmrm_run::judge::{LEVEL, compare, mean_interval, measure};
use cmrm_run::summary::{ArmSummary, DataSummary, FitSummary, Labels, SCHEMA, SetSummary};
use cmrm_run::{RunInfo, Suspects, TrainingRows};
use cmrm_train::train::Trained;

use crate::config::FitConfig;
use crate::error::Result;
use crate::prepare::Prepared;

/// Everything a summary is made of.
pub struct Parts<'a> {
    /// The settings.
    pub config: &'a FitConfig,
    /// The data.
    pub prepared: &'a Prepared,
    /// Where the run is kept.
    pub run: String,
    /// The arms.
    pub trained: &'a [Trained<f32>],
    /// What training saw of the rows.
    pub rows: &'a TrainingRows<'a>,
    /// The rows to judge by.
    pub test: Option<&'a Dataset>,
    /// Which labels those have.
    pub labels: Labels,
    /// What the run is about.
    pub info: &'a RunInfo,
}

/// Judges the arms and sums the fit up.
pub fn summarise(parts: Parts<'_>) -> Result<FitSummary> {
    let Parts { config, prepared, run, trained, rows, test, labels, info } = parts;
    let mut arms = Vec::new();
    let mut predictions = Vec::new();
    for arm in trained {
        let (mut metrics, mut sets) = (Vec::new(), None);
        if let Some(test) = test {
            let probabilities = arm.model.probabilities(test.matrix()?)?;
            let probabilities = Matrix::new(&probabilities, test.classes.len())?;
            metrics = measure(probabilities, &test.labels, config.seed)?;
            predictions.push(predicted_classes(probabilities)?);
            sets = prediction_sets(prepared, arm, probabilities, test, labels, config.seed)?;
        }
        arms.push(ArmSummary { name: arm.name.clone(), epoch: arm.epoch, metrics, sets });
    }
    let difference = match (test, predictions.as_slice()) {
        (Some(test), [base, robust]) => Some(compare(base, robust, &test.labels, config.seed)?),
        _ => None,
    };
    let train = &prepared.split.train;
    let wrong_share = prepared.clean.as_ref().map(|clean| {
        train.iter().filter(|&&i| clean[i] != prepared.data.labels[i]).count() as f64 / train.len() as f64
    });
    Ok(FitSummary {
        schema: SCHEMA.into(),
        run,
        data: DataSummary {
            name: prepared.name.clone(),
            train_rows: train.len(),
            validation_rows: prepared.split.validation.len(),
            judged_rows: test.map_or(0, Dataset::len),
            unlabelled_rows: prepared.unlabelled,
            features: prepared.data.width(),
            classes: prepared.data.classes.len(),
            noise: config.noise.as_ref().map(ToString::to_string),
            wrong_share,
        },
        judged_by: labels,
        arms,
        difference,
        suspects: Suspects::find(rows),
        seed: config.seed,
        threads: rayon::current_num_threads(),
        version: info.version.clone(),
        fingerprint: info.fingerprint.clone(),
    })
}

/// Sets for the judged rows, unless those are the rows that would calibrate.
fn prediction_sets(
    prepared: &Prepared,
    arm: &Trained<f32>,
    probabilities: Matrix<'_, f32>,
    test: &Dataset,
    labels: Labels,
    seed: u64,
) -> Result<Option<SetSummary>> {
    if labels == Labels::ObservedValidation || prepared.split.validation.is_empty() {
        return Ok(None);
    }
    let validation = prepared.data.gather(&prepared.split.validation)?;
    let calibration = arm.model.probabilities(validation.matrix()?)?;
    let config = ConformalConfig::default();
    let wanted = config.coverage;
    let conformal = config.validate()?;
    let calibration = Matrix::new(&calibration, test.classes.len())?;
    let sets = conformal.calibrate(calibration, &validation.labels, &[])?.predict(probabilities, &[])?;
    let report = conformal::evaluate(&sets, &test.labels)?;
    let covered = (0..test.len()).filter(|&row| sets.contains(row, test.labels[row])).count();
    let coverage = wilson(covered, test.len(), LEVEL)?;
    let sizes: Vec<f64> = sets.sizes().map(|size| size as f64).collect();
    let size = mean_interval(&sizes, seed)?;
    Ok(Some(SetSummary {
        wanted,
        coverage: report.coverage,
        coverage_interval: [coverage.low, coverage.high],
        mean_size: report.mean_size,
        size_interval: [size.low, size.high],
    }))
}
