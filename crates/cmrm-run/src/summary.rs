//! What a fit found, for people and for programs.

use std::fmt::Write;

use cmrm::noise_model::NoiseModel;
use cmrm_data::files::text::{markdown_value, printable_value};
use cmrm_data::preprocess::Summary;
use cmrm_report::RiskCoverage;
use serde::{Deserialize, Serialize};

use crate::BASE;
use crate::compare::Difference;
use crate::judge::Measured;
use crate::suspects::Suspects;
use crate::transition::TransitionSummary;

/// Which labels the arms were judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// Of a test file, taken as they are.
    Test,
    /// Of held-out rows, before noise was injected or known to be right.
    Clean,
    /// Of held-out rows, as observed: partly wrong, like those trained on.
    Observed,
    /// Of the validation rows, as observed: they may also have chosen the epoch.
    ObservedValidation,
    /// Of the training rows, as observed, each judged by models that have not seen it.
    ObservedOutOfSample,
    /// There were none.
    None,
}

impl Labels {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Labels::Test => "the labels of the test file",
            Labels::Clean => "clean labels",
            Labels::Observed => "observed labels, which may be wrong",
            Labels::ObservedValidation => "observed labels of the validation rows, which may be wrong",
            Labels::ObservedOutOfSample => "observed labels of rows that the models had not seen, which may be wrong",
            Labels::None => "no labels",
        }
    }

    /// Whether they are observed labels, of which nobody says that they are right.
    pub fn may_be_wrong(self) -> bool {
        matches!(self, Labels::Observed | Labels::ObservedValidation | Labels::ObservedOutOfSample)
    }
}

/// What a fit found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitSummary {
    /// Version of this form.
    pub schema: String,
    /// The run's folder.
    pub run: String,
    /// What was trained on.
    pub data: DataSummary,
    /// Which labels the arms were judged by.
    pub judged_by: Labels,
    /// The arms, base first.
    pub arms: Vec<ArmSummary>,
    /// The learners that vote in the envelope's arm; none where it is a single network or linear model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberSummary>,
    /// Envelope minus base.
    pub difference: Option<Difference>,
    /// How many labels are wrong, where that was estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseSummary>,
    /// The transition matrix, where the method needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transition: Option<TransitionSummary>,
    /// The labels that look wrong.
    pub suspects: Suspects,
    /// What should make the user look twice, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// Threads, on which nothing depends.
    pub threads: usize,
    /// Version of the program.
    pub version: String,
    /// SHA-256 of features and labels.
    pub fingerprint: String,
}

/// Version of the summary's form.
pub const SCHEMA: &str = "cmrm/fit/1";

/// What was trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// Its name.
    pub name: String,
    /// Rows trained on.
    pub train_rows: usize,
    /// Rows for validation and calibration.
    pub validation_rows: usize,
    /// Rows the arms were judged on.
    pub judged_rows: usize,
    /// Rows without a label.
    pub unlabelled_rows: usize,
    /// Features after preprocessing.
    pub features: usize,
    /// Classes.
    pub classes: usize,
    /// The noise that was injected.
    pub noise: Option<String>,
    /// Share of training rows whose label is known to be wrong.
    pub wrong_share: Option<f64>,
    /// What the columns are and what became of them; nothing if the data is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Summary>,
}

/// How one arm did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// Its name.
    pub name: String,
    /// The epoch whose model is kept, from zero; nothing where there were no epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<usize>,
    /// Metrics on the judged rows.
    pub metrics: Vec<Measured>,
    /// Those of them that can be told for the true classes, where the labels judged by may be wrong and their noise was estimated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrected_metrics: Vec<Measured>,
    /// Prediction sets calibrated on observed labels, where there were rows to calibrate.
    pub sets: Option<SetSummary>,
    /// Prediction sets corrected for the noise in the labels, where that was estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_sets: Option<SetSummary>,
    /// How wrong it is about the judged rows that it is surest of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_coverage: Option<RiskCoverage>,
}

/// How many labels are wrong, by models that have not seen the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NoiseSummary {
    /// Their share.
    pub rate: f64,
    /// 90 % interval.
    pub interval: [f64; 2],
    /// Whether the pairs of classes have rates of their own.
    pub by_pair: bool,
}

impl From<&NoiseModel> for NoiseSummary {
    fn from(model: &NoiseModel) -> Self {
        NoiseSummary { rate: model.rate, interval: model.interval, by_pair: model.by_pair }
    }
}

