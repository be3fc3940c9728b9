//! What a fit found, for people and for programs.

use std::fmt::Write;

use cmrm::Matrix;
use cmrm::conformal::{self, ConformalConfig};
use cmrm::metric::{predicted_classes, wilson};
use cmrm_data::Dataset;
use cmrm_train::train::Trained;
use serde::Serialize;

use crate::arms::BASE;
use crate::config::FitConfig;
use crate::failure::Result;
use crate::judge::{Difference, LEVEL, Measured, compare, mean_interval, measure};
use crate::run_dir::{RunDir, RunInfo};
use crate::suspects::Suspects;
use crate::verbs::fit::Prepared;

/// Which labels the arms were judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
    /// There were none.
    None,
}

impl Labels {
    pub fn words(self) -> &'static str {
        match self {
            Labels::Test => "labels of the test file",
            Labels::Clean => "clean labels",
            Labels::Observed => "observed labels, partly wrong themselves",
            Labels::ObservedValidation => "observed labels of the validation rows, partly wrong themselves",
            Labels::None => "no labels",
        }
    }
}

/// Everything a summary is made of.
pub struct Parts<'a> {
    pub config: &'a FitConfig,
    pub prepared: &'a Prepared,
    pub run: &'a RunDir,
    pub trained: &'a [Trained<f32>],
    pub robust: &'a Trained<f32>,
    pub test: Option<&'a Dataset>,
    pub labels: Labels,
    pub info: &'a RunInfo,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitSummary {
    pub schema: &'static str,
    pub run: String,
    pub data: DataSummary,
    pub judged_by: Labels,
    pub arms: Vec<ArmSummary>,
    /// Envelope minus base.
    pub difference: Option<Difference>,
    pub suspects: Suspects,
    pub seed: u64,
    pub threads: usize,
    pub version: String,
    pub fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataSummary {
    pub name: String,
    pub train_rows: usize,
    pub validation_rows: usize,
    pub judged_rows: usize,
    pub unlabelled_rows: usize,
    pub features: usize,
    pub classes: usize,
    /// The noise that was injected, and the share of training rows whose label is known to be wrong.
    pub noise: Option<String>,
    pub wrong_share: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmSummary {
    pub name: String,
    /// The epoch whose model is kept, from zero.
    pub epoch: usize,
    pub metrics: Vec<Measured>,
    pub sets: Option<SetSummary>,
}

/// Prediction sets at 90 %, by LAC, calibrated on the observed labels of the validation rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetSummary {
    /// The coverage asked for.
    pub wanted: f64,
    pub coverage: f64,
    /// 95 % interval of the coverage (Wilson).
    pub coverage_interval: [f64; 2],
    pub mean_size: f64,
    /// 95 % interval of the mean size, over the rows.
    pub size_interval: [f64; 2],
}

impl FitSummary {
    pub fn new(parts: Parts<'_>) -> Result<Self> {
        let Parts { config, prepared, run, trained, robust, test, labels, info } = parts;
        let mut arms = Vec::new();
        let mut predictions = Vec::new();
        for arm in trained {
            let (mut metrics, mut sets) = (Vec::new(), None);
            if let Some(test) = test {
                let probabilities = arm.model.probabilities(test.matrix()?)?;
                let probabilities = Matrix::new(&probabilities, test.classes.len())?;
                metrics = measure(probabilities, &test.labels, config.seed)?;
                predictions.push(predicted_classes(probabilities)?);
                sets = prediction_sets(prepared, arm, probabilities, test, labels, config.seed)?;
            }
            arms.push(ArmSummary { name: arm.name.clone(), epoch: arm.epoch, metrics, sets });
        }
        let difference = match (test, predictions.as_slice()) {
            (Some(test), [base, robust]) => Some(compare(base, robust, &test.labels, config.seed)?),
            _ => None,
        };
        let train = &prepared.split.train;
        let wrong_share = prepared.clean.as_ref().map(|clean| {
            train.iter().filter(|&&i| clean[i] != prepared.data.labels[i]).count() as f64 / train.len() as f64
        });
        Ok(FitSummary {
            schema: "cmrm/fit/1",
            run: run.path().display().to_string(),
            data: DataSummary {
                name: prepared.name.clone(),
                train_rows: train.len(),
                validation_rows: prepared.split.validation.len(),
                judged_rows: test.map_or(0, Dataset::len),
                unlabelled_rows: prepared.unlabelled,
                features: prepared.data.width(),
                classes: prepared.data.classes.len(),
                noise: config.noise.as_ref().map(ToString::to_string),
                wrong_share,
            },
            judged_by: labels,
            arms,
            difference,
            suspects: Suspects::find(prepared, robust),
            seed: config.seed,
            threads: rayon::current_num_threads(),
            version: info.version.clone(),
            fingerprint: info.fingerprint.clone(),
        })
    }

