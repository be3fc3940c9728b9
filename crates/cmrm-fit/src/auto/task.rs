//! What every learner is given, and what it gives back.

use cmrm::Matrix;
use cmrm_train::Stop;
use cmrm_train::train::Examples;
use cmrm_train::tune::Folds;
use cmrm_train::vote::{Calibration, Member};

use super::scaling::{AsGiven, Scaling};
use super::setting::{Setting, folds};
use crate::config::FitConfig;
use crate::error::Result;
use crate::kinds::LearnerKind;
use crate::part::Part;
use crate::prepare::Prepared;

/// Rows, folds and settings.
pub(super) struct Task<'a> {
    pub config: &'a FitConfig,
    pub rows: &'a Prepared,
    pub classes: usize,
    pub folds: Vec<Fold>,
    as_given: Option<AsGiven>,
}

/// Rows that one copy of a learner is trained on, and those that it judges; both ascending.
pub(super) struct Fold {
    pub train: Vec<usize>,
    pub held: Vec<usize>,
}

/// A learner that was trained.
pub(super) struct Learned {
    pub setting: Setting,
    /// What copies say of the rows that they were not trained on, `[rows, classes]`.
    pub out_of_sample: Vec<f32>,
    pub copies: Vec<Member>,
    /// What was done to these probabilities, and has to be done to those of other rows.
    pub calibration: Calibration,
}

impl Learned {
    /// As the copies say it.
    pub fn new(setting: Setting, out_of_sample: Vec<f32>, copies: Vec<Member>) -> Self {
        Learned { setting, out_of_sample, copies, calibration: Calibration::default() }
    }

    /// Brings the probabilities to where the observed labels are.
    pub fn calibrate(&mut self, labels: &[u32], weights: Option<&[f32]>, classes: usize) {
        self.calibration = Calibration::fit(&self.out_of_sample, labels, weights, classes);
        self.calibration.apply(&mut self.out_of_sample, classes);
    }
}

impl<'a> Task<'a> {
    pub fn new(config: &'a FitConfig, rows: &'a Prepared) -> Result<Self> {
        let data = &rows.train.data;
        let classes = data.classes.len();
        let drawn = Folds::deal(&data.labels, classes, folds(data.len()), config.seed)?;
        let fold = |at| Fold { train: drawn.training(at), held: drawn.held(at) };
        let folds = (0..drawn.len()).map(fold).collect();
        let compares = |kind: &LearnerKind| matches!(kind, LearnerKind::Kernel | LearnerKind::Neighbours);
        let compared = LearnerKind::on(config, rows).iter().any(compares);
        let as_given = if compared { AsGiven::new(&rows.preprocess, data) } else { None };
        Ok(Task { config, rows, classes, folds, as_given })
    }

    /// The ways in which the columns can be read.
    pub fn scalings(&self) -> &'static [Scaling] {
        if self.as_given.is_some() { &[Scaling::Standard, Scaling::AsGiven] } else { &[Scaling::Standard] }
    }

    /// What features are multiplied by when they are read in this way.
    pub fn scales(&self, scaling: Scaling) -> Option<&[f32]> {
        self.as_given.as_ref().filter(|_| scaling == Scaling::AsGiven).map(|given| given.scales.as_slice())
    }

    /// All rows, their columns read in this way.
    pub fn examples<'s>(&'s self, scaling: Scaling, weights: Option<&'s [f32]>) -> Result<Examples<'s, f32>> {
        let data = &self.part().data;
        let x = match (scaling, &self.as_given) {
            (Scaling::AsGiven, Some(given)) => Matrix::new(&given.features, data.width())?.into(),
            _ => data.x()?,
        };
        Ok(Examples { row_weights: weights, ..Examples::new(x, &data.labels) })
    }

    pub fn part(&self) -> &'a Part {
        &self.rows.train
    }

    /// Copies the probabilities of a fold's held-out rows to where they belong among all rows.
    pub fn place(&self, fold: usize, probabilities: &[f32], out: &mut [f32]) {
        let width = self.classes;
        for (found, &row) in probabilities.chunks_exact(width).zip(&self.folds[fold].held) {
            out[row * width..(row + 1) * width].copy_from_slice(found);
        }
    }

    /// One learner from its copies in the order of the folds: each with what it says of its held-out rows.
    pub fn learned(&self, setting: Setting, copies: Vec<(Member, Vec<f32>)>) -> Learned {
        let mut out_of_sample = vec![0.0; self.rows.train.data.len() * self.classes];
        for (fold, (_, probabilities)) in copies.iter().enumerate() {
            self.place(fold, probabilities, &mut out_of_sample);
        }
        Learned::new(setting, out_of_sample, copies.into_iter().map(|(member, _)| member).collect())
    }
}

/// The weights at `rows`.
pub(super) fn at(weights: Option<&[f32]>, rows: &[usize]) -> Option<Vec<f32>> {
    weights.map(|weights| rows.iter().map(|&row| weights[row]).collect())
}

/// Trains and judges every fold, side by side; the order of the results is that of the folds.
pub(super) fn each_fold<R: Send>(
    folds: &[Fold],
    stop: &Stop,
    judge: impl Fn(&Fold) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    use rayon::prelude::*;
    let one = |fold: &Fold| {
        stop.check()?;
        judge(fold)
    };
    folds.par_iter().with_max_len(1).map(one).collect()
}
