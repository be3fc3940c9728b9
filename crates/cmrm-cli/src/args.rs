//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm::methods::Method;
use cmrm::noise::NoiseConfig;
use cmrm_data::Override;
use cmrm_data::read::Format;
use cmrm_data::table::closest;
use cmrm_fit::{Keep, LearnerKind, ModelKind, OptimiserKind};

/// Where help shows the flags of every command.
const GLOBAL: &str = "Global options";

/// Train robust classifiers on labels that are partly wrong, and find the wrong ones.
#[derive(Debug, Parser)]
#[command(name = "cmrm", version)]
pub struct Cli {
    /// Print the result as one JSON object.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// Suppress progress and messages; errors still print.
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
    /// Number of threads [default: all cores]; results do not depend on it.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub threads: Option<usize>,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Train a robust classifier, and a base arm to compare it with.
    Fit(Box<FitArgs>),
    /// Rank the labels that look wrong: from a run, by cross-fitting, or from any model's probabilities.
    Audit(Box<crate::verbs::audit::AuditArgs>),
    /// Review the suspects one at a time on a local web page.
    Review(crate::verbs::review::ReviewArgs),
    /// Apply decisions (keep, relabel, drop) to a data file.
    Clean(crate::verbs::clean::CleanArgs),
    /// Predict labels, confidences, probabilities and prediction sets for new rows.
    Predict(Box<crate::verbs::predict::PredictArgs>),
    /// Answer requests over HTTP: labels, confidences, prediction sets, and doubts about given labels.
    Serve(crate::verbs::serve::ServeArgs),
    /// Evaluate a run's models on labelled rows, with confidence intervals.
    Evaluate(Box<crate::verbs::evaluate::EvaluateArgs>),
    /// Write a run's model as an ONNX file, for programs that know nothing of cmrm.
    Export(crate::verbs::export::ExportArgs),
    /// Show a run's report as text, or write it as an HTML page and figures.
    Report(crate::verbs::report::ReportArgs),
    /// Search for settings by observed labels, and write the best ones for `fit --config`.
    Tune(Box<crate::verbs::tune::TuneArgs>),
    /// List the methods against wrong labels: what each assumes, needs and costs.
    Methods,
    /// Corrupt some labels of a data file, for experiments.
    Noise(crate::verbs::noise::NoiseArgs),
    /// Turn a column of text into features, by a sentence encoder.
    #[cfg(feature = "embed")]
    Embed(Box<crate::verbs::embed::EmbedArgs>),
    /// List, download and verify named data sets.
    Data(crate::verbs::data::DataArgs),
    /// Print a shell completion script.
    Completions(crate::verbs::shell::CompletionsArgs),
    /// Print the manual page.
    #[command(hide = true)]
    Man(crate::verbs::shell::ManArgs),
}

/// How a data file is read; shared by every verb that takes one.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ReadArgs {
    /// Label column: a name, or an index (negative counts from the end).
    #[arg(long, value_name = "NAME|INDEX", allow_hyphen_values = true)]
    pub label: Option<String>,
    /// File with the labels only, one per row.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Row ID column, not used as a feature.
    #[arg(long, value_name = "NAME|INDEX", allow_hyphen_values = true)]
    pub id: Option<String>,
    /// Format of the data: csv, json, parquet, arrow, npy, npz, svmlight, mtx, idx, cifar10 or cifar100 [default: detected].
    #[arg(long)]
    pub format: Option<Format>,
    /// Character between cells, \t for a tab [default: detected].
    #[arg(long)]
    pub delimiter: Option<String>,
    /// The first row is data, not column names.
    #[arg(long)]
    pub no_header: bool,
    /// Lines to skip at the start of a text file, such as a title.
    #[arg(long, value_name = "N")]
    pub skip_lines: Option<usize>,
    /// Columns to leave out, by name or index, separated by commas.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub ignore: Vec<String>,
    /// What a column is, over what is detected: numeric, boolean, categorical, date, text or ignore; numeric:point and
    /// numeric:comma state the decimal mark, date:dmy and date:mdy whether the day or the month comes first. May be repeated.
    #[arg(long = "type", value_name = "COLUMN=KIND", allow_hyphen_values = true)]
    pub types: Vec<ColumnType>,
    /// Refuse cells that are not of their column's kind; by default a few of them count as missing.
    #[arg(long)]
    pub strict: bool,
    /// Folder of downloaded data sets.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

