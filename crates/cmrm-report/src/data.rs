//! What a report is made of: plain numbers and words.

use serde::{Deserialize, Serialize};

use crate::arms::{Arm, Member};
use crate::difference::Difference;
use crate::self_check::SelfCheck;

/// Version of the stored form.
pub const SCHEMA: &str = "cmrm/report/1";

/// Everything a report shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the stored form.
    pub schema: String,
    /// Name of the data.
    pub data: String,
    /// Rows, features and classes.
    pub sizes: Sizes,
    /// The noise that was injected, if any was.
    pub noise: Option<String>,
    /// Share of the training labels known to be wrong.
    pub wrong_share: Option<f64>,
    /// Which labels the arms were judged by, in words.
    pub judged_by: String,
    /// The arms: base first, the envelope last.
    pub arms: Vec<Arm>,
    /// The learners that vote in the envelope's arm; none where it is a single network or linear model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// The envelope's arm minus the base arm.
    pub difference: Option<Difference>,
    /// The labels that look wrong.
    pub audit: Audit,
    /// How good the audit is, once that was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_check: Option<SelfCheck>,
    /// What should make the reader look twice, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The most suspicious rows.
    pub suspects: Vec<Card>,
    /// One entry an arm and epoch.
    pub history: Vec<Epoch>,
    /// Settings of the envelope.
    pub envelope: Envelope,
    /// Margins of the training rows: in the last epoch, or by models that had not seen them.
    pub margins: Margins,
    /// Their density and what theory says of the threshold; nothing where all margins are equal.
    pub density: Option<Density>,
    /// Probability of the observed label, by observed class.
    pub confidence: Vec<Confidence>,
    /// Accuracy against the settings of the envelope, if it was asked for.
    pub sensitivity: Option<Sensitivity>,
    /// How it was made.
    pub origin: Origin,
}

/// Rows, features and classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// Rows trained on.
    pub train: usize,
    /// Rows for validation and calibration.
    pub validation: usize,
    /// Rows the arms were judged on.
    pub judged: usize,
    /// Rows without a label.
    pub unlabelled: usize,
    /// Features after preprocessing.
    pub features: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The labels that look wrong, among the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Rows looked at.
    pub rows: usize,
    /// Rows whose label looks wrong.
    pub issues: usize,
    /// Whether each row was judged by models that had not seen it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_sample: bool,
    /// Share of all labels that are wrong, where that was estimated, with its 90 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Estimate>,
    /// Precision and recall that the issues should have by that estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<[f64; 2]>,
    /// Share of the issues that truly are wrong, where that is known.
    pub precision: Option<f64>,
    /// Share of the wrong labels that are issues, where that is known.
    pub recall: Option<f64>,
    /// Given label, suggested label and rows, of the issues, most frequent first.
    pub pairs: Vec<Pair>,
}

/// Rows with one given and one suggested label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Index of the given label.
    pub given: u32,
    /// Index of the suggested label.
    pub suggested: u32,
    /// Rows.
    pub rows: u64,
}

/// A suspect, to look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Where it stands in the data, from zero.
    pub row: u64,
    /// Its id, where the data has a column of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its label.
    pub given: String,
    /// The label that the model thinks is right.
    pub suggested: String,
    /// Probability of the given label minus that of the suggested one.
    pub margin: f64,
    /// What the row holds.
    pub content: Content,
    /// The rows most like it whose labels are trusted.
    pub neighbours: Vec<Neighbour>,
}

/// A row that a suspect is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Where it stands in the data, from zero.
    pub row: u64,
    /// Its label, which is trusted.
    pub label: String,
    /// What the row holds.
    pub content: Content,
}

/// What a row holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// The image, as an address that holds it.
    pub picture: Option<String>,
    /// Names and values of the columns, where it is no image.
    pub cells: Vec<(String, String)>,
    /// Columns that are left out.
    pub more: usize,
}

/// One epoch of one arm. Losses are means over the training rows, by observed labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Name of the arm.
    pub arm: String,
    /// Epoch, from zero.
    pub epoch: usize,
    /// Whether the envelope was on.
    pub on: bool,
    /// The base loss.
    pub base: f64,
    /// The envelope's risk, before it is weighed by λ.
    pub risk: f64,
    /// What is minimised.
    pub total: f64,
    /// The threshold.
    pub tau: Option<f64>,
    /// `τ⁺` of the class-conditional envelope.
    pub tau_plus: Option<f64>,
    /// `τ⁻` of the class-conditional envelope.
    pub tau_minus: Option<f64>,
    /// Share of the rows below the threshold.
    pub filtered: f64,
    /// Share of wrong labels among those, where it is known.
    pub wrong_among_filtered: Option<f64>,
    /// Accuracy on the observed labels of the validation rows.
    pub validation_accuracy: Option<f64>,
}

