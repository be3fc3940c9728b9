//! What label noise can do to the filter, checked against the clean labels.

use serde::{Deserialize, Serialize};

use super::order::{check_level, quantile_rank, smallest};
use crate::conformal::check_probabilities;
use crate::error::{Error, Result, check_labels, check_length, check_parameter};
use crate::matrix::Matrix;
use crate::scores::strongest_other;

/// Two claims about a filter that was calibrated on noisy labels, and whether these rows bear them out.
///
/// The first: P_clean(M ≥ τ) lies within 1−α ± δ_w. The second: the noisy and the clean risk differ by at most
/// α + 3δ_w. The noisy risk is −mean(M·1\[M ≥ τ\]) over the observed labels, with the hard filter; the clean risk is
/// −mean(M) over the clean labels. Flipped labels move an average of numbers in [−1, 1] by at most 2δ_w, and dropping
/// the rows below τ costs at most P_clean(M < τ) ≤ α + δ_w: together the stated bound.
///
/// Both are statements about probabilities; of `rows` rows they can be off by `slack`, which is added to the limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CleanLabelCheck {
    /// Rows.
    pub rows: usize,
    /// Quantile level.
    pub alpha: f64,
    /// Threshold on the margins of the observed labels.
    pub tau: f64,
    /// Share of rows whose observed label is not the clean one, δ_w.
    pub delta_w: f64,
    /// Share of observed margins equal to τ, and at least 1/rows: what ties and a finite sample may add.
    pub slack: f64,
    /// Share of rows with M ≥ τ by the observed labels.
    pub observed_share: f64,
    /// Share of rows with M ≥ τ by the clean labels.
    pub clean_share: f64,
    /// |`clean_share` − (1−α)|.
    pub share_gap: f64,
    /// δ_w + `slack`, the limit on `share_gap`.
    pub share_limit: f64,
    /// Whether `share_gap` keeps to it.
    pub share_holds: bool,
    /// Filtered risk by the observed labels.
    pub observed_risk: f64,
    /// Risk by the clean labels.
    pub clean_risk: f64,
    /// |`observed_risk` − `clean_risk`|.
    pub risk_gap: f64,
    /// α + 3δ_w + `slack`, the limit on `risk_gap`.
    pub risk_limit: f64,
    /// Whether `risk_gap` keeps to it.
    pub risk_holds: bool,
}

/// Checks both claims on rows whose clean labels are known. Without `tau` the threshold is that of these very rows and
/// the claims hold by arithmetic; with the `tau` of other rows (the training set, a batch) they can fail, which says
/// that τ does not carry over.
pub fn clean_label_check<T: Copy + Into<f64>>(
    probabilities: Matrix<'_, T>,
    observed: &[u32],
    clean: &[u32],
    alpha: f64,
    tau: Option<f64>,
) -> Result<CleanLabelCheck> {
    let classes = probabilities.columns();
    check_parameter("classes", classes as f64, classes >= 2, "at least 2")?;
    let rows = probabilities.rows();
    if rows == 0 {
        return Err(Error::Empty { what: "the table of probabilities" });
    }
    check_length("observed labels, one per row of probabilities", rows, observed.len())?;
    check_length("clean labels, one per row of probabilities", rows, clean.len())?;
    check_labels(observed, classes)?;
    check_labels(clean, classes)?;
    check_probabilities(probabilities)?;

    let margins = |labels: &[u32]| -> Vec<f64> {
        probabilities.iter_rows().zip(labels).map(|(row, &label)| label_margin(row, label as usize)).collect()
    };
    let wrong = observed.iter().zip(clean).filter(|(a, b)| a != b).count();
    clean_margin_check(&margins(observed), &margins(clean), wrong, alpha, tau)
}

/// [`clean_label_check`] from the margins ([`label_margin`]) of the observed and of the clean labels, and the number of
/// rows where the labels differ: for probabilities that are not all in memory at once.
pub fn clean_margin_check(
    observed: &[f64],
    clean: &[f64],
    wrong: usize,
    alpha: f64,
    tau: Option<f64>,
) -> Result<CleanLabelCheck> {
    check_level("alpha", alpha)?;
    if let Some(tau) = tau {
        check_parameter("tau", tau, tau.is_finite(), "finite")?;
    }
    let rows = observed.len();
    if rows == 0 {
        return Err(Error::Empty { what: "the list of margins" });
    }
    check_length("margins of clean labels, one for each of an observed label", rows, clean.len())?;
    let tau = tau.unwrap_or_else(|| smallest(&mut observed.to_vec(), quantile_rank(rows, alpha)));
    let share = |count: usize| count as f64 / rows as f64;
    let share_of = |values: &[f64], holds: &dyn Fn(f64) -> bool| share(values.iter().filter(|&&m| holds(m)).count());

    let delta_w = share(wrong);
    let slack = share_of(observed, &|m| m == tau).max(share(1));
    let clean_share = share_of(clean, &|m| m >= tau);
    let share_gap = (clean_share - (1.0 - alpha)).abs();
    let share_limit = delta_w + slack;
    let observed_risk = -observed.iter().filter(|&&m| m >= tau).sum::<f64>() / rows as f64;
    let clean_risk = -clean.iter().sum::<f64>() / rows as f64;
    let risk_gap = (observed_risk - clean_risk).abs();
    let risk_limit = alpha + 3.0 * delta_w + slack;
    // Sums of many numbers round; a gap that equals its limit must not fail for it.
    let within = |gap: f64, limit: f64| gap <= limit + 1e-12;
    Ok(CleanLabelCheck {
        rows,
        alpha,
        tau,
        delta_w,
        slack,
        observed_share: share_of(observed, &|m| m >= tau),
        clean_share,
        share_gap,
        share_limit,
        share_holds: within(share_gap, share_limit),
        observed_risk,
        clean_risk,
        risk_gap,
        risk_limit,
        risk_holds: within(risk_gap, risk_limit),
    })
}

/// The label's probability less the largest other one, of a row of at least two classes that has the label.
pub fn label_margin<T: Copy + Into<f64>>(row: &[T], label: usize) -> f64 {
    let other = strongest_other(row, label).map_or(f64::NEG_INFINITY, |class| row[class].into());
    row[label].into() - other
}
