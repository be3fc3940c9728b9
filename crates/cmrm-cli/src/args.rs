//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cmrm::envelope::Preset;
use cmrm::loss::LossConfig;
use cmrm::noise::NoiseConfig;
use cmrm_fit::{ModelKind, OptimiserKind};

/// Learn from labels that are partly wrong: robust classifiers, the wrong labels found, and how sure to be.
#[derive(Debug, Parser)]
#[command(name = "cmrm", version, about)]
pub struct Cli {
    /// One JSON object on standard output.
    #[arg(long, global = true)]
    pub json: bool,
    /// No words and no bars on standard error, errors excepted.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Threads; the results do not depend on them.
    #[arg(long, global = true)]
    pub threads: Option<usize>,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Train a robust classifier, and the fair base arm beside it.
    Fit(Box<FitArgs>),
    /// Search for settings by observed labels only, and write the best for `fit --config`.
    Tune(Box<crate::verbs::tune::TuneArgs>),
    /// Labels, confidence, probabilities and prediction sets for new rows.
    Predict(Box<crate::verbs::predict::PredictArgs>),
    /// How good a run's models are on labelled rows, with intervals.
    Evaluate(Box<crate::verbs::evaluate::EvaluateArgs>),
    /// A run's report: as text, as a page, its figures as files.
    Report(crate::verbs::report::ReportArgs),
    /// Look at the doubtful rows one at a time and decide, on a page that this machine alone can open.
    Review(crate::verbs::review::ReviewArgs),
    /// Print a script that completes this command in a shell.
    Completions(crate::verbs::shell::CompletionsArgs),
    /// Print the manual page.
    #[command(hide = true)]
    Man(crate::verbs::shell::ManArgs),
    /// Rank the labels that look wrong: from a run's own record, by cross-fitting, or from anyone's probabilities.
    Audit(Box<crate::verbs::audit::AuditArgs>),
    /// Apply a file of decisions (keep, relabel, drop) to a data file.
    Clean(crate::verbs::clean::CleanArgs),
    /// Make some labels of a data file wrong, for experiments.
    Noise(crate::verbs::noise::NoiseArgs),
    /// Data sets that have a name: list, fetch and verify them.
    Data(crate::verbs::data::DataArgs),
    /// The tables and figures of the paper again: train the cells, write the report.
    Reproduce(crate::verbs::reproduce::ReproduceArgs),
}

/// How a data file is read; shared by every verb that takes one.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ReadArgs {
    /// Column of the labels: a name, or an index (negative from the end).
    #[arg(long, value_name = "NAME|INDEX", allow_hyphen_values = true)]
    pub label: Option<String>,
    /// A file that holds nothing but the labels, one a row.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// A column that names the rows and is no feature.
    #[arg(long, value_name = "NAME|INDEX", allow_hyphen_values = true)]
    pub id: Option<String>,
    /// The character between cells; detected if absent (write \t for a tab).
    #[arg(long)]
    pub delimiter: Option<String>,
    /// The first row names no columns.
    #[arg(long)]
    pub no_header: bool,
    /// The folder of fetched data sets.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct FitArgs {
    /// A data file, a folder of arrays, or the name of a data set (`cmrm data list`).
    pub data: Option<String>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Test file, in the form of the data file; its labels count as clean.
    #[arg(long, value_name = "FILE")]
    pub test: Option<String>,
    /// The run's folder; a free name under `runs/` if absent.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on from the checkpoint in the run's folder.
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Print the settings in full and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Make some training labels wrong, for experiments.
    #[arg(long, value_name = "KIND:RATE")]
    pub noise: Option<NoiseConfig>,
    /// Share of the rows to test on with their original labels; 0.2 with --noise and no test data, else 0.
    #[arg(long, value_name = "SHARE")]
    pub test_share: Option<f64>,
    /// Share of the training rows kept for validation and calibration, by their observed labels.
    #[arg(long, value_name = "SHARE")]
    pub validation_share: Option<f64>,
    /// The paper's form for two classes: a threshold for each of them, on probabilities.
    #[arg(long)]
    pub class_conditional: bool,
    /// Train the envelope alone.
    #[arg(long)]
    pub no_base: bool,
    /// First search for the envelope's weight and share by observed labels, in about the time of four such trainings.
    #[arg(long)]
    pub auto: bool,
    /// Also train with other values of alpha and lambda, and show in the report how accuracy depends on them.
    #[arg(long)]
    pub sensitivity: bool,
    #[command(flatten)]
    pub model: ModelArgs,
}

/// What is trained and how; shared by every verb that trains.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct ModelArgs {
    /// Settings as TOML; flags go over it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// paper, authors or robust.
    #[arg(long)]
    pub preset: Option<Preset>,
    /// Weight of the envelope.
    #[arg(long)]
    pub lambda: Option<f64>,
    /// Share of the margins below the threshold.
    #[arg(long)]
    pub alpha: Option<f64>,
    /// Width of the soft filter.
    #[arg(long)]
    pub temperature: Option<f64>,
    /// Share of the epochs before the envelope is switched on.
    #[arg(long, value_name = "SHARE")]
    pub start: Option<f64>,
    /// cross-entropy, focal, focal:GAMMA, gce, gce:Q, ldam, hinge or logistic.
    #[arg(long)]
    pub loss: Option<LossConfig>,
    /// mlp, linear, svm or cosine.
    #[arg(long)]
    pub model: Option<ModelKind>,
    /// Widths of the hidden layers.
    #[arg(long, value_delimiter = ',')]
    pub hidden: Option<Vec<usize>>,
    /// adam, adamw, sgd or lbfgs (all rows at once, an epoch is one iteration); lbfgs for a linear model, else adam.
    #[arg(long)]
    pub optimiser: Option<OptimiserKind>,
    /// Passes over the rows; 40, or at most 1000 iterations for a linear model by lbfgs.
    #[arg(long)]
    pub epochs: Option<usize>,
    /// End lbfgs when no entry of the gradient is larger than this; 0.0001 if absent.
    #[arg(long)]
    pub tolerance: Option<f64>,
    /// Rows in a batch; 0 for all rows at once.
    #[arg(long)]
    pub batch: Option<usize>,
    /// Learning rate.
    #[arg(long)]
    pub learning_rate: Option<f64>,
    /// Penalty on the weights; for a linear model by lbfgs the rows decide, else 0.
    #[arg(long)]
    pub l2: Option<f64>,
    /// Choose the epoch with the best accuracy on observed validation labels, and stop after this many without a better;
    /// both count from the epoch that switches the envelope on.
    #[arg(long, value_name = "EPOCHS")]
    pub patience: Option<usize>,
    /// Fill in missing cells, NaN among them, instead of refusing them.
    #[arg(long)]
    pub impute: bool,
    /// Keep rows without a label aside instead of refusing them.
    #[arg(long)]
    pub hold_out_unlabelled: bool,
    /// Seed of splits, noise, weights and order.
    #[arg(long)]
    pub seed: Option<u64>,
}
