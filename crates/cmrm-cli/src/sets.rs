//! Prediction sets of a finished run: for true classes or observed labels, by the rows it kept for that, or by rows that someone trusts.

use std::path::Path;

use clap::{Args, ValueEnum};
use cmrm::conformal::{ScoreKind, SetPredictor};
use cmrm_data::MissingLabels;
use cmrm_data::files::text::printable_value;
use cmrm_run::{Arm, CalibratedFor, Calibration, Model, SetOptions};

use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::labelled_rows::{Judged, judge};
use crate::outputs::same_file;
use crate::run_data;
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
    model: &'a Model,
    options: SetOptions,
    trusted: Option<Judged>,
    terminal: &'a Terminal,
}

impl<'a> Calibrator<'a> {
    /// Checks what is asked for, and reads the trusted rows if there are any; they must not be those of `judged`, nor those that were
    /// trained on.
    pub fn new(
        run: &Path,
        model: &'a Model,
        coverage: f64,
        args: &SetArgs,
        judged: Option<&str>,
        terminal: &'a Terminal,
    ) -> Result<Self> {
        let calibrated_for = match (args.calibration, &args.trusted) {
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
        let trained_on = run_data::settings_in(run).ok().map(|config| config.data);
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
            judge(data, &read, MissingLabels::Refuse, advice, run, model, terminal)
        };
        let trusted = args.trusted.as_ref().map(read).transpose()?;
        let options = SetOptions { coverage, score: args.score(), by_class: args.by_class, calibrated_for };
        options.conformal()?;
        Ok(Calibrator { model, options, trusted, terminal })
    }

    /// Calibrates an arm, by its place among those of the run, and says on what; nothing where there are no rows to calibrate on.
    pub fn predictor(&self, arm: usize) -> Result<Option<SetPredictor>> {
        let (arm, at) = (&self.model.arms()[arm], arm);
        let (predictor, of_what) = match &self.trusted {
            Some(trusted) => self.by_trusted(trusted, at)?,
            None => match arm.calibration()? {
                None => return Ok(None),
                Some(calibration) => (self.model.set_predictor(arm, &self.options)?, self.by_kept(calibration)),
            },
        };
        let by_class = self.options.by_class;
        self.terminal.say(format!(
            "note: prediction sets of the arm {} are calibrated for {} % coverage of {of_what}{}",
            arm.name(),
            percent(self.options.coverage),
            if by_class { ", within every class" } else { "" },
        ));
        self.say_what_is_unbounded(&predictor, by_class);
        Ok(Some(predictor))
    }

    fn by_trusted(&self, trusted: &Judged, arm: usize) -> Result<(SetPredictor, String)> {
        let (labels, rows) = (trusted.labels.clone(), trusted.labels.len());
        let probabilities = trusted.probabilities[arm].clone();
        let calibration = Calibration { probabilities, labels, classes: self.model.classes().len(), clean: None };
        let predictor = calibration.predictor(&self.options.conformal()?, CalibratedFor::Observed)?;
        Ok((predictor, format!("the labels of {rows} trusted rows")))
    }

    fn by_kept(&self, calibration: &Calibration) -> String {
        let rows = calibration.labels.len();
        match self.options.calibrated_for.unwrap_or(calibration.usual()) {
            CalibratedFor::Observed => {
                format!("the observed labels of {rows} rows that the models had not seen, which may be partly wrong")
            }
            CalibratedFor::Corrected => {
                format!(
                    "true classes, by the estimated noise in the labels of {rows} rows that the models had not seen"
                )
            }
        }
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
            let names = unbounded.iter().map(|&class| printable_value(&self.model.classes()[class as usize]));
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
        let arm: &Arm = &self.model.arms()[arm];
        let (name, file) = (arm.name(), arm.calibration_file().map(Path::display));
        Failure::input(format!(
            "{}: missing; the run kept no calibration rows for the arm {name}; give rows whose labels are right with --trusted, fit with \
             --validation-share above 0, or leave out --coverage",
            file.map_or_else(String::new, |file| file.to_string())
        ))
    }
}

/// A share in per cent without the digits that binary fractions add.
pub fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}