/// Settings of the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Its weight.
    pub lambda: f64,
    /// Share of the margins below the threshold.
    pub alpha: f64,
    /// Width of the soft filter.
    pub temperature: f64,
    /// What the threshold is kept at or below.
    #[serde(default)]
    pub ceiling: Option<f64>,
}

impl Report {
    /// The ceiling, where it is what keeps the threshold from the quantile of the margins.
    pub(crate) fn binding_ceiling(&self) -> Option<f64> {
        self.envelope.ceiling.filter(|&ceiling| ceiling < self.margins.tau)
    }
}

/// Counts of margins from −1 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Margins {
    /// Rows with a label that is right, or all rows where that is not known.
    pub right: Vec<u32>,
    /// Rows with a label that is wrong, where that is known.
    pub wrong: Option<Vec<u32>>,
    /// The α-quantile of all margins.
    pub tau: f64,
}

/// Density of the margins, and the bound on the threshold of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Density {
    /// Places and densities.
    pub curve: Vec<(f64, f64)>,
    /// Bandwidth of the kernels.
    pub bandwidth: f64,
    /// Rows of a batch.
    pub batch: usize,
    /// Probability with which the bound may fail.
    pub delta: f64,
    /// The largest distance of a batch's τ from that of all rows that theory allows; nothing where it says nothing.
    pub bound: Option<f64>,
    /// Why there is no bound.
    pub warning: Option<String>,
    /// Distances that batches of this size had: their mean, and what 95 % of them keep to.
    pub seen: Option<(f64, f64)>,
    /// The claims about clean labels, checked; only where those are known.
    pub check: Option<CleanCheck>,
}

/// The claims of the paper about a filter that was calibrated on noisy labels, on rows whose clean labels are known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CleanCheck {
    /// Share of wrong labels.
    pub wrong: f64,
    /// Distance of the share of clean margins above τ from 1 − α.
    pub share_gap: f64,
    /// Its limit.
    pub share_limit: f64,
    /// Distance of the noisy from the clean risk.
    pub risk_gap: f64,
    /// Its limit.
    pub risk_limit: f64,
}

/// Probability of the observed label among the training rows of one class; counts from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The observed class.
    pub class: String,
    /// All rows, by the base arm.
    pub base: Option<Vec<u32>>,
    /// Rows with a label that is right (all rows where that is not known), by the envelope's arm.
    pub right: Vec<u32>,
    /// Rows with a label that is wrong, by the envelope's arm.
    pub wrong: Option<Vec<u32>>,
}

/// Accuracy against α and against λ, the other one as in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// Along α.
    pub alpha: Vec<Setting>,
    /// Along λ.
    pub lambda: Vec<Setting>,
    /// The labels that `judged` went by, in words.
    pub judged_by: String,
}

/// One setting and how the model did that was trained with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The value of α or λ.
    pub value: f64,
    /// Whether it is the run's.
    pub chosen: bool,
    /// Accuracy on the observed labels of the validation rows.
    pub validation: Option<Estimate>,
    /// Accuracy on the judged rows.
    pub judged: Option<Estimate>,
}

/// How a report was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The seed.
    pub seed: u64,
    /// Threads, on which nothing depends.
    pub threads: usize,
    /// Version of the program.
    pub version: String,
    /// SHA-256 of features and labels.
    pub fingerprint: String,
    /// Fingerprint of the data's rows, which decisions carry; earlier reports have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_fingerprint: Option<String>,
    /// The settings, as TOML.
    pub config: String,
}

impl Report {
    /// The envelope's arm.
    pub fn envelope_arm(&self) -> Option<&Arm> {
        self.arms.iter().rfind(|arm| !arm.is_base)
    }

    /// The base arm.
    pub fn base_arm(&self) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.is_base)
    }

    /// The epochs of an arm.
    pub fn epochs<'a>(&'a self, arm: Option<&'a Arm>) -> impl Iterator<Item = &'a Epoch> + 'a {
        self.history.iter().filter(move |epoch| arm.is_some_and(|arm| arm.name == epoch.arm))
    }

    /// Name of a class.
    pub fn class(&self, index: u32) -> &str {
        self.sizes.classes.get(index as usize).map_or("?", String::as_str)
    }
}