impl NoiseSummary {
    /// In words.
    pub fn words(&self) -> String {
        let [low, high] = self.interval.map(|share| 100.0 * share);
        format!(
            "{:.1} % of the labels are wrong by estimate (90 % interval {low:.1} to {high:.1} %)",
            100.0 * self.rate
        )
    }
}

/// Ends the names of learners that were trained with weights.
pub const WEIGHTED: &str = ", weighted";

/// What one learner of a vote is worth, by the observed labels of rows that it had not seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberSummary {
    /// Its name; that of one that was trained with weights ends in [`WEIGHTED`].
    pub name: String,
    /// How much its probabilities count in the vote; the shares of all add up to one.
    pub share: f64,
    /// Its accuracy.
    pub accuracy: f64,
    /// Its Brier score; lower is better.
    pub brier: f64,
}

/// Prediction sets at 90 %, by LAC, calibrated on the validation rows, or on the training rows as judged by models that have not
/// seen them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetSummary {
    /// The coverage asked for.
    pub wanted: f64,
    /// Share of the judged rows whose label is in their set.
    pub coverage: f64,
    /// 95 % interval of the coverage (Wilson).
    pub coverage_interval: [f64; 2],
    /// Mean number of classes in a set.
    pub mean_size: f64,
    /// 95 % interval of the mean size, over the rows.
    pub size_interval: [f64; 2],
}

impl FitSummary {
    /// The table that ends a fit in a terminal.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Style::Text);
        out
    }

    /// The same as Markdown, with a title and what it was made from.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# cmrm: {}\n\n", Style::Markdown.value(&self.data.name));
        self.write(&mut out, Style::Markdown);
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\nSeed {}, {} threads, cmrm {}, data {}. Settings: config.toml.\n",
            self.seed, self.threads, self.version, self.fingerprint
        );
        out
    }

    fn write(&self, out: &mut String, style: Style) {
        let labels = match (&self.data.noise, self.data.wrong_share) {
            (Some(noise), Some(share)) => {
                format!(", {:.1} % of their labels corrupted ({})", 100.0 * share, style.value(noise))
            }
            (None, Some(share)) => format!(", {:.1} % of their labels known to be wrong", 100.0 * share),
            _ => String::new(),
        };
        let judged = match self.data.judged_rows {
            0 => "not judged: there are no validation or test rows".to_owned(),
            rows => format!("judged on {rows} rows by {}", self.judged_by.words()),
        };
        let _ = writeln!(out, "Trained on {} rows{labels}; {judged}.\n", self.data.train_rows);
        for warning in &self.warnings {
            let _ = writeln!(out, "Warning: {warning}.\n");
        }
        self.write_table(out, style);
        self.write_members(out, style);
        if let Some(transition) = &self.transition {
            transition.write(out, style);
        }
        if let Some(difference) = &self.difference {
            let _ = writeln!(out, "\n{}", difference_in_words(difference));
        }
        if let Some(noise) = &self.noise {
            let _ = writeln!(out, "\n{}.", noise.words());
        }
        match self.suspects.count {
            0 if self.suspects.withheld => out.push_str("\nNo label is flagged; see the warning above.\n"),
            0 => out.push_str("\nNo label looks wrong.\n"),
            _ => self.write_suspects(out, style),
        }
        let _ = writeln!(out, "\nThe run is in {}.", style.value(&self.run));
    }

    fn write_members(&self, out: &mut String, style: Style) {
        if self.members.is_empty() {
            return;
        }
        let _ = writeln!(out, "\nWhat each learner is worth, by observed labels of rows that it had not seen:\n");
        let head = ["learner", "share of the vote", "accuracy", "Brier score"].map(str::to_owned);
        let row = |member: &MemberSummary| {
            let share = format!("{:.0} %", 100.0 * member.share);
            [style.value(&member.name), share, format!("{:.4}", member.accuracy), format!("{:.4}", member.brier)]
        };
        write_rows(out, style, &head, &self.members.iter().map(row).collect::<Vec<_>>());
        if self.members.iter().any(|member| member.name.ends_with(WEIGHTED)) {
            let and_arm = match self.judged_by {
                Labels::ObservedOutOfSample => ", like those of the envelope arm above,",
                _ => "",
            };
            let _ = writeln!(
                out,
                "\nLearners marked weighted were trained again with doubtful rows counting less. Their figures{and_arm} are too \
                 good: the weights were computed from the same labels."
            );
        }
    }

    fn write_suspects(&self, out: &mut String, style: Style) {
        let suspects = &self.suspects;
        let rates = match (suspects.precision, suspects.recall, suspects.expected) {
            (None, None, Some(expected)) => {
                [("expected precision", Some(expected.precision)), ("expected recall", Some(expected.recall))]
            }
            (precision, recall, _) => [("precision", precision), ("recall", recall)],
        };
        let known = rates.iter().filter_map(|(name, rate)| rate.map(|rate| format!("{name} {:.1} %", 100.0 * rate)));
        let known = known.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            out,
            "\n{} labels look wrong ({:.1} % of the rows{}{known}); the most suspicious:\n",
            suspects.count,
            100.0 * suspects.share,
            if known.is_empty() { "" } else { "; " },
        );
        let head = ["row".to_owned(), "given".to_owned(), "suggested".to_owned(), "margin".to_owned()];
        let body: Vec<[String; 4]> = suspects
            .top
            .iter()
            .map(|s| {
                let [given, suggested] = [&s.given_label, &s.suggested_label].map(|label| style.value(label));
                [s.row.to_string(), given, suggested, format!("{:+.3}", s.margin)]
            })
            .collect();
        write_rows(out, style, &head, &body);
    }

    fn write_table(&self, out: &mut String, style: Style) {
        let Some(first) = self.arms.first().filter(|arm| !arm.metrics.is_empty()) else { return };
        let mut head = vec![String::new()];
        head.extend(self.arms.iter().map(|arm| match arm.name.as_str() {
            BASE => BASE.into(),
            name => format!("envelope ({})", style.value(name)),
        }));
        let mut body: Vec<Vec<String>> = Vec::new();
        type Metrics = fn(&ArmSummary) -> &[Measured];
        let kinds: [(&str, Metrics); 2] = [("", |arm| &arm.metrics), (", corrected", |arm| &arm.corrected_metrics)];
        for (which, metrics) in kinds {
            for (m, metric) in metrics(first).iter().enumerate() {
                let cell = |v: &Measured| format!("{:.4}  [{:.4}, {:.4}]", v.value, v.low, v.high);
                let mut row = vec![format!("{}{which}", metric.name.replace('_', " "))];
                row.extend(self.arms.iter().map(|arm| metrics(arm).get(m).map(cell).unwrap_or_default()));
                body.push(row);
            }
        }
        type Sets = fn(&ArmSummary) -> Option<&SetSummary>;
        let kinds: [(&str, Sets); 2] =
            [("", |arm| arm.sets.as_ref()), (", corrected", |arm| arm.corrected_sets.as_ref())];
        for (which, sets) in kinds.into_iter().filter(|(_, sets)| sets(first).is_some()) {
            let row = |what: &str, of: fn(&SetSummary) -> f64| {
                let cell = |arm| sets(arm).map(|sets| format!("{:.4}", of(sets))).unwrap_or_default();
                [vec![format!("{what}{which}")], self.arms.iter().map(cell).collect()].concat()
            };
            body.push(row("coverage of 90 % sets", |sets| sets.coverage));
            body.push(row("mean set size", |sets| sets.mean_size));
        }
        write_rows(out, style, &head, &body);
    }
}

