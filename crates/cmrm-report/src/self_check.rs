//! How good an audit is, by wrong labels that were planted.

use serde::{Deserialize, Serialize};

use crate::data::Estimate;

/// Version of the stored form.
pub const SELF_CHECK_SCHEMA: &str = "cmrm/self-check/1";

/// What became of labels that were flipped on purpose, once the run's settings had been fitted to them again. Intervals are of 90 %.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Version of the stored form.
    pub schema: String,
    /// The precision that the list of suspects was cut for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_precision: Option<f64>,
    /// Suspects of the run.
    pub suspects: usize,
    /// Labels that were flipped.
    pub planted: usize,
    /// Those of them that are suspects of the second fit.
    pub found: usize,
    /// Their share.
    pub recall: Estimate,
    /// The same of the third of them that are on the hardest rows: those whose margin was smallest.
    pub recall_of_hard: Estimate,
    /// Share of the wrong labels that the run itself expects to be suspects.
    pub expected_recall: f64,
    /// Share of the run's suspects that are wrong, if so many of the wrong labels are among them as of the planted ones; nothing without
    /// suspects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Estimate>,
    /// The share that the run itself expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_precision: Option<f64>,
    /// Rows that were no suspects, most likely right, and left alone.
    pub looked_right: usize,
    /// Those of them that are suspects of the second fit.
    pub false_alarms: usize,
    /// Share of wrong labels by the run's estimate.
    pub noise_before: f64,
    /// The same with the flips in it, if the estimate is right.
    pub noise_due: f64,
    /// What the second fit estimates; nothing where its models tell nothing of the labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_found: Option<f64>,
    /// Mean probability of being wrong that the second fit gives to the planted labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted_wrong_probability: Option<f64>,
    /// The same of the labels that looked right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right_wrong_probability: Option<f64>,
}

impl SelfCheck {
    /// What was done.
    pub fn done(&self) -> String {
        let list = self.wanted_precision.map(|precision| format!(" (flagged with --precision {precision})"));
        format!(
            "{} labels were flipped on purpose, and the model fitted again{}",
            self.planted,
            list.unwrap_or_default()
        )
    }

    /// What was found, a sentence each.
    pub fn findings(&self) -> Vec<String> {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let within = |of: &Estimate| {
            format!("{} (90 % interval {:.1} to {:.1} %)", percent(of.value), 100.0 * of.low, 100.0 * of.high)
        };
        let mut recall = format!(
            "recall: {} of them came back as suspects, {}; of the third on the hardest rows {}",
            self.found,
            within(&self.recall),
            within(&self.recall_of_hard)
        );
        if self.noise_before > 0.0 {
            let expected = percent(self.expected_recall);
            recall += &format!("; the run expects {expected} of its wrong labels to be among its suspects");
        }
        let mut findings = vec![recall];
        match (&self.precision, self.expected_precision) {
            (Some(precision), Some(expected)) => findings.push(format!(
                "precision: with this recall and {} wrong labels, {} of the run's {} suspects are wrong; the run expects {}",
                percent(self.noise_before),
                within(precision),
                self.suspects,
                percent(expected)
            )),
            (Some(_), None) => findings.push(format!(
                "precision: by the run's estimate no label is wrong, so nothing can be said of its {} suspects",
                self.suspects
            )),
            (None, _) => findings.push("precision: the run has no suspects to judge".into()),
        }
        findings.push(format!(
            "false alarms: of {} labels that looked right and were left alone, {} ({}) are suspects now",
            self.looked_right,
            self.false_alarms,
            percent(self.false_alarms as f64 / self.looked_right.max(1) as f64)
        ));
        findings.push(match self.noise_found {
            Some(found) => format!(
                "estimate of wrong labels: {} before, {} with the flips, where {} were due",
                percent(self.noise_before),
                percent(found),
                percent(self.noise_due)
            ),
            None => "estimate of wrong labels: none with the flips, since the models no longer tell the labels".into(),
        });
        if let (Some(planted), Some(right)) = (self.planted_wrong_probability, self.right_wrong_probability) {
            findings.push(format!(
                "probability of being wrong: {} on average for a flipped label, {} for one that looked right",
                percent(planted),
                percent(right)
            ));
        }
        findings
    }

    /// What it does not tell.
    pub fn limits(&self) -> String {
        let mut limits = String::from(
            "The flips imitate the estimated noise: rows are drawn by how likely their label is right, hard ones among them. Where people \
             err on hard rows, recall is nearer to that of the hardest third, and more labels are wrong than the run estimates.",
        );
        if self.noise_before < self.noise_due - self.noise_before {
            limits += " Here fewer labels are wrong by estimate than were flipped, and a run names few more suspects than it expects wrong labels: \
                       its recall of real errors may be far lower.";
        }
        limits
    }

    /// All of it as text that is Markdown too.
    pub fn to_text(&self) -> String {
        let findings: String = self.findings().iter().map(|finding| format!("- {finding}\n")).collect();
        format!("Self-check: {}.\n\n{findings}\n{}\n", self.done(), self.limits())
    }
}
