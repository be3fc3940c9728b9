//! Whether the rows of now are like those of before: tests, with the size of each difference.

use std::collections::BTreeMap;

use cmrm::drift::{Difference, RateEstimate, compare_counts, compare_rates, holm};
use cmrm_data::files::text::printable_value;
use serde::Serialize;

use super::columns::most_grown;
use crate::failure::Result;

/// The probability of any false alarm, among all tests of one audit.
pub const LEVEL: f64 = 0.01;
/// Smaller differences of a column are not reported, however sure they are.
pub const LEAST: f64 = 0.1;
/// The same of the classes' shares, and of the share of wrong labels.
const LEAST_OF_CLASSES: f64 = 0.05;
const LEAST_OF_NOISE: f64 = 0.02;

/// What a test is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The share of wrong labels.
    WrongLabels,
    /// The shares of the classes.
    Classes,
    /// The cells of a column.
    Values,
    /// The share of missing cells of a column.
    MissingCells,
}

/// A test, and what was compared, in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Test {
    pub subject: Subject,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    pub then: String,
    pub now: String,
    #[serde(flatten)]
    pub difference: Difference,
    /// The probability, adjusted for the number of tests.
    pub adjusted_p: f64,
    /// From here on a difference matters.
    pub least_distance: f64,
    /// Whether it is large, and no chance.
    pub drifted: bool,
}

impl Test {
    pub fn new(
        subject: Subject,
        column: Option<&str>,
        difference: Difference,
        least_distance: f64,
        then: String,
        now: String,
    ) -> Self {
        let (column, adjusted_p) = (column.map(str::to_owned), difference.p);
        Test { subject, column, then, now, difference, adjusted_p, least_distance, drifted: false }
    }

    /// In words.
    pub fn words(&self) -> String {
        let what = match (self.subject, &self.column) {
            (Subject::WrongLabels, _) => "share of wrong labels".to_owned(),
            (Subject::Classes, _) => "classes".to_owned(),
            (_, Some(column)) => format!("column '{}'", printable_value(column)),
            (_, None) => "a column".to_owned(),
        };
        let p = match self.adjusted_p {
            p if p < 0.001 => "p < 0.001".to_owned(),
            p => format!("p = {p:.3}"),
        };
        let (then, now) = (printable_value(&self.then), printable_value(&self.now));
        format!("{what}: {then} → {now} (distance {:.2}, {p})", self.difference.distance)
    }
}

/// What was compared, and what came of it.
#[derive(Debug, Default, Serialize)]
pub struct Drift {
    /// Whether anything has drifted.
    pub found: bool,
    /// The probability of any false alarm.
    pub level: f64,
    /// All tests, of columns those that found something.
    pub tests: Vec<Test>,
    /// How many columns were compared.
    pub columns_compared: usize,
    /// What could not be compared, and why.
    pub not_compared: Vec<String>,
}

impl Drift {
    /// Judges the tests together.
    pub fn of(mut tests: Vec<Test>, columns_compared: usize, not_compared: Vec<String>) -> Self {
        let adjusted = holm(&tests.iter().map(|test| test.difference.p).collect::<Vec<_>>());
        for (test, p) in tests.iter_mut().zip(adjusted) {
            test.adjusted_p = p;
            test.drifted = p < LEVEL && test.difference.distance >= test.least_distance;
        }
        let found = tests.iter().any(|test| test.drifted);
        tests.retain(|test| test.drifted || test.column.is_none());
        Drift { found, level: LEVEL, tests, columns_compared, not_compared }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let lines = |drifted: bool| self.tests.iter().filter(move |test| test.drifted == drifted).map(Test::words);
        lines(true).for_each(|line| text += &format!("drift: {line}\n"));
        lines(false).for_each(|line| text += &format!("no drift: {line}\n"));
        let drifted = self.tests.iter().filter(|test| test.drifted && test.column.is_some()).count();
        if self.columns_compared > 0 && drifted == 0 {
            text += &format!("no drift: {} columns\n", self.columns_compared);
        }
        self.not_compared.iter().for_each(|reason| text += &format!("not compared: {reason}\n"));
        text
    }
}