/// What the user says a column is.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnType {
    pub column: String,
    pub kind: Override,
}

impl FromStr for ColumnType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A name may have an equals sign, a kind has none.
        let (column, kind) = text.rsplit_once('=').ok_or("expected COLUMN=KIND, such as zip=categorical")?;
        let kind = kind.trim().parse().map_err(|error: cmrm_data::Error| error.to_string())?;
        Ok(ColumnType { column: column.trim().to_owned(), kind })
    }
}

/// Reads a share, which is easily written as a percentage.
pub fn share(text: &str) -> Result<f64, String> {
    let share = text.trim().parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a share between 0 and 1, such as 0.9".to_owned())
}

/// Reads a method by its name, with its parameter if it is given one.
pub fn method(text: &str) -> Result<LossConfig, String> {
    let name = text.split(':').next().unwrap_or_default();
    text.parse::<LossConfig>().map_err(|error| match Method::named(name) {
        Some(_) => error,
        None => {
            let names: Vec<&str> = Method::names().collect();
            let near = closest(name, &names).first().map(|near| format!(", did you mean '{near}'?"));
            format!("unknown method '{name}'{} (`cmrm methods` lists all)", near.unwrap_or_default())
        }
    })
}

/// Reads a time, which has no unit.
fn seconds(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "expected a number of seconds without a unit, such as 60".to_owned())
}

impl ReadArgs {
    /// What the flags say about columns.
    pub fn overrides(&self) -> impl Iterator<Item = (String, Override)> {
        let ignored = self.ignore.iter().map(|column| (column.clone(), Override::Ignore));
        ignored.chain(self.types.iter().map(|stated| (stated.column.clone(), stated.kind)))
    }
}

#[derive(Debug, Args)]
pub struct FitArgs {
    /// Data file, folder or quoted pattern of files, `-` for standard input, or name of a data set (`cmrm data list`).
    pub data: Option<String>,
    /// Test file in the format of the data file; its labels count as clean.
    #[arg(long, value_name = "FILE")]
    pub test: Option<String>,
    /// Folder of the run [default: a free name under `runs/`].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the unfinished run in the folder with its own settings; the data may have moved.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Print the settings in full (`tune`: what would be tried), show what the columns of a data file are, and exit.
    #[arg(long)]
    pub dry_run: bool,
    /// Corrupt some training labels, for experiments.
    #[arg(long, value_name = "KIND:RATE")]
    pub noise: Option<NoiseConfig>,
    /// Share of the rows to test on, with their original labels [default: 0.2 with --noise and no test data, else 0].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub test_share: Option<f64>,
    /// Share of the training rows held out for validation and calibration [default: 0.1; 0 for auto, forest, boosting and kernel, which judge rows by models that have not seen them].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub validation_share: Option<f64>,
    /// Kinds of learners that may vote in the model auto: linear, forest, neighbours, kernel, boosting, network; as in `--learners
    /// linear,network` [default: those that suit the rows].
    #[arg(long, value_name = "KINDS", value_delimiter = ',', hide_possible_values = true)]
    pub learners: Option<Vec<LearnerKind>>,
    /// Seconds that auto, forest, boosting and kernel may take [default: as long as they need].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub budget: Option<f64>,
    /// Use the paper's form for two classes: one threshold per class.
    #[arg(long)]
    pub class_conditional: bool,
    /// Train the envelope arm only.
    #[arg(long)]
    pub no_base: bool,
    /// Search for lambda and alpha by observed labels first, in about the time of four trainings (`fit` only).
    #[arg(long)]
    pub auto: bool,
    /// Also train with other values of alpha and lambda, and plot accuracy against them in the report (`fit` only).
    #[arg(long)]
    pub sensitivity: bool,
    #[command(flatten, next_help_heading = "Reading the data")]
    pub read: ReadArgs,
    #[command(flatten, next_help_heading = "Model and training")]
    pub model: ModelArgs,
}

