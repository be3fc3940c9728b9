//! Two arms over the same seeds: means, spread, paired difference, and what may be concluded.

use cmrm::conformal::Spread;
use cmrm::metric::compare_paired;

use crate::error::Result;

/// What a paired 95 % interval allows to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies on the better side of zero.
    Better,
    /// It lies on the worse side.
    Worse,
    /// It holds zero, or there are too few pairs for one.
    Open,
}

impl Verdict {
    /// In a word, for files.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Open => "open",
        }
    }

    /// As a mark behind a number.
    pub fn mark(self) -> &'static str {
        match self {
            Verdict::Better => " ▲",
            Verdict::Worse => " ▼",
            Verdict::Open => "",
        }
    }

    /// Of an interval.
    pub fn of(low: f64, high: f64, more_is_better: bool) -> Self {
        match (low > 0.0, high < 0.0) {
            (true, _) if more_is_better => Verdict::Better,
            (_, true) if !more_is_better => Verdict::Better,
            (false, false) => Verdict::Open,
            _ => Verdict::Worse,
        }
    }
}

/// One arm against another in one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The experiment.
    pub experiment: String,
    /// The protocol.
    pub protocol: String,
    /// The loss, or the kind of labels.
    pub row: String,
    /// The arm.
    pub arm: String,
    /// The arm it is compared with; empty for that arm itself.
    pub against: String,
    /// The metric.
    pub metric: String,
    /// Pairs that were compared.
    pub pairs: usize,
    /// Mean of the arm.
    pub mean: f64,
    /// Standard deviation over seeds.
    pub deviation: f64,
    /// Mean difference, and its 95 % interval where there is one.
    pub difference: Option<(f64, Option<(f64, f64)>)>,
    /// What follows.
    pub verdict: Verdict,
}

/// Mean and deviation of an arm, and its difference to `base` where that is another arm. Values are pairs by seed.
pub(super) struct Measured {
    pub spread: Spread,
    pub difference: Option<(f64, Option<(f64, f64)>)>,
    pub verdict: Verdict,
    pub pairs: usize,
}

/// Measures an arm by its values and those of its base over the same seeds; nothing without values.
pub(super) fn measure(values: &[f64], base: Option<&[f64]>, more_is_better: bool) -> Result<Option<Measured>> {
    let Some(spread) = Spread::of(values) else { return Ok(None) };
    let Some(base) = base else {
        return Ok(Some(Measured { spread, difference: None, verdict: Verdict::Open, pairs: values.len() }));
    };
    let paired = compare_paired(values, base, 0.95)?;
    let interval = paired.t_test.map(|test| (test.interval.low, test.interval.high));
    let verdict = interval.map_or(Verdict::Open, |(low, high)| Verdict::of(low, high, more_is_better));
    let difference = Some((paired.mean_difference, interval));
    Ok(Some(Measured { spread, difference, verdict, pairs: paired.pairs }))
}

/// `12.34 ± 0.56`; one seed has no spread.
pub(super) fn with_spread(spread: Spread, seeds: usize, digits: usize) -> String {
    if seeds > 1 {
        format!("{:.digits$} ± {:.digits$}", spread.mean, spread.standard_deviation)
    } else {
        format!("{:.digits$}", spread.mean)
    }
}

/// `+0.12 [−0.03, +0.27] ▲`.
pub(super) fn with_interval(difference: (f64, Option<(f64, f64)>), verdict: Verdict, digits: usize) -> String {
    match difference {
        (mean, Some((low, high))) => format!("{mean:+.digits$} [{low:+.digits$}, {high:+.digits$}]{}", verdict.mark()),
        (mean, None) => format!("{mean:+.digits$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_an_interval_on_one_side_of_zero() {
        assert_eq!(Verdict::of(0.1, 0.2, true), Verdict::Better);
        assert_eq!(Verdict::of(0.1, 0.2, false), Verdict::Worse);
        assert_eq!(Verdict::of(-0.2, -0.1, false), Verdict::Better);
        assert_eq!(Verdict::of(-0.2, -0.1, true), Verdict::Worse);
        assert_eq!(Verdict::of(-0.1, 0.1, true), Verdict::Open);
        assert_eq!(Verdict::of(0.0, 0.0, true), Verdict::Open);
        let one = measure(&[0.5], Some(&[0.4]), true).unwrap().unwrap();
        assert_eq!((one.verdict, one.difference.unwrap().1), (Verdict::Open, None));
        let many = measure(&[0.5, 0.6, 0.7], Some(&[0.4, 0.51, 0.6]), true).unwrap().unwrap();
        assert_eq!(many.verdict, Verdict::Better);
    }
}
