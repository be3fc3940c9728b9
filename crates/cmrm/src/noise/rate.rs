//! The share of rows to flip, and the one place where it becomes a count.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_parameter};

/// A share between 0 and 1, checked.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

/// What a rate is a share of, where some rows cannot be flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateOf {
    /// Of all rows, as the method's `⌊ρn⌋` says: the noise in the data is exactly the rate.
    #[default]
    AllRows,
    /// Of the rows that have a class to change to, as most published "asymmetric" noise counts: at 0.4, four in ten
    /// cats become dogs, and the share of wrong labels in the data is lower.
    EligibleRows,
}

impl Rate {
    /// Checks that `rate` lies in `[0, 1]`.
    pub fn new(rate: f64) -> Result<Self> {
        check_parameter("rate", rate, (0.0..=1.0).contains(&rate), "a share between 0 and 1, such as 0.4")?;
        Ok(Rate(rate))
    }

    /// The share.
    pub fn get(self) -> f64 {
        self.0
    }

    /// `⌊ρn⌋`, meant for the decimal number that was written down.
    ///
    /// In binary, 0.29·100 is 28.999999999999996 and a plain floor loses a row. A product within four units of rounding
    /// of a whole number is therefore that number. Reading the rate and multiplying err by at most one unit each, and a
    /// product that is truly fractional is far more than four units away for any rate of up to nine decimals and up
    /// to a hundred thousand rows, six decimals and a hundred million, and so on.
    pub fn count(self, n: usize) -> usize {
        let product = self.0 * n as f64;
        let whole = product.round();
        let slack = 4.0 * f64::EPSILON * whole;
        let count = if (product - whole).abs() <= slack { whole } else { product.floor() };
        (count as usize).min(n)
    }
}

impl TryFrom<f64> for Rate {
    type Error = Error;

    fn try_from(rate: f64) -> Result<Self> {
        Rate::new(rate)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> f64 {
        rate.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_products_that_are_whole_are_not_floored_below() {
        for (rate, n, count) in
            [(0.29, 100, 29), (0.1, 30, 3), (0.7, 10, 7), (0.57, 100, 57), (1.1 / 11.0, 10, 1), (0.58, 50_000, 29_000)]
        {
            assert_eq!(Rate::new(rate).unwrap().count(n), count, "{rate} of {n}");
        }
    }

    #[test]
    fn every_two_decimal_rate_agrees_with_integer_arithmetic() {
        for percent in 0..=100usize {
            let rate = Rate::new(percent as f64 / 100.0).unwrap();
            for n in (0..2000).chain([49_999, 50_000, 1_281_167, 100_000_000]) {
                assert_eq!(rate.count(n), percent * n / 100, "{percent} % of {n}");
            }
        }
    }

    #[test]
    fn fractions_are_floored() {
        assert_eq!(Rate::new(0.333).unwrap().count(10), 3);
        assert_eq!(Rate::new(0.999_999).unwrap().count(10), 9);
        assert_eq!(Rate::new(0.999_999_999).unwrap().count(100_000), 99_999);
    }

    #[test]
    fn only_shares_are_rates() {
        for bad in [-0.1, 1.000_001, 40.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Rate::new(bad), Err(Error::Parameter { name: "rate", .. })), "{bad}");
        }
    }
}
