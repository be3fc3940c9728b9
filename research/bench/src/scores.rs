//! Results over seeds, as a markdown table: mean ± deviation, and the difference to the first arm pair by pair.

use cmrm::metric::compare_paired;

use crate::Result;

/// Percentages of several arms over several seeds.
#[derive(Debug, Default)]
pub struct Scores {
    arms: Vec<(String, Vec<f64>)>,
}

impl Scores {
    /// Notes one arm's share (0 to 1) for the seed under way.
    pub fn note(&mut self, arm: &str, share: f64) {
        match self.arms.iter_mut().find(|(name, _)| name == arm) {
            Some((_, shares)) => shares.push(100.0 * share),
            None => self.arms.push((arm.to_owned(), vec![100.0 * share])),
        }
    }

    /// Names of the arms in the order they were noted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arms.iter().map(|(name, _)| name.as_str())
    }

    /// `mean ± deviation (difference to the first arm [95 % interval])` of an arm.
    pub fn cell(&self, arm: &str) -> Result<String> {
        let find = |name: &str| self.arms.iter().find(|(other, _)| other == name).map(|(_, shares)| shares);
        let shares = find(arm).ok_or_else(|| format!("no results of {arm}"))?;
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        if shares.len() < 2 {
            let first = self.arms[0].1[0];
            return Ok(format!("{mean:.2} ({:+.2})", mean - first));
        }
        let variance = shares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (shares.len() - 1) as f64;
        let spread = format!("{mean:.2} ± {:.2}", variance.sqrt());
        if arm == self.arms[0].0 {
            return Ok(spread);
        }
        let paired = compare_paired(shares, &self.arms[0].1, 0.95)?;
        Ok(match paired.t_test {
            Some(test) => format!(
                "{spread} ({:+.2} [{:+.2}, {:+.2}])",
                paired.mean_difference, test.interval.low, test.interval.high
            ),
            None => format!("{spread} ({:+.2})", paired.mean_difference),
        })
    }
}
