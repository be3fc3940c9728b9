//! The audit of predicted probabilities.

use super::config::{AuditOptions, Filter, ScoreMethod, rows_of_share};
use super::groups::Groups;
use super::joint::NoiseEstimate;
use super::kernel::NO_CLASS;
use super::lowest::mark_lowest;
use super::passes::{Confided, Scanned, confide, scan};
use super::prune::Prune;
use super::source::RowSource;
use super::table::{Audit, first_of};
use crate::error::{Error, Result, check_length, check_parameter};
use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// Ranks the rows by how well their labels fit `pred_probs` (a row each, a column a class), calls some of them label
/// issues, and estimates the noise in the labels.
///
/// The probabilities should come from models that did not train on the row they judge (cross-fitting); for a model that
/// did, see [`super::rank_margins`].
///
/// Reads the matrix twice from end to end, and for the pruning filters once more the rows that the model doubts. Besides
/// the matrix it holds 40 to 70 bytes a row, and some numbers a class.
///
/// ```
/// use cmrm::Matrix;
/// use cmrm::audit::{AuditConfig, rank};
///
/// # fn main() -> cmrm::Result<()> {
/// let probs = [0.9f32, 0.1, 0.8, 0.2, 0.05, 0.95, 0.1, 0.9, 0.2, 0.8];
/// let audit = rank(Matrix::new(&probs, 2)?, &[0, 0, 0, 1, 1], &AuditConfig::default().validate()?)?;
/// assert_eq!(audit.order[0], 2);
/// assert!(audit.is_label_issue[2]);
/// assert_eq!(audit.suggested_label, [0, 0, 1, 1, 1]);
/// # Ok(())
/// # }
/// ```
pub fn rank<T: Scalar + Into<f64>>(pred_probs: Matrix<'_, T>, labels: &[u32], options: &AuditOptions) -> Result<Audit> {
    rank_rows(&pred_probs, labels, options)
}

/// The same for rows that need not be in memory: it reads them twice from end to end, in pieces, and for the filters
/// [`Filter::PruneByNoiseRate`] and [`Filter::Both`] keeps copies of those that the model doubts.
pub fn rank_rows<T, R>(source: &R, labels: &[u32], options: &AuditOptions) -> Result<Audit>
where
    T: Scalar + Into<f64>,
    R: RowSource<T> + ?Sized,
{
    let (rows, classes) = (source.rows(), source.classes());
    check_size(rows, classes)?;
    check_length("labels against rows of probabilities", rows, labels.len())?;
    let config = options.config();
    let Scanned { columns, self_confidence, doubted } = scan::<T, R>(source, labels, config.score)?;
    let groups = Groups::new(labels, classes);
    let thresholds = thresholds(&self_confidence, labels, classes);
    let looked_at_again = matches!(config.filter, Filter::PruneByNoiseRate | Filter::Both).then_some(&doubted[..]);
    let Confided { confident, held } = confide(source, &columns.predicted, &thresholds, looked_at_again)?;
    let noise = NoiseEstimate::new(&groups, &confident, thresholds);
    let order = columns.order(config.score == ScoreMethod::NormalizedMargin);
    let off_diagonal = |row: usize| doubted[row] && confident[row] != NO_CLASS && confident[row] != labels[row];
    let issues = match config.filter {
        Filter::PruneByNoiseRate | Filter::PruneByClass | Filter::Both => {
            let (self_confidence, groups, doubted) = (&self_confidence[..], &groups, &doubted[..]);
            let joint = &noise.joint;
            Prune { held, self_confidence, labels, groups, joint, doubted, config }.issues()?
        }
        Filter::ConfidentLearning => (0..rows).map(off_diagonal).collect(),
        Filter::PredictedNeqGiven => doubted,
        Filter::LowNormalizedMargin => lowest_rows(&columns.margin, (0..rows).filter(|&row| off_diagonal(row)).count()),
        Filter::LowSelfConfidence => lowest_rows(&self_confidence, (0..rows).filter(|&row| off_diagonal(row)).count()),
        Filter::BelowMargin(limit) => columns.margin.iter().map(|&margin| f64::from(margin) < limit).collect(),
        Filter::Fraction(share) => first_of(&order, rows_of_share(share, rows)?),
    };
    drop((confident, self_confidence));
    Ok(columns.finish(labels, &groups, issues, order, Some(noise)))
}

/// At least one row, at least two classes, and no more of either than a `u32` can number.
pub(super) fn check_size(rows: usize, classes: usize) -> Result<()> {
    const MOST: usize = u32::MAX as usize;
    if rows == 0 {
        return Err(Error::Empty { what: "the table to audit" });
    }
    check_parameter("classes", classes as f64, (2..MOST).contains(&classes), "at least two, below 2^32 - 1")?;
    check_parameter("rows", rows as f64, rows <= MOST, "at most 2^32 - 1; audit the table in parts")
}

fn lowest_rows<T: Scalar>(values: &[T], count: usize) -> Vec<bool> {
    let mut issues = vec![false; values.len()];
    mark_lowest(values, count, &mut Vec::new(), |row| issues[row] = true);
    issues
}

/// Mean probability of each class over the rows given it, added in row order whatever the number of threads.
fn thresholds<T: Scalar>(self_confidence: &[T], labels: &[u32], classes: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0u32); classes];
    for (&p, &label) in self_confidence.iter().zip(labels) {
        let (sum, rows) = &mut sums[label as usize];
        *sum += p.to_f64();
        *rows += 1;
    }
    sums.into_iter().map(|(sum, rows)| (rows > 0).then(|| sum / f64::from(rows))).collect()
}
