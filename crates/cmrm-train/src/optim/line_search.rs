//! A step length that satisfies the strong Wolfe conditions.
//!
//! Works on the function φ(t) = f(x + t·d) of one variable: first bracket a good interval by growing t, then narrow it by
//! safeguarded cubic interpolation (Nocedal and Wright, *Numerical Optimization*, algorithms 3.5 and 3.6).

use crate::error::Result;

/// Value and slope of φ at `t`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Step length.
    pub t: f64,
    /// φ(t).
    pub loss: f64,
    /// φ′(t).
    pub slope: f64,
}

impl Point {
    fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.slope.is_finite()
    }
}

/// What the search accepts and when it gives up.
#[derive(Debug, Clone, Copy)]
pub struct LineSearch {
    /// c₁: φ(t) ≤ φ(0) + c₁·t·φ′(0).
    pub sufficient_decrease: f64,
    /// c₂: |φ′(t)| ≤ c₂·|φ′(0)|.
    pub curvature: f64,
    /// Differences of φ below this are rounding: there the decrease is judged by the slopes (Hager and Zhang's
    /// approximate Wolfe condition, φ′(t) ≤ (2c₁−1)·φ′(0)).
    pub noise: f64,
    /// Intervals below this do not move the parameters any more.
    pub resolution: f64,
    /// Most evaluations of φ.
    pub budget: u64,
}

/// Why a step length was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Both strong Wolfe conditions hold.
    StrongWolfe,
    /// The losses differ by rounding only; the slopes satisfy the approximate condition and the curvature condition.
    Approximate,
    /// Only the sufficient decrease holds; the search ran out of evaluations or of precision (a kink, or no lower bound).
    DecreaseOnly,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// A step to take. Unless it is [`Accepted::DecreaseOnly`], it is the point evaluated last.
    Found(Point, Accepted),
    /// No step length with a sufficient decrease was found.
    Failed,
}

impl LineSearch {
    fn decreases(&self, start: Point, at: Point) -> bool {
        at.loss <= start.loss + self.sufficient_decrease * at.t * start.slope
    }

    fn decreases_within_noise(&self, start: Point, at: Point) -> bool {
        self.noise > 0.0
            && at.loss <= start.loss + self.noise
            && at.slope <= (2.0 * self.sufficient_decrease - 1.0) * start.slope
    }

    fn is_flat_enough(&self, start: Point, at: Point) -> bool {
        at.slope.abs() <= self.curvature * start.slope.abs()
    }

    /// Finds a step from `start` (t = 0, slope below 0), trying `first` first. `evaluate` gives loss and slope at t.
    ///
    /// Values that are not finite make the search back off, and it does not come as far again.
    pub fn run(&self, start: Point, first: f64, mut evaluate: impl FnMut(f64) -> Result<Point>) -> Result<Outcome> {
        let mut previous = start;
        let mut t = first;
        let mut wall = f64::INFINITY;
        let mut left = self.budget;
        while left > 0 {
            let current = evaluate(t)?;
            left -= 1;
            if !current.is_finite() {
                wall = t;
                t = previous.t + 0.1 * (t - previous.t);
                if t - previous.t <= self.resolution || t == previous.t {
                    break;
                }
                continue;
            }
            let good = self.decreases(start, current) || self.decreases_within_noise(start, current);
            if !good || (previous.t > 0.0 && current.loss >= previous.loss + self.noise) {
                return self.narrow(start, previous, current, left, evaluate);
            }
            if self.is_flat_enough(start, current) {
                return Ok(Outcome::Found(current, self.verdict(start, current)));
            }
            if current.slope >= 0.0 {
                return self.narrow(start, current, previous, left, evaluate);
            }
            let next = extrapolate(previous, current, self.noise).min(0.5 * (current.t + wall));
            previous = current;
            if next <= current.t || !next.is_finite() {
                break;
            }
            t = next;
        }
        Ok(self.best(start, previous))
    }

    /// Narrows the interval between `low` (the best point so far that decreases enough) and `high`, in either order.
    fn narrow(
        &self,
        start: Point,
        mut low: Point,
        mut high: Point,
        mut left: u64,
        mut evaluate: impl FnMut(f64) -> Result<Point>,
    ) -> Result<Outcome> {
        let mut widths = [f64::INFINITY; 2];
        while left > 0 {
            let width = (high.t - low.t).abs();
            if width <= self.resolution || width <= 4.0 * f64::EPSILON * low.t.max(high.t) {
                break;
            }
            // Two interpolations that kept more than two thirds of the interval are followed by a bisection.
            let slow = width > 0.66 * widths[0];
            let t = if slow { 0.5 * (low.t + high.t) } else { interpolate(low, high, self.noise) };
            widths = if slow { [f64::INFINITY; 2] } else { [widths[1], width] };
            let current = evaluate(t)?;
            left -= 1;
            let good = current.is_finite()
                && (self.decreases(start, current) || self.decreases_within_noise(start, current))
                && current.loss < low.loss + self.noise;
            if !good {
                high = current;
                continue;
            }
            if self.is_flat_enough(start, current) {
                return Ok(Outcome::Found(current, self.verdict(start, current)));
            }
            if current.slope * (high.t - low.t) >= 0.0 {
                high = low;
            }
            low = current;
        }
        Ok(self.best(start, low))
    }

    fn verdict(&self, start: Point, at: Point) -> Accepted {
        if self.decreases(start, at) { Accepted::StrongWolfe } else { Accepted::Approximate }
    }

    /// The last resort: a point that lowers the loss enough, though the slope there is still steep.
    fn best(&self, start: Point, low: Point) -> Outcome {
        if low.t > 0.0 && low.loss < start.loss && self.decreases(start, low) {
            Outcome::Found(low, Accepted::DecreaseOnly)
        } else {
            Outcome::Failed
        }
    }
}