/// What is trained and how; shared by every verb that trains.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ModelArgs {
    /// Settings file (TOML); flags override it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// paper, authors or robust [default: robust].
    #[arg(long)]
    pub preset: Option<Preset>,
    /// Weight of the envelope [default: the preset's].
    #[arg(long)]
    pub lambda: Option<f64>,
    /// Share of the margins below the threshold [default: the preset's].
    #[arg(long)]
    pub alpha: Option<f64>,
    /// Width of the soft filter [default: the preset's].
    #[arg(long)]
    pub temperature: Option<f64>,
    /// Share of the epochs before the envelope starts [default: the preset's; a network's robust starts when learning by heart begins].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub start: Option<f64>,
    /// Method, which is the base loss that is trained alone and in the envelope: a name that `cmrm methods` lists, some with a
    /// parameter, as in gce:0.5 [default: cross-entropy].
    #[arg(long = "method", visible_alias = "loss", value_name = "NAME", value_parser = method)]
    pub loss: Option<LossConfig>,
    /// Transition matrix for the methods forward and backward, as a CSV file: one row and one column for each class, named in the first row and
    /// the first column or in the order of the classes; rows are true classes and sum to 1 [default: estimated].
    #[arg(long, value_name = "FILE")]
    pub transition: Option<PathBuf>,
    /// Model: auto (a vote of several learners), forest, boosting, kernel (a kernel machine), mlp (a neural network), linear, svm
    /// (linear, two classes) or cosine (of features and class vectors) [default: auto; mlp if you give a setting
    /// that only networks and linear models have, and for `tune`, `audit --folds`, `--auto` and `--sensitivity`].
    #[arg(long, hide_possible_values = true)]
    pub model: Option<ModelKind>,
    /// Widths of the hidden layers [default: 128,64].
    #[arg(long, value_delimiter = ',')]
    pub hidden: Option<Vec<usize>>,
    /// Optimiser [default: lbfgs for a linear model, adamw for a network, else adam]; an epoch of lbfgs is one iteration over all rows.
    #[arg(long)]
    pub optimiser: Option<OptimiserKind>,
    /// Passes over the rows [default: as many as --steps needs; for a linear model with lbfgs, up to 1000 iterations].
    #[arg(long)]
    pub epochs: Option<usize>,
    /// Optimiser steps to train for, in whole epochs, at least 15 and at most 500; not for lbfgs [default: 2000].
    #[arg(long)]
    pub steps: Option<usize>,
    /// Stop lbfgs when no gradient entry exceeds this [default: 0.0001].
    #[arg(long)]
    pub tolerance: Option<f64>,
    /// Rows per batch, 0 for all rows at once [default: 128].
    #[arg(long)]
    pub batch: Option<usize>,
    /// Learning rate [default: 0.001].
    #[arg(long)]
    pub learning_rate: Option<f64>,
    /// Penalty on the weights [default: chosen by cross-validation for a linear model with lbfgs, else 0].
    #[arg(long)]
    pub l2: Option<f64>,
    /// Give every class the same weight in training, so that rare ones are not overlooked; confidences then assume that all classes
    /// are equally common.
    #[arg(long)]
    pub balance_classes: bool,
    /// Epoch whose model is kept: the last, or the best by accuracy on observed validation labels, none
    /// before the envelope has started, if it starts [default: best with 50 validation rows or more, else last; last with lbfgs].
    #[arg(long, value_name = "EPOCH")]
    pub keep: Option<Keep>,
    /// Keep the best epoch, and stop after this many epochs without a better one, counted from the start of an
    /// envelope with a fixed start [default: 0, never stop early].
    #[arg(long, value_name = "EPOCHS")]
    pub patience: Option<usize>,
    /// Fill in missing cells and NaN instead of refusing them.
    #[arg(long)]
    pub impute: bool,
    /// Set rows without a label aside instead of refusing them.
    #[arg(long)]
    pub hold_out_unlabelled: bool,
    /// Seed for splits, noise, initial weights and row order [default: 0].
    #[arg(long)]
    pub seed: Option<u64>,
}
