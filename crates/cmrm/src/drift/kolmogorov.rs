//! Two samples of numbers, by Kolmogorov and Smirnov.

use std::f64::consts::PI;

use super::Difference;
use crate::error::{Error, Result};

/// Terms of the series: both converge long before.
const TERMS: u32 = 20;
/// Where the two series for the tail change places.
const SWITCH: f64 = 1.18;

/// The largest difference between the distribution functions of two samples, and its probability by the limiting distribution. That is
/// too large for small samples and for numbers that repeat: the test errs to the side of "no difference".
pub fn compare_numbers(one: &[f64], other: &[f64]) -> Result<Difference> {
    let (one, other) = (sorted("the first sample", one)?, sorted("the second sample", other)?);
    let (n, m) = (one.len() as f64, other.len() as f64);
    let (mut i, mut j) = (0, 0);
    let mut distance = 0.0f64;
    while i < one.len() && j < other.len() {
        let value = one[i].min(other[j]);
        // Past all that are equal, in both.
        while i < one.len() && one[i] <= value {
            i += 1;
        }
        while j < other.len() && other[j] <= value {
            j += 1;
        }
        distance = distance.max((i as f64 / n - j as f64 / m).abs());
    }
    Ok(Difference { distance, p: tail((n * m / (n + m)).sqrt() * distance) })
}

fn sorted(what: &'static str, sample: &[f64]) -> Result<Vec<f64>> {
    if sample.is_empty() {
        return Err(Error::Empty { what });
    }
    if let Some(row) = sample.iter().position(|value| value.is_nan()) {
        return Err(Error::Value { what, row, value: "NaN".into(), expected: "a number" });
    }
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(sorted)
}

/// `P(K > x)` of Kolmogorov's distribution.
fn tail(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < SWITCH {
        // Jacobi's transformation of the series below, which converges slowly here.
        let term = |k: u32| (-(f64::from(2 * k - 1) * PI / x).powi(2) / 8.0).exp();
        return 1.0 - (2.0 * PI).sqrt() / x * (1..=TERMS).map(term).sum::<f64>();
    }
    let term = |k: u32| if k % 2 == 1 { 2.0 } else { -2.0 } * (-2.0 * (f64::from(k) * x).powi(2)).exp();
    (1..=TERMS).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // scipy 1.17.1: scipy.special.kolmogorov(x)
    #[test]
    fn the_tail_agrees_with_scipy() {
        for (x, p) in [
            (0.3, 0.9999906941986655),
            (0.5, 0.9639452436648751),
            (0.9, 0.3927307079406543),
            (1.1, 0.1777181926064012),
            (1.2, 0.11224966667072497),
            (1.36, 0.049485876755377876),
            (2.0, 0.0006709252557796953),
            (3.5, 4.579469691291106e-11),
        ] {
            assert!((tail(x) / p - 1.0).abs() < 1e-10, "{x}: {} for {p}", tail(x));
        }
        assert_eq!((tail(0.0), tail(1e-3), tail(1e6)), (1.0, 1.0, 0.0));
    }

    #[test]
    fn distances_are_those_worked_out_by_hand() {
        let of = |one: &[f64], other: &[f64]| compare_numbers(one, other).unwrap();
        assert_eq!(of(&[1.0, 2.0, 3.0], &[3.0, 1.0, 2.0]), Difference { distance: 0.0, p: 1.0 });
        assert_eq!(of(&[1.0, 2.0], &[5.0, 6.0, 7.0]).distance, 1.0);
        // Ties: after 2 the one has three of four, the other one of two.
        assert_eq!(of(&[1.0, 2.0, 2.0, 9.0], &[2.0, 9.0]).distance, 0.25);
        assert_eq!(of(&[f64::NEG_INFINITY, 0.0], &[0.0, f64::INFINITY]).distance, 0.5);
        assert!(compare_numbers(&[], &[1.0]).is_err() && compare_numbers(&[1.0], &[f64::NAN]).is_err());
    }

    #[test]
    fn the_same_source_is_rarely_told_apart() {
        let mut rng = crate::rng::Rng::new(1, 0);
        let mut draw = |shift: f64| -> Vec<f64> { (0..400).map(|_| rng.uniform() + shift).collect() };
        let found = |one: Vec<f64>, other: Vec<f64>| compare_numbers(&one, &other).unwrap().p < 0.05;
        let alarms = (0..200).filter(|_| found(draw(0.0), draw(0.0))).count();
        assert!((2..=18).contains(&alarms), "{alarms} of 200 at a level of 5 %");
        assert!(found(draw(0.0), draw(0.3)));
    }
}