/// Where a model through both points has its minimum; `None` where it has none. The model is the cubic with their values
/// and slopes, or, if the values differ by rounding only, the parabola with their slopes.
fn minimum(a: Point, b: Point, noise: f64) -> Option<f64> {
    let t = if (a.loss - b.loss).abs() <= noise {
        let bend = (b.slope - a.slope) / (b.t - a.t);
        if bend > 0.0 { b.t - b.slope / bend } else { f64::NAN }
    } else {
        let d1 = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.t - b.t);
        // The root of a negative number is NaN: the cubic has no minimum.
        let d2 = (b.t - a.t).signum() * (d1 * d1 - a.slope * b.slope).sqrt();
        b.t - (b.t - a.t) * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2)
    };
    t.is_finite().then_some(t)
}

/// A trial inside the interval, at least a tenth of it away from both ends.
fn interpolate(low: Point, high: Point, noise: f64) -> f64 {
    let (left, right) = (low.t.min(high.t), low.t.max(high.t));
    let margin = 0.1 * (right - left);
    minimum(low, high, noise).map_or(0.5 * (left + right), |t| t.clamp(left + margin, right - margin))
}

/// A trial beyond `current`: at least 1 % of the last stride further, at most ten times as far from the start.
fn extrapolate(previous: Point, current: Point, noise: f64) -> f64 {
    let nearest = current.t + 0.01 * (current.t - previous.t);
    let farthest = 10.0 * current.t;
    match minimum(previous, current, noise) {
        Some(t) if t > current.t => t.clamp(nearest, farthest),
        _ => farthest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: LineSearch =
        LineSearch { sufficient_decrease: 1e-4, curvature: 0.9, noise: 0.0, resolution: 0.0, budget: 40 };

    fn search(rule: LineSearch, first: f64, f: impl Fn(f64) -> (f64, f64)) -> (Outcome, usize) {
        let mut calls = 0;
        let at = |t| {
            let (loss, slope) = f(t);
            Point { t, loss, slope }
        };
        let outcome = rule
            .run(at(0.0), first, |t| {
                calls += 1;
                Ok(at(t))
            })
            .unwrap();
        (outcome, calls)
    }

    #[test]
    fn a_quadratic_is_solved_by_one_interpolation() {
        let rule = LineSearch { curvature: 1e-6, ..SEARCH };
        let (outcome, calls) = search(rule, 10.0, |t| ((t - 3.0) * (t - 3.0), 2.0 * (t - 3.0)));
        let Outcome::Found(point, Accepted::StrongWolfe) = outcome else { panic!("{outcome:?}") };
        assert!((point.t - 3.0).abs() < 1e-9);
        assert_eq!(calls, 2);
    }

    #[test]
    fn a_short_first_trial_is_extended() {
        let (outcome, _) = search(SEARCH, 1e-6, |t| ((t - 3.0) * (t - 3.0), 2.0 * (t - 3.0)));
        assert!(matches!(outcome, Outcome::Found(_, Accepted::StrongWolfe)), "{outcome:?}");
    }

    #[test]
    fn a_wall_of_infinities_is_kept_away_from() {
        // −log(1 − t) − 3t has its minimum at t = 2/3 and is not a number beyond 1.
        let tight = LineSearch { curvature: 0.1, ..SEARCH };
        let (outcome, _) = search(tight, 100.0, |t| (-(1.0 - t).ln() - 3.0 * t, 1.0 / (1.0 - t) - 3.0));
        let Outcome::Found(point, Accepted::StrongWolfe) = outcome else { panic!("{outcome:?}") };
        assert!((point.t - 2.0 / 3.0).abs() < 0.2, "{point:?}");
    }

    #[test]
    fn a_function_without_lower_bound_ends() {
        let (outcome, calls) = search(SEARCH, 1.0, |t| (-t, -1.0));
        assert!(matches!(outcome, Outcome::Found(_, Accepted::DecreaseOnly)), "{outcome:?}");
        assert!(calls <= 40);
    }

    #[test]
    fn a_kink_ends_with_a_decrease() {
        let kink = |t: f64| if t < 1.0 { (-t, -1.0) } else { (-1.0 + 5.0 * (t - 1.0), 5.0) };
        let (outcome, calls) = search(SEARCH, 2.0, kink);
        let Outcome::Found(point, Accepted::DecreaseOnly) = outcome else { panic!("{outcome:?}") };
        assert!(point.loss < 0.0 && calls <= 40);
    }

    #[test]
    fn a_wrong_slope_fails_within_the_budget() {
        for first in [1e-8, 1.0, 1e8] {
            let (outcome, calls) = search(SEARCH, first, |t| (t, -1.0));
            assert_eq!(outcome, Outcome::Failed);
            assert!(calls <= 40);
            let (outcome, calls) = search(SEARCH, first, |t| if t > 0.0 { (f64::NAN, 0.0) } else { (1.0, -1.0) });
            assert_eq!(outcome, Outcome::Failed);
            assert!(calls <= 40);
        }
    }

    #[test]
    fn rounding_noise_is_judged_by_the_slope() {
        // Near its minimum a loss of size 1 changes by rounding only, here upwards, yet its slope still tells the way.
        let f = |t: f64| (if t > 0.0 { 1.0 + f64::EPSILON } else { 1.0 }, 2e-20 * (t - 1.0));
        let noisy = LineSearch { noise: 1e-15, ..SEARCH };
        let (outcome, _) = search(noisy, 1.0, f);
        assert!(matches!(outcome, Outcome::Found(_, Accepted::Approximate)), "{outcome:?}");
        assert_eq!(search(SEARCH, 1.0, f).0, Outcome::Failed);
    }
}
