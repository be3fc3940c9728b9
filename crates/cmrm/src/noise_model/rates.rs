//! The rates that the search looks at, and how likely each is.

/// Logarithm of the prior's odds for noise: a rate that is larger by 0.1 may explain the labels worse by one unit. Without it nothing
/// speaks against "no noise, but classes that overlap by as much".
const PREFERENCE: f64 = 10.0;
/// Half of the 90 % quantile of chi-squared with one degree of freedom: where the interval ends.
const INTERVAL_DROP: f64 = 1.35;
/// The share of labels drawn at random: few steps where most data is, up to nearly all.
const FINE_STEPS: usize = 10;
const FINE_END: f64 = 0.1;
const COARSE_STEPS: usize = 53;
const COARSE_END: f64 = 0.9;
/// Places between two rates of the grid at which the likelihood is interpolated.
const BETWEEN: usize = 8;

/// Shares of labels that are drawn at random from all classes, ascending from 0.
pub(super) fn random_shares() -> impl Iterator<Item = f64> {
    let fine = (0..=FINE_STEPS).map(|step| FINE_END * step as f64 / FINE_STEPS as f64);
    let width = (COARSE_END - FINE_END) / COARSE_STEPS as f64;
    fine.chain((1..=COARSE_STEPS).map(move |step| FINE_END + width * step as f64))
}

pub(super) fn highest(profile: &[f64]) -> f64 {
    profile.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The likelihood of the rates with the prior's preference, interpolated.
pub(super) struct Posterior {
    rates: Vec<f64>,
    logarithms: Vec<f64>,
}

impl Posterior {
    pub(super) fn new(rates: &[f64], profile: &[f64]) -> Self {
        Self::preferring(PREFERENCE, rates, profile)
    }

    /// Without a preference: where the classes' overlap is known, nothing is mistaken for it.
    pub(super) fn flat(rates: &[f64], profile: &[f64]) -> Self {
        Self::preferring(0.0, rates, profile)
    }

    fn preferring(preference: f64, rates: &[f64], profile: &[f64]) -> Self {
        let mut found = Posterior { rates: Vec::new(), logarithms: Vec::new() };
        for at in 0..rates.len() {
            let next = (at + 1).min(rates.len() - 1);
            for step in 0..if next > at { BETWEEN } else { 1 } {
                let share = step as f64 / BETWEEN as f64;
                let between = |of: &[f64]| if step == 0 { of[at] } else { of[at] + share * (of[next] - of[at]) };
                found.rates.push(between(rates));
                found.logarithms.push(between(profile) + preference * between(rates));
            }
        }
        found
    }

    /// The best rate, and the ends of the interval.
    pub(super) fn summary(&self) -> (f64, [f64; 2]) {
        let best = highest(&self.logarithms);
        let mut rate = 0.0;
        let mut interval = [f64::INFINITY, 0.0];
        for (&at, &logarithm) in self.rates.iter().zip(&self.logarithms) {
            if logarithm >= best - INTERVAL_DROP {
                interval = [interval[0].min(at), interval[1].max(at)];
            }
            if logarithm == best {
                rate = at;
            }
        }
        (rate, [interval[0].min(rate), interval[1]])
    }

    /// Rates that are about equally likely: the middles of `count` parts of the same probability.
    pub(super) fn equally_likely(&self, count: usize) -> Vec<f64> {
        let best = highest(&self.logarithms);
        let last = self.rates.len() - 1;
        let weight = |at: usize| {
            let width = self.rates[(at + 1).min(last)] - self.rates[at.saturating_sub(1)];
            // Where the form of the noise cannot be undone, the logarithm is not a number.
            let likely = (self.logarithms[at] - best).exp();
            if likely.is_finite() { width * likely } else { 0.0 }
        };
        let weights: Vec<f64> = (0..=last).map(weight).collect();
        let all: f64 = weights.iter().sum();
        let (mut at, mut below) = (0, 0.0);
        let middle_of = |part: usize| {
            let wanted = all * (part as f64 + 0.5) / count as f64;
            while at < last && below + weights[at] < wanted {
                below += weights[at];
                at += 1;
            }
            self.rates[at]
        };
        (0..count).map(middle_of).collect()
    }
}
