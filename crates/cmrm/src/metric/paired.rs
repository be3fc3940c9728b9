//! Two methods over the same seeds: is the difference more than luck?

use serde::{Deserialize, Serialize};
use statrs::function::factorial::ln_binomial;

use super::interval::{Interval, check_level};
use super::student::{two_sided_p, two_sided_quantile};
use crate::error::{Error, Result, check_length};

/// Differences `first − second` over pairs that share everything but the method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairedComparison {
    /// Number of pairs.
    pub pairs: usize,
    /// Mean difference.
    pub mean_difference: f64,
    /// Student's t test; none where the differences have no spread to judge by, and [`PairedComparison::note`] says why.
    pub t_test: Option<TTest>,
    /// Pairs in which the first is larger.
    pub wins: usize,
    /// Pairs in which the second is larger.
    pub losses: usize,
    /// Pairs that are equal; the sign test leaves them out.
    pub ties: usize,
    /// Two-sided exact sign test: probability of a split at least this uneven by fair coins. 1 if every pair is a tie.
    pub sign_test_p: f64,
    /// Why a part is missing.
    pub note: Option<String>,
}

/// Student's t test of a mean difference of zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TTest {
    /// Standard deviation of the differences (divided by their number less one).
    pub standard_deviation: f64,
    /// Standard error of the mean difference.
    pub standard_error: f64,
    /// Mean difference over its standard error.
    pub statistic: f64,
    /// Degrees of freedom, the number of pairs less one.
    pub degrees_of_freedom: usize,
    /// Two-sided p-value.
    pub p: f64,
    /// Interval for the mean difference.
    pub interval: Interval,
}

/// Compares `first` with `second`, pair by pair (method, "Evaluation": gains come with a spread and a paired test).
///
/// One pair has no spread, so there is a difference but no test. Differences that are all equal, up to the rounding of
/// the subtraction, have a spread of zero: a t test would claim certainty from a handful of runs, so there is none
/// either, and the sign test is what remains.
pub fn compare_paired(first: &[f64], second: &[f64], level: f64) -> Result<PairedComparison> {
    check_level(level)?;
    if first.is_empty() {
        return Err(Error::Empty { what: "the list of pairs" });
    }
    check_length("values to pair with the first method's", first.len(), second.len())?;
    let mut differences = Vec::with_capacity(first.len());
    for (row, (&a, &b)) in first.iter().zip(second).enumerate() {
        for (column, value) in [a, b].into_iter().enumerate() {
            if !value.is_finite() {
                return Err(Error::non_finite("value to compare", row, column, value));
            }
        }
        if !(a - b).is_finite() {
            return Err(Error::non_finite("difference", row, 0, a - b));
        }
        differences.push(a - b);
    }
    let wins = differences.iter().filter(|&&d| d > 0.0).count();
    let losses = differences.iter().filter(|&&d| d < 0.0).count();
    let largest = first.iter().chain(second).fold(0.0f64, |m, v| m.max(v.abs()));
    let (mean_difference, t_test, note) = match student(&differences, 4.0 * f64::EPSILON * largest, level) {
        (mean, Ok(test)) => (mean, Some(test), None),
        (mean, Err(note)) => (mean, None, Some(note)),
    };
    Ok(PairedComparison {
        pairs: differences.len(),
        mean_difference,
        t_test,
        wins,
        losses,
        ties: differences.len() - wins - losses,
        sign_test_p: sign_test(wins, losses),
        note,
    })
}

/// Mean, and the test or why there is none. Differences within `rounding` of each other count as equal.
fn student(differences: &[f64], rounding: f64, level: f64) -> (f64, std::result::Result<TTest, String>) {
    let n = differences.len();
    let (low, high) = differences.iter().fold((f64::MAX, f64::MIN), |(l, h), &d| (l.min(d), h.max(d)));
    // In units of the largest difference no sum or square can overflow.
    let unit = low.abs().max(high.abs());
    if unit == 0.0 {
        return (0.0, Err(format!("all {n} differences are 0, so there is no spread and no t test")));
    }
    let mean = differences.iter().map(|d| d / unit).sum::<f64>() / n as f64;
    if n == 1 {
        return (differences[0], Err("one pair has no spread; run more seeds for an interval".to_string()));
    }
    if high / 2.0 - low / 2.0 <= rounding / 2.0 {
        let note = format!(
            "all {n} differences are equal, so no t test is possible; \
             check that the runs really differ by seed"
        );
        return (mean * unit, Err(note));
    }
    let variance = differences.iter().map(|d| (d / unit - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let deviation = variance.sqrt();
    let error = deviation / (n as f64).sqrt();
    let statistic = mean / error;
    let half = two_sided_quantile(level, n - 1) * error;
    let test = TTest {
        standard_deviation: deviation * unit,
        standard_error: error * unit,
        statistic,
        degrees_of_freedom: n - 1,
        p: two_sided_p(statistic, n - 1),
        interval: Interval { low: (mean - half) * unit, high: (mean + half) * unit, level },
    };
    (mean * unit, Ok(test))
}

/// `min(1, 2·P(X ≤ min(wins, losses)))` for X binomial with `wins + losses` fair coins.
fn sign_test(wins: usize, losses: usize) -> f64 {
    let n = wins + losses;
    let fewer = wins.min(losses);
    if 2 * fewer >= n {
        return 1.0; // an even split, or no pair that differs
    }
    // The largest term by logarithms, the smaller ones by their ratio; they shrink from there on.
    let mut term = (ln_binomial(n as u64, fewer as u64) - n as f64 * std::f64::consts::LN_2).exp();
    let mut sum = 0.0;
    for i in (0..=fewer).rev() {
        sum += term;
        term *= i as f64 / (n - i + 1) as f64;
    }
    (2.0 * sum).min(1.0)
}
