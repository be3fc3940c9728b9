//! The audit of a training record.

use super::config::{MarginFilter, MarginOptions, rows_of_share};
use super::groups::Groups;
use super::kernel::normalised_margin;
use super::rank::check_size;
use super::table::{Audit, Columns, first_of};
use crate::error::{Error, Result, check_labels, check_length};

/// How far a margin may leave `[-1, 1]` by rounding.
const SLACK: f32 = 1e-5;

/// Ranks the rows by the margins that one training run recorded, without probabilities or cross-fitting.
///
/// `margins` are probabilities of the label minus those of the strongest other class, of the last epoch or averaged over
/// epochs, in `[-1, 1]`; `rivals` are those other classes. The score is the normalised margin, `(M + 1)/2`.
///
/// By default a row is an issue if its margin is negative, that is if the model ended up with another class although it
/// was trained towards this label. For that the fit must be one that does not learn wrong labels by heart, which is what
/// the envelope is for; on the record of an ordinary fit that reaches every label, prefer
/// [`MarginFilter::Fraction`] or [`super::rank`] on cross-fitted probabilities.
///
/// There is no confident joint without probabilities, so [`Audit::noise`] is `None`; the share of issues and
/// [`Audit::suggestions`] take its place.
///
/// ```
/// use cmrm::audit::{MarginOptions, rank_margins};
///
/// # fn main() -> cmrm::Result<()> {
/// let audit = rank_margins(&[0.8, -0.6, 0.1], &[1, 2, 0], &[0, 1, 2], 3, &MarginOptions::default())?;
/// assert_eq!(audit.order, [1, 2, 0]);
/// assert_eq!(audit.suggested_label, [0, 2, 2]);
/// # Ok(())
/// # }
/// ```
pub fn rank_margins(
    margins: &[f32],
    rivals: &[u32],
    labels: &[u32],
    classes: usize,
    options: &MarginOptions,
) -> Result<Audit> {
    check_margins(margins)?;
    let score = margins.iter().map(|&m| normalised_margin(f64::from(m)).clamp(0.0, 1.0) as f32).collect();
    rank_by(score, true, margins, rivals, labels, classes, options)
}

/// [`rank_margins`] with the rows in the order of `confidences`, the probabilities of their given labels, which become the
/// scores. Which rows are issues is still a matter of the margins, unless it is a [`MarginFilter::Fraction`] of them.
pub fn rank_confidences(
    confidences: &[f32],
    margins: &[f32],
    rivals: &[u32],
    labels: &[u32],
    classes: usize,
    options: &MarginOptions,
) -> Result<Audit> {
    check_margins(margins)?;
    check_length("confidences against margins", margins.len(), confidences.len())?;
    // NaN is not within either.
    if let Some(row) = confidences.iter().position(|p| !(-SLACK..=1.0 + SLACK).contains(p)) {
        let (what, expected) = ("probability of the given label", "a number from 0 to 1");
        return Err(Error::Value { what, row, value: confidences[row].to_string(), expected });
    }
    let score = confidences.iter().map(|p| p.clamp(0.0, 1.0)).collect();
    rank_by(score, false, margins, rivals, labels, classes, options)
}

fn rank_by(
    score: Vec<f32>,
    by_margin: bool,
    margins: &[f32],
    rivals: &[u32],
    labels: &[u32],
    classes: usize,
    options: &MarginOptions,
) -> Result<Audit> {
    check_size(margins.len(), classes)?;
    check_length("labels against margins", margins.len(), labels.len())?;
    check_length("rivals against margins", margins.len(), rivals.len())?;
    check_labels(labels, classes)?;
    check_rivals(rivals, labels, classes)?;
    let columns = Columns {
        score,
        margin: margins.to_vec(),
        predicted: (0..margins.len()).map(|row| predicted(margins[row], rivals[row], labels[row])).collect(),
        rival: rivals.to_vec(),
    };
    let order = columns.order(by_margin);
    let issues = match options.config().filter {
        MarginFilter::BelowMargin(limit) => margins.iter().map(|&margin| f64::from(margin) < limit).collect(),
        MarginFilter::Fraction(share) => first_of(&order, rows_of_share(share, margins.len())?),
    };
    Ok(columns.finish(labels, &Groups::new(labels, classes), issues, order, None))
}

/// The class with the higher probability; the lower index if the margin is zero.
fn predicted(margin: f32, rival: u32, label: u32) -> u32 {
    if margin < 0.0 || (margin == 0.0 && rival < label) { rival } else { label }
}

fn check_margins(margins: &[f32]) -> Result<()> {
    // NaN is not within either.
    let within = |m: &f32| m.abs() <= 1.0 + SLACK;
    match margins.iter().position(|m| !within(m)) {
        None => Ok(()),
        Some(row) => Err(Error::Value {
            what: "margin",
            row,
            value: margins[row].to_string(),
            expected: "a difference of probabilities, between -1 and 1 (not of logits)",
        }),
    }
}

fn check_rivals(rivals: &[u32], labels: &[u32], classes: usize) -> Result<()> {
    let is_rival = |row: usize| (rivals[row] as usize) < classes && rivals[row] != labels[row];
    match (0..rivals.len()).find(|&row| !is_rival(row)) {
        None => Ok(()),
        Some(row) => Err(Error::Invalid {
            what: "rival classes",
            reason: format!(
                "row {row}: class {} must be below the number of classes {classes} and differ from the label {}",
                rivals[row], labels[row]
            ),
        }),
    }
}
