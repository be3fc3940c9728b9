//! `cmrm evaluate`: how good a run's models are on labelled rows.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cmrm::Matrix;
use cmrm::conformal;
use cmrm::metric::{Confusion, predicted_classes};
use cmrm_data::table::ColumnBuilder;
use cmrm_data::{Column, Kind, LabelOptions, LabelledRows, MissingLabels};
use cmrm_run::judge::{compare, measure};
use cmrm_run::{Fitted, Wanted};
use cmrm_train::Stop;

use crate::args::ReadArgs;
use crate::evaluation::{ArmEvaluation, ClassEvaluation, Evaluation, Sets};
use crate::failure::{Failure, Result};
use crate::known;
use crate::new_rows::NewRows;
use crate::sets::{ScoreArgs, calibrate, has_calibration};
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// Folder of a run.
    pub run: PathBuf,
    /// Labelled data: a file, folder or quoted pattern of files, `-` for standard input, or name of a data set.
    pub data: String,
    /// Arm to evaluate: base, or the preset's name [default: every arm, and their difference].
    #[arg(long, value_name = "NAME")]
    pub arm: Option<String>,
    /// Coverage of the prediction sets.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    pub coverage: f64,
    #[command(flatten)]
    pub score: ScoreArgs,
    /// Skip rows without a label instead of refusing them.
    #[arg(long)]
    pub hold_out_unlabelled: bool,
    /// Seed for the resampling behind the intervals.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    #[command(flatten, next_help_heading = "Reading the data")]
    pub read: ReadArgs,
}

pub fn run(args: &EvaluateArgs, terminal: &Terminal) -> Result<ExitCode> {
    let fitted = Fitted::open(&args.run, args.arm.as_deref().map_or(Wanted::All, Wanted::Named))?;
    let read = known::completed(&args.read, &args.data, &args.run, Some(fitted.preprocess.expected()))?;
    let mut rows = NewRows::open(&args.data, &read, &fitted.preprocess, terminal)?;
    let Some(labels_from) = rows.labels_from.clone() else {
        return Err(Failure::input(format!(
            "{}: no labels to evaluate by; name their column with --label or their file with --labels",
            args.data
        )));
    };
    let judged = predict(args, &read, &fitted, &mut rows)?;
    let mut arms = Vec::new();
    let mut predictions = Vec::new();
    for ((name, _), probabilities) in fitted.arms.iter().zip(&judged.probabilities) {
        let matrix = Matrix::new(probabilities, fitted.info.classes.len())?;
        let predicted = predicted_classes(matrix)?;
        arms.push(evaluate_arm(args, &fitted, name, matrix, &predicted, &judged.labels, terminal)?);
        predictions.push(predicted);
    }
    let difference = match predictions.as_slice() {
        [base, envelope] => Some(compare(base, envelope, &judged.labels, args.seed)?),
        _ => None,
    };
    let evaluation = Evaluation {
        schema: "cmrm/evaluate/1",
        run: fitted.run.path().display().to_string(),
        data: args.data.clone(),
        labels: labels_from,
        rows: judged.labels.len(),
        unlabelled_rows: judged.unlabelled,
        arms,
        difference,
        seed: args.seed,
        threads: rayon::current_num_threads(),
        version: env!("CARGO_PKG_VERSION"),
    };
    terminal.result(&evaluation, &evaluation.to_text())?;
    Ok(ExitCode::SUCCESS)
}

/// Labelled rows and each arm's probabilities for them.
struct Judged {
    probabilities: Vec<Vec<f32>>,
    labels: Vec<u32>,
    unlabelled: usize,
}

fn predict(args: &EvaluateArgs, read: &ReadArgs, fitted: &Fitted, rows: &mut NewRows<'_>) -> Result<Judged> {
    let mut probabilities = vec![Vec::new(); fitted.arms.len()];
    let mut texts = ColumnBuilder::new(Kind::Categorical);
    rows.each_block(|block, _| {
        let features = block.x()?;
        for ((_, model), out) in fitted.arms.iter().zip(&mut probabilities) {
            out.extend(model.probabilities(features, &Stop::default())?);
        }
        for label in block.labels.iter().flatten() {
            match label {
                Some(text) => texts.push_name(text),
                None => texts.push_missing(),
            }
        }
        Ok(true)
    })?;
    let column: Column = texts.finish(read.label.as_deref().unwrap_or("label"));
    let missing = if args.hold_out_unlabelled { MissingLabels::HoldOut } else { MissingLabels::Refuse };
    let options = LabelOptions { missing, classes: Some(fitted.info.classes.clone()) };
    let source = read.labels.as_ref().map_or_else(|| args.data.clone(), |file| file.display().to_string());
    let labelled = LabelledRows::encode(&column, 0, &options).map_err(|error| error.in_file(&source))?;
    if labelled.rows.is_empty() {
        return Err(Failure::input(format!("{source}: no row has a label; check that this is the label column")));
    }
    if !labelled.unlabelled.is_empty() {
        let classes = fitted.info.classes.len();
        for values in &mut probabilities {
            for (at, &row) in labelled.rows.iter().enumerate() {
                values.copy_within(row * classes..(row + 1) * classes, at * classes);
            }
            values.truncate(labelled.rows.len() * classes);
        }
    }
    Ok(Judged { probabilities, labels: labelled.labels.indices, unlabelled: labelled.unlabelled.len() })
}

fn evaluate_arm(
    args: &EvaluateArgs,
    fitted: &Fitted,
    name: &str,
    probabilities: Matrix<'_, f32>,
    predicted: &[u32],
    labels: &[u32],
    terminal: &Terminal,
) -> Result<ArmEvaluation> {
    let classes = &fitted.info.classes;
    let report = if has_calibration(fitted, name) {
        let predictor = calibrate(fitted, name, args.coverage, args.score, terminal)?;
        Some(conformal::evaluate(&predictor.predict(probabilities, &[])?, labels)?)
    } else {
        terminal.say(format!("note: no prediction sets for the arm {name}: the run kept no calibration rows"));
        None
    };
    let confusion = Confusion::new(predicted, labels, classes.len())?;
    let (precisions, recalls, f1) = (confusion.precisions(), confusion.recalls(), confusion.f1_scores());
    let per_class = classes.iter().enumerate().map(|(k, class)| {
        let sets = report.as_ref().map(|report| &report.per_class[k]);
        ClassEvaluation {
            class: class.clone(),
            rows: labels.iter().filter(|&&label| label as usize == k).count(),
            precision: precisions[k],
            recall: recalls[k],
            f1: f1[k],
            coverage: sets.and_then(|sets| sets.coverage),
            mean_size: sets.and_then(|sets| sets.mean_size),
        }
    });
    Ok(ArmEvaluation {
        name: name.to_owned(),
        metrics: measure(probabilities, labels, args.seed)?,
        per_class: per_class.collect(),
        sets: report.map(|report| Sets {
            wanted: args.coverage,
            score: args.score.score,
            coverage: report.coverage,
            mean_size: report.mean_size,
            empty_rate: report.empty_rate,
            singleton_rate: report.singleton_rate,
        }),
    })
}
