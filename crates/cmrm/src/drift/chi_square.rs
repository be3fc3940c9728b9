//! Two samples of names, by Pearson's chi-squared test.

use statrs::function::gamma::checked_gamma_ur;

use super::Difference;
use crate::error::{Error, Result, check_length};

/// Names of which a sample would be expected to have fewer rows than this count as one: the distribution of the statistic is good above.
const FEWEST_EXPECTED: f64 = 5.0;

/// How the shares of the same names differ between two samples: half the sum of the differences, which is the share of the rows that would
/// have to be of another name; and its probability by the chi-squared test.
pub fn compare_counts(one: &[u64], other: &[u64]) -> Result<Difference> {
    check_length("names of both samples", one.len(), other.len())?;
    let (n, m) = (one.iter().sum::<u64>() as f64, other.iter().sum::<u64>() as f64);
    if n == 0.0 || m == 0.0 {
        return Err(Error::Empty { what: "one of the samples" });
    }
    let pairs = || one.iter().zip(other).map(|(&a, &b)| (a as f64, b as f64));
    let distance = pairs().map(|(a, b)| (a / n - b / m).abs()).sum::<f64>() / 2.0;
    let is_rare = |(a, b): &(f64, f64)| (a + b) * n.min(m) / (n + m) < FEWEST_EXPECTED;
    let (rare, mut cells): (Vec<_>, Vec<_>) = pairs().partition(is_rare);
    let together = rare.iter().fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
    if together.0 + together.1 > 0.0 {
        cells.push(together);
    }
    let mut statistic = 0.0;
    for (a, b) in &cells {
        let (expected_a, expected_b) = ((a + b) * n / (n + m), (a + b) * m / (n + m));
        statistic += (a - expected_a).powi(2) / expected_a + (b - expected_b).powi(2) / expected_b;
    }
    Ok(Difference { distance, p: tail(statistic, cells.len().saturating_sub(1)) })
}

/// `P(X ≥ x)` of the chi-squared distribution; one for no degrees of freedom.
fn tail(x: f64, degrees: usize) -> f64 {
    if degrees == 0 || x <= 0.0 {
        return 1.0;
    }
    checked_gamma_ur(degrees as f64 / 2.0, x / 2.0).unwrap_or(f64::NAN).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // scipy 1.17.1: scipy.stats.chi2.sf(x, degrees)
    #[test]
    fn the_tail_agrees_with_scipy() {
        for (x, degrees, p) in [
            (0.5, 1, 0.47950012218695337),
            (3.841, 1, 0.050013683763956804),
            (2.0, 2, 0.36787944117144245),
            (20.0, 3, 0.00016974243555282632),
            (9.0, 9, 0.43727418891386693),
            (120.0, 40, 6.35191834037896e-10),
        ] {
            assert!((tail(x, degrees) / p - 1.0).abs() < 1e-9, "{x}, {degrees}: {} for {p}", tail(x, degrees));
        }
    }

    // scipy 1.17.1: scipy.stats.chi2_contingency(table, correction=False)
    #[test]
    fn the_test_agrees_with_scipy() {
        let found = compare_counts(&[30, 50, 20], &[45, 40, 65]).unwrap();
        assert!((found.p / 8.775527305187401e-05 - 1.0).abs() < 1e-9, "{found:?}");
        // 0.3 and 0.3, 0.5 and 0.2667, 0.2 and 0.4333.
        assert!((found.distance - 0.7 / 3.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn rare_names_count_together_and_few_rows_prove_nothing() {
        let same = compare_counts(&[10, 20, 0], &[20, 40, 0]).unwrap();
        assert!(same.distance < 1e-12 && (same.p - 1.0).abs() < 1e-9, "{same:?}");
        // One row each of a hundred names that the other sample lacks.
        let mut one = vec![100; 1];
        let mut other = vec![200; 1];
        one.extend(std::iter::repeat_n(1, 50).chain(std::iter::repeat_n(0, 50)));
        other.extend(std::iter::repeat_n(0, 50).chain(std::iter::repeat_n(1, 50)));
        let pooled = compare_counts(&one, &other).unwrap();
        let two = compare_counts(&[100, 50], &[200, 50]).unwrap();
        assert!(pooled.p == two.p && pooled.distance > two.distance, "{pooled:?} {two:?}");
        assert_eq!(compare_counts(&[1, 0], &[0, 1]).unwrap(), Difference { distance: 1.0, p: 1.0 });
        assert!(compare_counts(&[0], &[1]).is_err() && compare_counts(&[1], &[1, 2]).is_err());
    }
}
