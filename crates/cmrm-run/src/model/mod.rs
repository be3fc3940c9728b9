//! A trained model, to be applied to rows it has not seen: the one way in which the command, Python and Rust programs predict.

mod arm;
mod judged;
mod predictions;
mod read;
mod sets;

use std::path::Path;
use std::sync::Arc;

use cmrm::{Matrix, Rows};
use cmrm_data::preprocess::{Preprocess, Transformed};
use cmrm_data::{Array, Features};
use cmrm_train::{Predictor, Stop};

pub use arm::Arm;
pub use judged::JudgedLabel;
pub use predictions::Predictions;
pub use sets::SetOptions;

use crate::calibration::Calibration;
use crate::error::{Error, Result};
use crate::folder::RunDir;
use crate::info::RunInfo;
use crate::names::PREPROCESS;
use crate::rows::TrainingRows;
use crate::suspects::Suspect;

/// A run's preprocessing and the models of its arms. Everything is done through `&self`, from as many threads as there are.
///
/// A row's prediction is the same to the last bit, alone or among others, and however many threads there are.
///
/// ```
/// use cmrm_data::{Array, Features};
/// use cmrm_run::{Model, SetOptions};
///
/// fn classify(run: &std::path::Path, rows: Vec<f32>, width: usize) -> cmrm_run::Result<()> {
///     let model = Model::open(run)?;
///     let rows = Features::Array(Array::new(rows, width)?);
///     let predicted = model.predict(&rows)?;
///     for (row, class) in predicted.names().enumerate() {
///         println!("{class}: {:.3}, margin {:.3}", predicted.confidence(row), predicted.margin(row));
///     }
///     let sets = model.predict_sets(&rows, &SetOptions { coverage: 0.95, ..SetOptions::default() })?;
///     println!("{} classes in the first set", sets.row(0).len());
///     // Labels that somebody gave these rows: which look wrong?
///     for judged in model.judge_labels(&rows, &vec![0; predicted.len()])? {
///         println!("{:?} {:+.3}, rather {}", judged.wrong_probability, judged.margin, model.classes()[judged.suggested as usize]);
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Model {
    classes: Arc<[String]>,
    preprocess: Preprocess,
    arms: Vec<Arm>,
    /// The place of the arm to predict with.
    chosen: usize,
    /// Where it was opened.
    source: Option<(RunDir, RunInfo)>,
}

/// Which arms of a run are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// The arm to predict with.
    Chosen,
    /// Every arm.
    All,
    /// The arm of that name.
    Named(&'a str),
}

impl Model {
    /// Opens the folder of a run, with the arm that it chose to predict with.
    pub fn open(run: impl AsRef<Path>) -> Result<Self> {
        Model::open_arms(run, Wanted::Chosen)
    }

    /// Opens the folder of a run with other arms. The chosen one predicts if it is among them, else the first.
    pub fn open_arms(run: impl AsRef<Path>, wanted: Wanted<'_>) -> Result<Self> {
        let (run, info) = RunDir::open(run.as_ref())?;
        run.check_kind(&info)?;
        let names = match wanted {
            Wanted::Chosen => vec![info.chosen.clone()],
            Wanted::All => info.arms.clone(),
            Wanted::Named(name) => vec![known_arm(&run.path().display().to_string(), &info.arms, name)?.to_owned()],
        };
        let stored = run.read(PREPROCESS)?;
        let file = run.file(PREPROCESS);
        let preprocess = Preprocess::from_json(&stored).map_err(|error| error.in_file(file.display()))?;
        let mut arms = Vec::with_capacity(names.len());
        for name in names {
            let path = run.model_file(&name, &info.chosen);
            let bytes = run.read_bytes(&path)?;
            let predictor = Predictor::from_bytes(&bytes).map_err(|error| Error::in_file(&path, error))?;
            check_together(&predictor, &preprocess, info.classes.len())
                .map_err(|error| Error::in_file(&path, error))?;
            arms.push(Arm::of_run(name, predictor, &run, &info));
        }
        let chosen = arms.iter().position(|arm| arm.name() == info.chosen).unwrap_or(0);
        let classes = info.classes.clone().into();
        Ok(Model { classes, preprocess, arms, chosen, source: Some((run, info)) })
    }

    /// A model in memory, of a fit that has run or of parts that were stored elsewhere. The last arm predicts.
    pub fn new(classes: Vec<String>, preprocess: Preprocess, arms: Vec<Arm>) -> Result<Self> {
        let Some(chosen) = arms.len().checked_sub(1) else {
            return Err(Error::Internal("a model without arms".into()));
        };
        for arm in &arms {
            check_together(arm.predictor(), &preprocess, classes.len())?;
        }
        Ok(Model { classes: classes.into(), preprocess, arms, chosen, source: None })
    }

    /// Writes preprocessing, models and calibration rows into the folder of a run under way.
    pub fn write(&self, run: &RunDir) -> Result<()> {
        let chosen = self.chosen().name();
        run.write_preprocess(&self.preprocess)?;
        for arm in &self.arms {
            run.write_model(arm.name(), chosen, arm.predictor())?;
            if let Some(calibration) = arm.calibration()? {
                run.write_calibration(arm.name(), chosen, calibration)?;
            }
        }
        Ok(())
    }