    /// The table that ends a fit in a terminal.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, "  ", "");
        out
    }

    /// The same as Markdown, with a title and what it was made from.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# cmrm: {}\n\n", self.data.name);
        self.write(&mut out, "| ", " |");
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\nSeed {}, {} threads, cmrm {}, data {}. Settings: config.toml.\n",
            self.seed, self.threads, self.version, self.fingerprint
        );
        out
    }

    fn write(&self, out: &mut String, open: &str, close: &str) {
        let markdown = !close.is_empty();
        let _ = writeln!(
            out,
            "{} rows trained on{}; judged on {} rows by {}.\n",
            self.data.train_rows,
            match (&self.data.noise, self.data.wrong_share) {
                (Some(noise), Some(share)) => format!(", {:.1} % of their labels made wrong ({noise})", 100.0 * share),
                (None, Some(share)) => format!(", {:.1} % of their labels known to be wrong", 100.0 * share),
                _ => String::new(),
            },
            self.data.judged_rows,
            self.judged_by.words()
        );
        self.write_table(out, open, close, markdown);
        if let Some(difference) = &self.difference {
            let _ = writeln!(out, "\n{}", difference_in_words(difference));
        }
        let suspects = &self.suspects;
        let _ = writeln!(
            out,
            "\n{} labels ({:.1} %) look wrong{}{}; the most doubtful:\n",
            suspects.count,
            100.0 * suspects.share,
            suspects.precision.map(|p| format!(", {:.1} % of them truly are", 100.0 * p)).unwrap_or_default(),
            suspects.recall.map(|r| format!(", {:.1} % of all wrong ones", 100.0 * r)).unwrap_or_default()
        );
        let separator = if markdown { " | " } else { "  " };
        let head = ["row".to_owned(), "given".to_owned(), "suggested".to_owned(), "margin".to_owned()];
        let body: Vec<[String; 4]> = suspects
            .top
            .iter()
            .map(|s| [s.row.to_string(), s.given_label.clone(), s.suggested_label.clone(), format!("{:+.3}", s.margin)])
            .collect();
        write_rows(out, open, close, separator, &head, &body, markdown);
        let _ = writeln!(out, "\nThe run is in {}.", self.run);
    }

    fn write_table(&self, out: &mut String, open: &str, close: &str, markdown: bool) {
        let separator = if markdown { " | " } else { "  " };
        let Some(first) = self.arms.first() else { return };
        let mut head = vec![String::new()];
        head.extend(
            self.arms.iter().map(|arm| if arm.name == BASE { BASE.into() } else { format!("envelope ({})", arm.name) }),
        );
        let mut body: Vec<Vec<String>> = Vec::new();
        for (m, metric) in first.metrics.iter().enumerate() {
            let mut row = vec![metric.name.replace('_', " ")];
            for arm in &self.arms {
                let cell = arm.metrics.get(m).map(|v| format!("{:.4}  [{:.4}, {:.4}]", v.value, v.low, v.high));
                row.push(cell.unwrap_or_default());
            }
            body.push(row);
        }
        if first.sets.is_some() {
            let cells = |of: &dyn Fn(&SetSummary) -> f64| {
                self.arms
                    .iter()
                    .map(|arm| arm.sets.as_ref().map(|s| format!("{:.4}", of(s))).unwrap_or_default())
                    .collect::<Vec<_>>()
            };
            body.push([vec!["coverage of 90 % sets".to_owned()], cells(&|s| s.coverage)].concat());
            body.push([vec!["mean set size".to_owned()], cells(&|s| s.mean_size)].concat());
        }
        write_rows(out, open, close, separator, &head, &body, markdown);
    }
}

/// The difference with its interval, and what it means.
pub fn difference_in_words(difference: &Difference) -> String {
    format!(
        "Accuracy, envelope minus base: {:+.4} (95 % interval {:+.4} to {:+.4}). {}",
        difference.accuracy,
        difference.low,
        difference.high,
        verdict(difference)
    )
}

pub fn verdict(difference: &Difference) -> &'static str {
    if difference.low > 0.0 {
        "The envelope helped."
    } else if difference.high < 0.0 {
        "The envelope hurt: the base arm is the better model here."
    } else {
        "No difference beyond chance on these rows."
    }
}

/// Rows with aligned columns.
pub fn write_rows<R: AsRef<[String]>>(
    out: &mut String,
    open: &str,
    close: &str,
    separator: &str,
    head: &[String],
    body: &[R],
    markdown: bool,
) {
    let width = |column: usize| {
        let cells = body.iter().map(|row| row.as_ref()[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| {
            // A bar inside a cell would end it in Markdown.
            let cell = if markdown { cell.replace('|', "\\|") } else { cell.clone() };
            format!("{cell:<width$}")
        });
        let row = format!("{open}{}{close}", padded.collect::<Vec<_>>().join(separator));
        let _ = writeln!(out, "{}", row.trim_end());
    };
    line(head);
    if markdown {
        line(&widths.iter().map(|&width| "-".repeat(width.max(3))).collect::<Vec<_>>());
    }
    for row in body {
        line(row.as_ref());
    }
}

/// Sets for the judged rows, unless those are the rows that would calibrate.
fn prediction_sets(
    prepared: &Prepared,
    arm: &Trained<f32>,
    probabilities: Matrix<'_, f32>,
    test: &Dataset,
    labels: Labels,
    seed: u64,
) -> Result<Option<SetSummary>> {
    if labels == Labels::ObservedValidation || prepared.split.validation.is_empty() {
        return Ok(None);
    }
    let validation = prepared.data.gather(&prepared.split.validation)?;
    let calibration = arm.model.probabilities(validation.matrix()?)?;
    let config = ConformalConfig::default();
    let wanted = config.coverage;
    let conformal = config.validate()?;
    let calibration = Matrix::new(&calibration, test.classes.len())?;
    let sets = conformal.calibrate(calibration, &validation.labels, &[])?.predict(probabilities, &[])?;
    let report = conformal::evaluate(&sets, &test.labels)?;
    let covered = (0..test.len()).filter(|&row| sets.contains(row, test.labels[row])).count();
    let coverage = wilson(covered, test.len(), LEVEL)?;
    let sizes: Vec<f64> = sets.sizes().map(|size| size as f64).collect();
    let size = mean_interval(&sizes, seed)?;
    Ok(Some(SetSummary {
        wanted,
        coverage: report.coverage,
        coverage_interval: [coverage.low, coverage.high],
        mean_size: report.mean_size,
        size_interval: [size.low, size.high],
    }))
}
