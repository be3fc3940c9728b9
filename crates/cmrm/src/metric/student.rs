//! Student's t distribution, as far as a paired comparison needs it.

use statrs::function::beta::checked_beta_reg;

/// `P(|T| ≥ |t|)` for `degrees ≥ 1` degrees of freedom: the regularised incomplete beta function
/// `I_x(ν/2, 1/2)` at `x = ν/(ν + t²)`, which keeps its digits in the far tail.
pub(super) fn two_sided_p(t: f64, degrees: usize) -> f64 {
    let v = degrees as f64;
    let x = v / (v + t * t); // in (0, 1], and 0 for a t whose square overflows
    checked_beta_reg(v / 2.0, 0.5, x).unwrap_or(f64::NAN).clamp(0.0, 1.0)
}

/// The `t` with `P(|T| ≤ t) = level`, by bisection: the tail is monotone and cheap, and no start value can mislead.
pub(super) fn two_sided_quantile(level: f64, degrees: usize) -> f64 {
    let tail = 1.0 - level;
    let mut high = 1.0;
    while two_sided_p(high, degrees) > tail && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if two_sided_p(middle, degrees) > tail { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    // scipy 1.17.1: 2 * stats.t.sf(t, df)
    #[test]
    fn tail_probabilities_agree_with_scipy() {
        for (t, degrees, p) in [
            (0.5, 1, 0.7048327646991335),
            (12.706, 1, 0.05000080235813319),
            (2.0, 2, 0.18350341907227397),
            (2.776, 4, 0.05002277831997642),
            (-3.3, 4, 0.029933420084126066),
            (8.6, 9, 1.2365093056587229e-05),
            (40.0, 9, 1.8982998449339822e-11),
            (1.96, 1000, 0.050273184955748736),
            (0.01, 30, 0.9920874925731777),
        ] {
            let found = two_sided_p(t, degrees);
            assert!((found / p - 1.0).abs() < 1e-10, "t {t}, {degrees} degrees: {found} for {p}");
        }
    }

    // scipy 1.17.1: stats.t.ppf((1 + level) / 2, df)
    #[test]
    fn quantiles_agree_with_scipy() {
        for (level, degrees, t) in [
            (0.95, 1, 12.706204736174694),
            (0.95, 2, 4.302652729749462),
            (0.95, 4, 2.7764451051977934),
            (0.99, 4, 4.604094871349992),
            (0.9, 9, 1.833112932656237),
            (0.5, 9, 0.7027221467513264),
            (0.999, 29, 3.6594050194663748),
            (0.95, 1000, 1.9623390808264083),
        ] {
            let found = two_sided_quantile(level, degrees);
            assert!((found / t - 1.0).abs() < 1e-9, "level {level}, {degrees} degrees: {found} for {t}");
        }
    }

    #[test]
    fn ends_are_finite() {
        assert_eq!(two_sided_p(0.0, 4), 1.0);
        assert_eq!(two_sided_p(f64::MAX, 4), 0.0);
        assert!(two_sided_quantile(1.0 - f64::EPSILON, 1).is_finite());
        assert!(two_sided_quantile(1e-300, 1) >= 0.0);
    }
}