    /// Names of the classes, by index.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// How columns become features. [`Preprocess::expected`] says which columns new rows need.
    pub fn preprocess(&self) -> &Preprocess {
        &self.preprocess
    }

    /// The arms that are loaded, in the run's order.
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// The arm that [`Model::predict`] predicts with.
    pub fn chosen(&self) -> &Arm {
        &self.arms[self.chosen]
    }

    /// The loaded arm of that name.
    pub fn arm(&self, name: &str) -> Result<&Arm> {
        let names: Vec<String> = self.arms.iter().map(|arm| arm.name().to_owned()).collect();
        let known = known_arm(&self.place(), &names, name)?;
        self.arms.iter().find(|arm| arm.name() == known).ok_or_else(|| Error::Internal(format!("no arm '{name}'")))
    }

    /// What `run.json` says, where a run was opened.
    pub fn info(&self) -> Option<&RunInfo> {
        self.source.as_ref().map(|(_, info)| info)
    }

    /// New rows as the models take them, with remarks on their columns. Rows may be transformed some at a time: none depends on another.
    pub fn transform(&self, features: &Features) -> Result<Transformed> {
        Ok(self.preprocess.transform(features)?)
    }

    /// Classes and probabilities of new rows.
    pub fn predict(&self, features: &Features) -> Result<Predictions> {
        let transformed = self.transform(features)?;
        self.predict_rows(self.chosen(), transformed.rows.view()?, &Stop::default())
    }

    /// Of one row of numbers, for a model that learned from arrays.
    pub fn predict_row(&self, row: &[f32]) -> Result<Predictions> {
        self.predict(&Features::Array(Array::new(row.to_vec(), row.len())?))
    }

    /// What an arm predicts for rows of [`Model::transform`], or [`cmrm_train::Error::Stopped`] soon after somebody asks to stop.
    pub fn predict_rows(&self, arm: &Arm, rows: Rows<'_, f32>, stop: &Stop) -> Result<Predictions> {
        Predictions::new(self.classes.clone(), arm.predictor().probabilities(rows, stop)?)
    }

    /// What training recorded of its rows, or models that had not seen them said of them.
    pub fn training_rows(&self) -> Result<TrainingRows> {
        match &self.source {
            Some((run, info)) => run.read_rows(info),
            None => {
                Err(Error::refused("the rows that the model was trained on are not kept with it; open a run's folder"))
            }
        }
    }

    /// The training rows whose labels look wrong, most suspicious first.
    pub fn suspects(&self) -> Result<Vec<Suspect>> {
        let rows = self.training_rows()?;
        Ok(rows.suspects().into_iter().map(|at| Suspect::at(&rows, at)).collect())
    }

    /// How well labels fit new rows, by the chosen arm. `labels` are indices into [`Model::classes`], one for each row.
    pub fn judge_labels(&self, features: &Features, labels: &[u32]) -> Result<Vec<JudgedLabel>> {
        let transformed = self.transform(features)?;
        self.judge_rows(self.chosen(), transformed.rows.view()?, labels, &Stop::default())
    }

    /// The same of an arm, for rows of [`Model::transform`].
    pub fn judge_rows(&self, arm: &Arm, rows: Rows<'_, f32>, labels: &[u32], stop: &Stop) -> Result<Vec<JudgedLabel>> {
        let said = arm.predictor().observed_probabilities(rows, stop)?;
        judged::judge(Matrix::new(&said, self.classes.len())?, labels, arm.noise())
    }

    /// Where the model comes from, in messages.
    fn place(&self) -> String {
        self.source.as_ref().map_or_else(|| "the model".into(), |(run, _)| run.path().display().to_string())
    }

    fn check_calibration(&self, calibration: &Calibration) -> Result<()> {
        let (expected, found) = (self.classes.len(), calibration.classes);
        if expected == found {
            return Ok(());
        }
        Err(Error::refused(format!(
            "calibrated for {found} classes, but the run has {expected}; the files come from different runs; copy the folder again or \
             fit again"
        )))
    }
}

/// Refuses a model that is not of this preprocessing and these classes.
fn check_together(predictor: &Predictor, preprocess: &Preprocess, classes: usize) -> Result<()> {
    let pairs = [("features", preprocess.width(), predictor.inputs()), ("classes", classes, predictor.classes())];
    match pairs.into_iter().find(|(_, expected, found)| expected != found) {
        None => Ok(()),
        Some((what, expected, found)) => Err(Error::refused(format!(
            "the model has {found} {what}, the rest of the run {expected}; the files come from different runs; copy the folder again or fit \
             again"
        ))),
    }
}

/// The name, if it is one of the arms.
fn known_arm<'a>(place: &str, arms: &[String], name: &'a str) -> Result<&'a str> {
    if arms.iter().any(|arm| arm == name) {
        return Ok(name);
    }
    let near = cmrm_data::table::closest(name, arms);
    let suggestion = near.first().map(|near| format!(", did you mean '{near}'?")).unwrap_or_default();
    Err(Error::refused(format!("{place}: no arm '{name}'{suggestion}; the arms are {}", arms.join(", "))))
}
