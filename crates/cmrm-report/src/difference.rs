//! The difference between the arms, and what it means.

use serde::{Deserialize, Serialize};

use crate::data::Estimate;

/// The envelope's arm minus the base arm, on the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Of their accuracies.
    #[serde(flatten)]
    pub accuracy: Estimate,
    /// Of their log losses; earlier reports have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<Estimate>,
    /// Of their calibration errors, each without what chance adds to it; earlier reports have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Estimate>,
}

/// What a difference means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// In one word: `helped`, `hurt`, `mixed` or `none`.
    pub kind: &'static str,
    /// In a sentence.
    pub words: String,
}

impl Difference {
    /// The numbers, with 95 % intervals.
    pub fn numbers(&self) -> String {
        let one = |(name, of): (&str, Estimate)| format!("{name} {:+.4} ({:+.4} to {:+.4})", of.value, of.low, of.high);
        let of = [
            ("accuracy", Some(self.accuracy)),
            ("log loss", self.log_loss),
            ("calibration error beyond chance", self.calibration),
        ];
        let known: Vec<String> = of.into_iter().filter_map(|(name, of)| Some(one((name, of?)))).collect();
        format!("Envelope minus base, with 95 % intervals: {}.", known.join(", "))
    }

    /// What they mean. Of each measure, that the interval leaves out 0 counts as a difference.
    pub fn verdict(&self) -> Verdict {
        // The sign that is better, and the words for each.
        let measures = [
            (Some(self.accuracy), 1.0, ["accuracy", "more accurate", "less accurate"]),
            (self.log_loss, -1.0, ["log loss", "better in log loss", "worse in log loss"]),
            (self.calibration, -1.0, ["calibration", "better calibrated", "less well calibrated"]),
        ];
        let (mut better, mut worse, mut same) = (Vec::new(), Vec::new(), Vec::new());
        for (difference, sign, [name, is_better, is_worse]) in measures {
            match difference {
                Some(d) if f64::min(sign * d.low, sign * d.high) > 0.0 => better.push(is_better),
                Some(d) if f64::max(sign * d.low, sign * d.high) < 0.0 => worse.push(is_worse),
                Some(_) => same.push(name),
                None => {}
            }
        }
        let rest = match same.as_slice() {
            [] => String::new(),
            same => format!("; no difference beyond chance in {}", list(same)),
        };
        let (kind, words) = match (better.as_slice(), worse.as_slice()) {
            ([], []) => ("none", "No difference beyond chance on these rows.".to_owned()),
            (better, []) => ("helped", format!("The envelope helped: {}{rest}.", list(better))),
            ([], worse) => {
                ("hurt", format!("The envelope hurt: {}{rest}. The base arm is the better model here.", list(worse)))
            }
            (better, worse) => ("mixed", format!("The envelope is {}, but {}{rest}.", list(better), list(worse))),
        };
        Verdict { kind, words }
    }
}

/// Words with commas, the last two with an "and".
fn list(words: &[&str]) -> String {
    match words {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => words.concat(),
    }
}
