//! Prediction sets of a finished run: for true classes or observed labels, by the rows it kept for that, or by rows that someone trusts.

use std::path::Path;

use clap::{Args, ValueEnum};
use cmrm::conformal::{Conformal, ConformalConfig, ScoreKind, SetPredictor, ThresholdKind};
use cmrm_data::MissingLabels;
use cmrm_data::files::text::printable_value;
use cmrm_run::names::SETTINGS;
use cmrm_run::{CalibratedFor, Calibration, Fitted};

use crate::args::ReadArgs;
use crate::config;
use crate::failure::{Failure, Result};
use crate::labelled_rows::{Judged, judge};
use crate::outputs::same_file;
use crate::terminal::Terminal;

/// How prediction sets are made, besides their coverage.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct SetArgs {
    /// Score for prediction sets: lac (small sets), aps or raps (sets that adapt to the row) [default: lac].
    #[arg(long, value_parser = parse_score)]
    score: Option<ScoreKind>,
    /// Reach the coverage within every class, rare ones too, and not only over all rows.
    #[arg(long)]
    by_class: bool,
    /// What the coverage is measured by: true classes, estimated from the observed labels (corrected), observed labels, or the labels of
    /// --trusted [default: trusted with --trusted, else corrected where the run estimated how many labels are wrong].
    #[arg(long, value_enum, hide_possible_values = true, value_name = "corrected|observed|trusted")]
    calibration: Option<CalibrateBy>,
    /// Rows whose labels are known to be right and that were not trained on: a file, folder, or quoted pattern of files.
    #[arg(long, value_name = "FILE")]
    pub trusted: Option<String>,
    /// Column of the labels in --trusted [default: that of the run].
    #[arg(long, value_name = "NAME", requires = "trusted")]
    trusted_label: Option<String>,
}

impl SetArgs {
    /// The score that was asked for, or the usual one.
    pub fn score(&self) -> ScoreKind {
        self.score.unwrap_or_default()
    }
}

/// The labels that prediction sets are calibrated by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CalibrateBy {
    Corrected,
    Observed,
    Trusted,
}

fn parse_score(text: &str) -> std::result::Result<ScoreKind, String> {
    match text {
        "lac" => Ok(ScoreKind::Lac),
        "aps" => Ok(ScoreKind::Aps),
        "raps" => Ok(ScoreKind::Raps),
        _ => Err(format!("unknown score '{text}': expected lac, aps or raps")),
    }
}

/// Makes prediction sets for the arms of a run.
pub struct Calibrator<'a> {
    fitted: &'a Fitted,
    conformal: Conformal,
    /// Nothing: what suits the arm.
    kept: Option<CalibratedFor>,
    trusted: Option<Judged>,
    terminal: &'a Terminal,
}

impl<'a> Calibrator<'a> {
    /// Checks what is asked for, and reads the trusted rows if there are any; they must not be those of `judged`, nor those that were
    /// trained on.
    pub fn new(
        fitted: &'a Fitted,
        coverage: f64,
        args: &SetArgs,
        judged: Option<&str>,
        terminal: &'a Terminal,
    ) -> Result<Self> {
        let thresholds = if args.by_class { ThresholdKind::PerClass } else { ThresholdKind::Marginal };
        let conformal = ConformalConfig { coverage, score: args.score(), thresholds, ..ConformalConfig::default() };
        let kept = match (args.calibration, &args.trusted) {
            (Some(CalibrateBy::Trusted), None) => {
                return Err(Failure::input(
                    "--calibration trusted: name the rows whose labels are right with --trusted FILE",
                ));
            }
            (Some(CalibrateBy::Corrected | CalibrateBy::Observed), Some(_)) => {
                return Err(Failure::input(
                    "--trusted calibrates by the labels of that file; leave out --calibration, or the file",
                ));
            }
            (Some(CalibrateBy::Corrected), None) => Some(CalibratedFor::Corrected),
            (Some(CalibrateBy::Observed), None) => Some(CalibratedFor::Observed),
            (Some(CalibrateBy::Trusted) | None, _) => None,
        };
        let trained_on = config::read(&fitted.run.file(SETTINGS)).ok().map(|config| config.data);
        let read = |data: &String| {
            for (other, done) in [(trained_on.as_deref(), "trained on"), (judged, "evaluated on")] {
                if other.is_some_and(|other| same_file(Path::new(data), Path::new(other))) {
                    return Err(Failure::input(format!(
                        "--trusted {data}: these rows are {done}; sets have to be calibrated on others"
                    )));
                }
            }
            let read = ReadArgs { label: args.trusted_label.clone(), ..ReadArgs::default() };
            let advice = "no labels to calibrate by; name their column with --trusted-label";
            judge(data, &read, MissingLabels::Refuse, advice, fitted, terminal)
        };
        let trusted = args.trusted.as_ref().map(read).transpose()?;
        Ok(Calibrator { fitted, conformal: conformal.validate()?, kept, trusted, terminal })
    }