/// The difference with its intervals, and what it means.
pub fn difference_in_words(difference: &Difference) -> String {
    let difference = cmrm_report::Difference::from(*difference);
    format!("{}\n{}", difference.numbers(), difference.verdict().words)
}

/// How words and tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// For a terminal.
    Text,
    /// For a file that is rendered.
    Markdown,
}

impl Style {
    /// A word from the data, such as a class's name, so that it is shown as the text that it is.
    pub fn value(self, text: &str) -> String {
        match self {
            Style::Text => printable_value(text).into_owned(),
            Style::Markdown => markdown_value(text),
        }
    }
}

/// Rows with aligned columns. Cells are written as they are: what comes from the data passes through [`Style::value`] first.
pub fn write_rows<R: AsRef<[String]>>(out: &mut String, style: Style, head: &[String], body: &[R]) {
    let (open, separator, close) = match style {
        Style::Text => ("  ", "  ", ""),
        Style::Markdown => ("| ", " | ", " |"),
    };
    let width = |column: usize| {
        let cells = body.iter().map(|row| row.as_ref()[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let row = format!("{open}{}{close}", padded.collect::<Vec<_>>().join(separator));
        let _ = writeln!(out, "{}", row.trim_end());
    };
    line(head);
    if style == Style::Markdown {
        line(&widths.iter().map(|&width| "-".repeat(width.max(3))).collect::<Vec<_>>());
    }
    for row in body {
        line(row.as_ref());
    }
}
