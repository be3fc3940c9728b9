//! Weights for any learner that takes them: from probabilities of models that have not seen the row.

use super::base_filter::{faded, weigh};
use super::config::{
    Envelope, EnvelopeConfig, Fade, Filter, MarginKind, Normaliser, QuantileKind, Scale, Scope, Start,
};
use crate::conformal::check_probabilities;
use crate::error::{Error, Result, check_labels, check_length, check_parameter, check_row_weights};
use crate::matrix::Matrix;
use crate::scores::strongest_other;

/// The settings of [`out_of_sample_weights`] where a user names none. A sharper filter than that of `robust`: a margin of
/// a model that has not seen the row says more than one of the training itself. There is no risk, since the learner has no
/// place for one.
pub const OUT_OF_SAMPLE: EnvelopeConfig = EnvelopeConfig {
    lambda: 0.0,
    alpha: 0.5,
    temperature: 0.1,
    margin: MarginKind::Probability,
    quantile: QuantileKind::Conformal,
    normaliser: Normaliser::Mean,
    start: Start::Fraction(0.0),
    fresh_optimiser: false,
    filter: Filter::Soft,
    scope: Scope::Class,
    ceiling: Some(0.0),
    scale: Scale::Fixed,
    filter_base: true,
    running: None,
    limit: None,
    fade: Some(Fade { margin: -0.3, share: 0.2 }),
};

/// What [`out_of_sample_weights`] finds; one entry per row.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfSample {
    /// Probability of the label minus that of the strongest other class.
    pub margins: Vec<f32>,
    /// That other class; the lowest of several.
    pub rivals: Vec<u32>,
    /// What the row should count in a fit, in `[0, 1]`; to be multiplied with a weight of its own.
    pub weights: Vec<f32>,
    /// How much of the filter has faded: 1 where labels are not in doubt and all weights are one, 0 where it acts in full.
    pub fade: f64,
}

/// From probabilities of models that have not seen the row (folds, out-of-bag) to the weights of the rows.
///
/// With margins `M_i = p[y_i] − max_{k≠y_i} p[k]`, thresholds `τ` (with [`OUT_OF_SAMPLE`] by class and never above 0) and
/// the fade `f`, the weights are `f + (1−f) σ((M_i − τ)/temp)`. Row weights count in the fade; they do not move `τ`.
///
/// Every row must have a probability for each class, and at least two classes are needed. A model that has never seen the
/// row's own class has no opinion on it: give such a row equal probabilities, which is a margin of zero.
///
/// ```
/// use cmrm::Matrix;
/// use cmrm::envelope::{OUT_OF_SAMPLE, out_of_sample_weights};
///
/// # fn main() -> cmrm::Result<()> {
/// let probabilities = [0.9, 0.1, 0.8, 0.2, 0.05, 0.95, 0.1, 0.9, 0.2, 0.8];
/// let found = out_of_sample_weights(&OUT_OF_SAMPLE.validate()?, Matrix::new(&probabilities, 2)?, &[0, 0, 0, 1, 1], None)?;
/// assert!(found.weights[2] < 0.01 && found.weights[0] > 0.99);
/// # Ok(())
/// # }
/// ```
pub fn out_of_sample_weights(
    envelope: &Envelope,
    probabilities: Matrix<'_, f32>,
    labels: &[u32],
    row_weights: Option<&[f32]>,
) -> Result<OutOfSample> {
    let (rows, classes) = (probabilities.rows(), probabilities.columns());
    if rows == 0 {
        return Err(Error::Empty { what: "the table to weigh" });
    }
    let kind = envelope.config().margin;
    if kind != MarginKind::Probability {
        return Err(Error::Invalid {
            what: "margin",
            reason: format!("{kind:?} cannot be had from probabilities; use the margin probability"),
        });
    }
    check_parameter("classes", classes as f64, classes >= 2, "at least two")?;
    check_length("labels against rows of probabilities", rows, labels.len())?;
    check_labels(labels, classes)?;
    check_row_weights(row_weights, rows)?;
    check_probabilities(probabilities)?;
    let (mut margins, mut rivals) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for (row, &label) in probabilities.iter_rows().zip(labels) {
        // There are two classes or more, so there is another one.
        let rival = strongest_other(row, label as usize).unwrap_or(0);
        margins.push(row[label as usize] - row[rival]);
        rivals.push(rival as u32);
    }
    let fade = faded(envelope.config().fade, &margins, row_weights);
    let (mut weights, mut thresholds) = (vec![0.0; rows], vec![0.0; rows]);
    weigh(envelope, &margins, labels, fade, &mut weights, &mut thresholds, &mut Vec::new());
    Ok(OutOfSample { margins, rivals, weights, fade })
}
