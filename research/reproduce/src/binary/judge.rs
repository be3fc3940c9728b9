//! The eight metrics of the binary tables, by clean test labels.

use std::collections::BTreeMap;

use cmrm::Matrix;
use cmrm::conformal::{ConformalConfig, RepeatConfig, repeat_splits};
use cmrm::metric::{BinaryCounts, accuracy, auroc, average_precision};
use cmrm_train::Model;

use crate::data::Split;
use crate::error::Result;

/// A metric of the tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metric {
    /// Its key in the results.
    pub key: &'static str,
    /// Its name in tables.
    pub name: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// What it is multiplied by in tables.
    pub scale: f64,
}

const fn metric(key: &'static str, name: &'static str, more_is_better: bool, scale: f64) -> Metric {
    Metric { key, name, more_is_better, scale }
}

/// The metrics in the order of the tables.
pub(crate) const METRICS: [Metric; 8] = [
    metric("accuracy", "accuracy", true, 100.0),
    metric("auroc", "AUROC", true, 100.0),
    metric("auprc", "AUPRC", true, 100.0),
    metric("fpr", "FPR", false, 100.0),
    metric("fnr", "FNR", false, 100.0),
    metric("m-apss", "M.APSS", false, 1.0),
    metric("pc-apss", "PC APSS", false, 1.0),
    metric("nc-apss", "NC APSS", false, 1.0),
];

/// All metrics of a model. Sets: LAC at coverage 0.9, mean over ten random halves of the test rows.
pub(super) fn judge(model: &Model<f32>, split: &Split, seed: u64) -> Result<BTreeMap<String, f64>> {
    let logits = model.logits(split.x_test()?)?;
    // The difference of the logits orders as the probability does, and does not saturate.
    let scores: Vec<f32> = logits.chunks_exact(2).map(|z| z[1] - z[0]).collect();
    let predicted: Vec<u32> = scores.iter().map(|&score| u32::from(score > 0.0)).collect();
    let probabilities = model.probabilities(split.x_test()?)?;
    let counts = BinaryCounts::new(&predicted, &split.truth)?;
    let conformal = ConformalConfig::default().validate()?;
    let repeat = RepeatConfig { seed, ..RepeatConfig::default() };
    let sets = repeat_splits(&conformal, Matrix::new(&probabilities, 2)?, &split.truth, &repeat)?;
    let of_class = |class: usize| sets.per_class[class].mean_size.map(|spread| spread.mean);
    let mut found = BTreeMap::from([
        ("accuracy".to_owned(), accuracy(&predicted, &split.truth)?),
        ("auroc".to_owned(), auroc(&scores, &split.truth)?),
        ("auprc".to_owned(), average_precision(&scores, &split.truth)?),
        ("fpr".to_owned(), counts.false_positive_rate()?),
        ("fnr".to_owned(), counts.false_negative_rate()?),
        ("m-apss".to_owned(), sets.mean_size.mean),
        ("coverage".to_owned(), sets.coverage.mean),
        ("empty-sets".to_owned(), sets.empty_rate.mean),
    ]);
    found.extend(of_class(1).map(|size| ("pc-apss".to_owned(), size)));
    found.extend(of_class(0).map(|size| ("nc-apss".to_owned(), size)));
    Ok(found)
}
