//! Two estimates of a share.

use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;

use super::Difference;
use crate::error::{Error, Result, check_parameter};

/// The 90 % interval of a normal variable reaches so many standard errors to both sides.
const NINETY: f64 = 1.6448536269514722;

/// A share of wrong labels, with its 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateEstimate {
    /// The share.
    pub rate: f64,
    /// The ends of its interval.
    pub interval: [f64; 2],
}

impl RateEstimate {
    /// From the probability of every label to be wrong, where nothing else is left of an estimate. The rate is their mean. Its
    /// information is the sum of the squared slopes of the rows' logarithmic likelihoods, `(w − rate) / (rate (1 − rate))`: rows that
    /// are surely right or surely wrong tell most. What the models do not know of the classes is not in the interval.
    pub fn of_wrong_probabilities(wrong: &[f64]) -> Result<Self> {
        if wrong.is_empty() {
            return Err(Error::Empty { what: "the probabilities of being wrong" });
        }
        if let Some(row) = wrong.iter().position(|p| !(0.0..=1.0).contains(p)) {
            let (what, expected) = ("probability of being wrong", "a number from 0 to 1");
            return Err(Error::Value { what, row, value: wrong[row].to_string(), expected });
        }
        let rate = wrong.iter().sum::<f64>() / wrong.len() as f64;
        let squares: f64 = wrong.iter().map(|w| (w - rate).powi(2)).sum();
        let half = if squares > 0.0 { NINETY * rate * (1.0 - rate) / squares.sqrt() } else { 1.0 };
        Ok(RateEstimate { rate, interval: [(rate - half).max(0.0), (rate + half).min(1.0)] })
    }

    /// The standard error on the side of another rate: intervals of a rate near zero are not symmetric.
    fn error_towards(&self, other: f64) -> f64 {
        let side = if other > self.rate { self.interval[1] - self.rate } else { self.rate - self.interval[0] };
        side / NINETY
    }
}

/// How two independent estimates differ, by the normal distribution with the errors that the facing sides of their intervals tell.
pub fn compare_rates(one: RateEstimate, other: RateEstimate) -> Result<Difference> {
    for RateEstimate { rate, interval: [low, high] } in [one, other] {
        check_parameter("rate", rate, low <= rate && rate <= high, "a share within its interval")?;
    }
    let distance = (one.rate - other.rate).abs();
    let error = one.error_towards(other.rate).hypot(other.error_towards(one.rate));
    let p = if distance == 0.0 { 1.0 } else { erfc(distance / error / std::f64::consts::SQRT_2) };
    Ok(Difference { distance, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_are_known_exactly_have_the_error_of_a_share() {
        // A fifth is surely wrong, the rest surely right: the standard error of a share.
        let wrong: Vec<f64> = (0..400).map(|row| f64::from(u8::from(row % 5 == 0))).collect();
        let found = RateEstimate::of_wrong_probabilities(&wrong).unwrap();
        let error = (0.2 * 0.8 / 400.0f64).sqrt();
        assert!((found.rate - 0.2).abs() < 1e-12 && (found.error_towards(1.0) - error).abs() < 1e-12, "{found:?}");
        // Rows that tell nothing.
        let blank = RateEstimate::of_wrong_probabilities(&[0.3; 50]).unwrap();
        assert_eq!(blank.interval, [0.0, 1.0]);
        let refused = RateEstimate::of_wrong_probabilities(&[0.1, 1.5]).unwrap_err().to_string();
        assert!(refused.contains("row 1") && RateEstimate::of_wrong_probabilities(&[]).is_err(), "{refused}");
    }

    #[test]
    fn a_difference_of_two_errors_has_the_normal_tail() {
        let at = |rate: f64| RateEstimate { rate, interval: [rate - NINETY * 0.03, rate + NINETY * 0.03] };
        let found = compare_rates(at(0.1), at(0.1 + 2.0 * 0.03 * std::f64::consts::SQRT_2)).unwrap();
        // scipy 1.17.1: 2 * stats.norm.sf(2)
        assert!((found.p - 0.04550026389635842).abs() < 1e-9, "{found:?}");
        // What lies on the far side of a rate does not make the two more alike.
        let wide = RateEstimate { interval: [0.0, at(0.1).interval[1]], ..at(0.1) };
        assert_eq!(compare_rates(wide, at(0.3)).unwrap(), compare_rates(at(0.3), at(0.1)).unwrap());
        assert!(compare_rates(wide, at(0.01)).unwrap().p > compare_rates(at(0.1), at(0.01)).unwrap().p);
        assert_eq!(compare_rates(at(0.2), at(0.2)).unwrap(), Difference { distance: 0.0, p: 1.0 });
        assert_eq!(
            compare_rates(
                RateEstimate { rate: 0.1, interval: [0.1, 0.1] },
                RateEstimate { rate: 0.3, interval: [0.3, 0.3] }
            )
            .unwrap()
            .p,
            0.0
        );
        assert!(compare_rates(at(0.2), RateEstimate { rate: 0.1, interval: [0.2, 0.3] }).is_err());
    }
}
