//! How good a model is on rows with known labels, with intervals.

use cmrm::Matrix;
use cmrm::metric::{self, BootstrapConfig};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Confidence of every interval.
pub const LEVEL: f64 = 0.95;
/// Numbers that all resamples of one metric may touch; more rows get fewer resamples.
const RESAMPLED_ROWS: usize = 4_000_000;
/// Bins of the calibration error: the usual number.
pub(crate) const CALIBRATION_BINS: usize = 15;

/// One metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

pub(crate) fn resampling(rows: usize, seed: u64) -> BootstrapConfig {
    BootstrapConfig { resamples: (RESAMPLED_ROWS / rows.max(1)).clamp(100, 1000), level: LEVEL, seed }
}

/// Every metric that the labels allow. Accuracy has a Wilson interval, the others a bootstrap over the rows.
pub fn measure(probabilities: Matrix<'_, f32>, labels: &[u32], seed: u64) -> Result<Vec<Measured>> {
    let classes = probabilities.columns();
    let predicted = metric::predicted_classes(probabilities)?;
    let right = predicted.iter().zip(labels).filter(|(a, b)| a == b).count();
    let interval = metric::wilson(right, labels.len(), LEVEL)?;
    let mut measured = vec![Measured {
        name: "accuracy".into(),
        value: metric::accuracy(&predicted, labels)?,
        low: interval.low,
        high: interval.high,
    }];
    let config = resampling(labels.len(), seed);
    let pick = |values: &[u32], rows: &[usize]| rows.iter().map(|&i| values[i]).collect::<Vec<u32>>();
    let positive: Vec<f32> = probabilities.iter_rows().map(|row| row[classes.min(2) - 1]).collect();
    let scores = |rows: &[usize]| rows.iter().map(|&i| positive[i]).collect::<Vec<f32>>();
    type Metric<'a> = &'a (dyn Fn(&[usize]) -> cmrm::Result<f64> + Sync);
    let balanced: Metric<'_> = &|rows| metric::balanced_accuracy(&pick(&predicted, rows), &pick(labels, rows), classes);
    let macro_f1: Metric<'_> = &|rows| metric::macro_f1(&pick(&predicted, rows), &pick(labels, rows), classes);
    let auroc: Metric<'_> = &|rows| metric::auroc(&scores(rows), &pick(labels, rows));
    let auprc: Metric<'_> = &|rows| metric::average_precision(&scores(rows), &pick(labels, rows));
    let fpr: Metric<'_> = &|rows| metric::false_positive_rate(&pick(&predicted, rows), &pick(labels, rows));
    let fnr: Metric<'_> = &|rows| metric::false_negative_rate(&pick(&predicted, rows), &pick(labels, rows));
    // What is a mean over the rows is computed once for each of them, not in every sample.
    let of_rows = |of: fn(Matrix<'_, f32>, &[u32]) -> cmrm::Result<f64>| {
        let one = |(row, label): (&[f32], &u32)| of(Matrix::new(row, classes)?, std::slice::from_ref(label));
        probabilities.iter_rows().zip(labels).map(one).collect::<cmrm::Result<Vec<f64>>>()
    };
    let (losses, squares) = (of_rows(metric::log_loss)?, of_rows(metric::brier)?);
    let among_five = of_rows(|row, label| metric::top_k_accuracy(row, label, 5))?;
    let top_5: Metric<'_> = &|rows| Ok(mean(&among_five, rows));
    let log_loss: Metric<'_> = &|rows| Ok(mean(&losses, rows));
    let brier: Metric<'_> = &|rows| Ok(mean(&squares, rows));
    let confidence = |row: usize| f64::from(probabilities.row(row)[predicted[row] as usize]);
    let told: Vec<(f64, bool)> = (0..labels.len()).map(|i| (confidence(i), predicted[i] == labels[i])).collect();
    let ece: Metric<'_> = &|rows| Ok(metric::calibration_error_of(rows.iter().map(|&i| told[i]), CALIBRATION_BINS));
    let mut wanted = vec![("balanced_accuracy", balanced), ("macro_f1", macro_f1)];
    match classes {
        2 => wanted.extend([("auroc", auroc), ("auprc", auprc), ("fpr", fpr), ("fnr", fnr)]),
        6.. => wanted.push(("top_5_accuracy", top_5)),
        _ => {}
    }
    wanted.extend([("log_loss", log_loss), ("brier", brier), ("ece", ece)]);
    let resampled = wanted.par_iter().map(|(name, of)| {
        // A metric that these labels do not define (an AUROC of one class, say) is left out.
        let found = metric::bootstrap(labels.len(), &config, of).ok()?;
        let metric::Interval { low, high, .. } = found.interval;
        Some(Measured { name: (*name).into(), value: found.estimate, low, high })
    });
    measured.extend(resampled.collect::<Vec<_>>().into_iter().flatten());
    Ok(measured)
}

/// Interval of the mean of `values` by resampling them. A single one says nothing about the others: then it is the whole
/// `range` of what they can be.
pub fn mean_interval(values: &[f64], range: (f64, f64), seed: u64) -> Result<metric::Interval> {
    if values.len() < 2 {
        return Ok(metric::Interval { low: range.0, high: range.1, level: LEVEL });
    }
    Ok(metric::bootstrap(values.len(), &resampling(values.len(), seed), |rows| Ok(mean(values, rows)))?.interval)
}

pub(crate) fn mean(values: &[f64], rows: &[usize]) -> f64 {
    rows.iter().map(|&i| values[i]).sum::<f64>() / rows.len() as f64
}