/// The test of the share of wrong labels.
pub fn wrong_labels(then: RateEstimate, now: RateEstimate) -> Result<Test> {
    let words = |of: RateEstimate| {
        let [low, high] = of.interval.map(|share| 100.0 * share);
        format!("{} ({low:.1} to {high:.1})", percent(of.rate))
    };
    let difference = compare_rates(then, now)?;
    Ok(Test::new(Subject::WrongLabels, None, difference, LEAST_OF_NOISE, words(then), words(now)))
}

/// An estimate that was made of the probabilities in a file, which know of the rows but not of the models: its interval becomes at least
/// as wide as that of an estimate `like` it, of `rows` in place of `of_rows`.
pub fn widened(narrow: RateEstimate, rows: usize, like: RateEstimate, of_rows: usize) -> RateEstimate {
    let scale = (of_rows.max(1) as f64 / rows.max(1) as f64).sqrt();
    let [low, high] = [like.rate - like.interval[0], like.interval[1] - like.rate].map(|side| scale * side);
    let RateEstimate { rate, interval } = narrow;
    RateEstimate { rate, interval: [interval[0].min(rate - low).max(0.0), interval[1].max(rate + high).min(1.0)] }
}

/// The test of the classes' shares.
pub fn classes(then: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> Result<Test> {
    let names: Vec<String> = then.keys().chain(now.keys().filter(|name| !then.contains_key(*name))).cloned().collect();
    let counts = |of: &BTreeMap<String, u64>| names.iter().map(|name| of.get(name).copied().unwrap_or(0)).collect();
    let (one, other): (Vec<u64>, Vec<u64>) = (counts(then), counts(now));
    let difference = compare_counts(&one, &other)?;
    let [before, after] = most_grown(&names, &one, &other);
    Ok(Test::new(Subject::Classes, None, difference, LEAST_OF_CLASSES, before, after))
}

/// A share in words.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_differences_that_are_large_and_no_chance_are_drift() {
        let test = |distance: f64, p: f64| {
            Test::new(Subject::Values, Some("x"), Difference { distance, p }, LEAST, "a".into(), "b".into())
        };
        let of = |tests: Vec<Test>| Drift::of(tests, 2, Vec::new());
        assert!(!of(vec![test(0.05, 1e-9), test(0.5, 0.02)]).found);
        assert!(of(vec![test(0.5, 0.004)]).found);
        // The same beside two others is one of three chances.
        assert!(!of(vec![test(0.5, 0.004), test(0.0, 1.0), test(0.0, 1.0)]).found);
        let found = of(vec![test(0.5, 1e-5), test(0.2, 0.5)]);
        assert_eq!((found.tests.len(), found.tests[0].adjusted_p), (1, 2e-5));
        assert_eq!(found.text(), "drift: column 'x': a → b (distance 0.50, p < 0.001)\n");
    }

    #[test]
    fn an_estimate_of_a_file_is_no_surer_than_one_of_models() {
        let of = |rate: f64, low: f64, high: f64| RateEstimate { rate, interval: [low, high] };
        let found = widened(of(0.1, 0.09, 0.2), 100, of(0.3, 0.28, 0.33), 400);
        assert!((found.interval[0] - 0.06).abs() < 1e-12 && found.interval[1] == 0.2, "{found:?}");
        assert_eq!(widened(of(0.01, 0.01, 0.01), 1, of(0.5, 0.4, 0.6), 1).interval[0], 0.0);
    }

    #[test]
    fn a_class_that_is_new_counts() {
        let counts = |of: &[(&str, u64)]| of.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        let found = classes(&counts(&[("a", 50), ("b", 50)]), &counts(&[("b", 50), ("c", 50)])).unwrap();
        assert!((found.difference.distance - 0.5).abs() < 1e-12 && found.difference.p < 1e-6, "{found:?}");
        assert_eq!((found.then.as_str(), found.now.as_str()), ("'c' 0 %", "'c' 50 %"));
    }
}