    /// Calibrates an arm, by its place among those of the run, and says on what; nothing where there are no rows to calibrate on.
    pub fn predictor(&self, arm: usize) -> Result<Option<SetPredictor>> {
        let (name, classes) = (&self.fitted.arms[arm].0, self.fitted.info.classes.len());
        let path = self.fitted.calibration_file(name);
        let (calibration, calibrated_for, of_what) = match &self.trusted {
            Some(trusted) => {
                let (labels, rows) = (trusted.labels.clone(), trusted.labels.len());
                let probabilities = trusted.probabilities[arm].clone();
                let of_what = format!("the labels of {rows} trusted rows");
                (Calibration { probabilities, labels, classes, clean: None }, CalibratedFor::Observed, of_what)
            }
            None if !path.exists() => return Ok(None),
            None => {
                let calibration = self.fitted.calibration(name)?;
                let (calibrated_for, rows) = (self.kept.unwrap_or(calibration.usual()), calibration.labels.len());
                let of_what = match calibrated_for {
                    CalibratedFor::Observed => format!(
                        "the observed labels of {rows} rows that the models had not seen, which may be partly wrong"
                    ),
                    CalibratedFor::Corrected => {
                        format!(
                            "true classes, by the estimated noise in the labels of {rows} rows that the models had not seen"
                        )
                    }
                };
                (calibration, calibrated_for, of_what)
            }
        };
        let named = |error: cmrm_run::Error| Failure::input(format!("{}: {error}", path.display()));
        let predictor = calibration.predictor(&self.conformal, calibrated_for).map_err(named)?;
        let config = self.conformal.config();
        let by_class = config.thresholds == ThresholdKind::PerClass;
        self.terminal.say(format!(
            "note: prediction sets of the arm {name} are calibrated for {} % coverage of {of_what}{}",
            percent(config.coverage),
            if by_class { ", within every class" } else { "" },
        ));
        self.say_what_is_unbounded(&predictor, by_class);
        Ok(Some(predictor))
    }

    fn say_what_is_unbounded(&self, predictor: &SetPredictor, by_class: bool) {
        let unbounded = predictor.unbounded_classes();
        if unbounded.is_empty() {
            return;
        }
        let more_rows = match &self.trusted {
            Some(_) => "lower --coverage, or give more trusted rows",
            None => "lower --coverage, or fit with more rows",
        };
        if by_class {
            let names = unbounded.iter().map(|&class| printable_value(&self.fitted.info.classes[class as usize]));
            self.terminal.say(format!(
                "note: the calibration rows of the classes {} are too few for this coverage, so every set contains them; {more_rows}",
                names.collect::<Vec<_>>().join(", ")
            ));
        } else {
            self.terminal.say(format!(
                "note: the calibration rows are too few for this coverage, so every set contains every class; {more_rows}"
            ));
        }
    }

    /// What to say where an arm cannot be calibrated.
    pub fn no_rows(&self, arm: usize) -> Failure {
        let name = &self.fitted.arms[arm].0;
        Failure::input(format!(
            "{}: missing; the run kept no calibration rows for the arm {name}; give rows whose labels are right with --trusted, fit with \
             --validation-share above 0, or leave out --coverage",
            self.fitted.calibration_file(name).display()
        ))
    }
}

/// A share in per cent without the digits that binary fractions add.
pub fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}
