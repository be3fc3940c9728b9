//! `cmrm evaluate`: how good a run's models are on labelled rows.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use cmrm::Matrix;
use cmrm::conformal::{self, PredictionSets};
use cmrm::metric::{Confusion, predicted_classes};
use cmrm_data::MissingLabels;
use cmrm_run::compare::compare;
use cmrm_run::judge::measure;
use cmrm_run::{Model, Wanted};

use crate::args::ReadArgs;
use crate::evaluation::{ArmEvaluation, ClassEvaluation, Evaluation, Sets};
use crate::failure::Result;
use crate::labelled_rows::judge;
use crate::sets::{Calibrator, SetArgs};
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
    pub sets: SetArgs,
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
    let model = Model::open_arms(&args.run, args.arm.as_deref().map_or(Wanted::All, Wanted::Named))?;
    let missing = if args.hold_out_unlabelled { MissingLabels::HoldOut } else { MissingLabels::Refuse };
    let calibrator = Calibrator::new(&args.run, &model, args.coverage, &args.sets, Some(&args.data), terminal)?;
    let advice = "no labels to evaluate by; name their column with --label or their file with --labels";
    let judged = judge(&args.data, &args.read, missing, advice, &args.run, &model, terminal)?;
    let mut arms = Vec::new();
    for (arm, probabilities) in judged.probabilities.iter().enumerate() {
        let matrix = Matrix::new(probabilities, model.classes().len())?;
        let predicted = predicted_classes(matrix)?;
        let sets = match calibrator.predictor(arm)? {
            Some(predictor) => Some(predictor.predict(matrix, &[])?),
            None => {
                let name = model.arms()[arm].name();
                terminal.say(format!("note: no prediction sets for the arm {name}: the run kept no calibration rows"));
                None
            }
        };
        arms.push(evaluate_arm(args, &model, arm, matrix, &predicted, &judged.labels, sets.as_ref())?);
    }
    let difference = match judged.probabilities.as_slice() {
        [base, envelope] => {
            let of_classes = |values| Matrix::new(values, model.classes().len());
            Some(compare(of_classes(base)?, of_classes(envelope)?, &judged.labels, args.seed)?)
        }
        _ => None,
    };
    let evaluation = Evaluation {
        schema: "cmrm/evaluate/1",
        run: args.run.display().to_string(),
        data: args.data.clone(),
        labels: judged.labels_from,
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

fn evaluate_arm(
    args: &EvaluateArgs,
    model: &Model,
    arm: usize,
    probabilities: Matrix<'_, f32>,
    predicted: &[u32],
    labels: &[u32],
    sets: Option<&PredictionSets>,
) -> Result<ArmEvaluation> {
    let (name, classes) = (model.arms()[arm].name(), model.classes());
    let report = sets.map(|sets| conformal::evaluate(sets, labels)).transpose()?;
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
            score: args.sets.score(),
            coverage: report.coverage,
            mean_size: report.mean_size,
            empty_rate: report.empty_rate,
            singleton_rate: report.singleton_rate,
        }),
    })
}
