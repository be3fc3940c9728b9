//! Cross-fitting: every row is judged by a model that was trained without it.

use std::sync::{Mutex, PoisonError};

use cmrm_data::LabelledRows;
use cmrm_data::preprocess::in_words;
use cmrm_train::Stop;
use cmrm_train::train::{Arm, Observer};
use cmrm_train::tune::{Folds, rows_by_class};
use rayon::prelude::*;

use crate::arms::{arms, base_arm};
use crate::config::FitConfig;
use crate::defaults::ENOUGH_TO_CHOOSE;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::kinds::Keep;
use crate::loaded::Loaded;
use crate::memory::{Need, Room, doubt_about_classes};
use crate::part::Part;
use crate::prepare::{Prepared, encode_labels, known_labels, learn_preprocessing};
use crate::split::{Split, draw};

/// Watches a cross-fitting, whose folds run side by side.
pub trait FoldObserver: Sync {
    /// What watches the training of one fold.
    fn training(&self) -> Box<dyn Observer<f32> + '_>;

    /// After every fold.
    fn fold(&self, _fold: usize) {}
}

/// A cross-fitting, ready to run: the labels are encoded, and the folds drawn.
pub struct CrossFit<'a> {
    config: &'a FitConfig,
    loaded: &'a Loaded,
    arm: Arm,
    folds: Folds,
    /// The rows that have a label.
    pub labelled: LabelledRows,
}

/// What the models said of the rows that they had not seen.
pub struct CrossFitted {
    /// Probabilities of the classes, row after labelled row.
    pub probabilities: Vec<f32>,
    /// What the user should hear.
    pub notes: Vec<String>,
}

impl<'a> CrossFit<'a> {
    /// Deals the rows of every class out to so many folds, so that each has its share of all classes. Without the envelope
    /// the base loss is trained alone, as other tools do. Rows are taken as they are in the data: in their order, with their
    /// labels, each of them once. Weights are refused.
    pub fn new(config: &'a FitConfig, loaded: &'a Loaded, folds: usize, envelope: bool) -> Result<Self> {
        if loaded.weights.is_some() {
            return Err(Error::refused("cross-fitting does not take row weights; leave them out"));
        }
        let labelled = encode_labels(config, &loaded.train, loaded.classes.as_ref())?;
        let (labels, classes) = (&labelled.labels.indices, &labelled.labels.classes);
        let in_data = |error: Error| error.in_data(&loaded.train.source);
        check_folds(labels, classes, folds).map_err(in_data)?;
        Need::new(labels.len(), classes.len())
            .and("the probabilities of all rows", &[labels.len(), classes.len()])
            .check(Room::now())
            .map_err(in_data)?;
        let folds = Folds::deal(labels, classes.len(), folds, config.seed)?;
        let arm = match arms(config).pop() {
            Some(arm) if envelope => arm,
            _ => base_arm(config),
        };
        Ok(CrossFit { config, loaded, arm, folds, labelled })
    }

    /// Name of the arm that is trained.
    pub fn arm(&self) -> &str {
        &self.arm.name
    }

    /// Epochs of the training of one fold, which those of the others equal but for a row's difference in size.
    pub fn epochs(&self) -> usize {
        let rows = self.folds.training(0).len();
        self.config.for_rows(rows, 0).epochs().unwrap_or_default()
    }

    /// A word on labels that are hardly classes.
    pub fn doubt(&self) -> Option<String> {
        doubt_about_classes(self.labelled.rows.len(), self.labelled.labels.classes.len())
    }

    /// Which labels are wrong, for data sets that say so.
    pub fn known_wrong(&self) -> Result<Option<Vec<bool>>> {
        let LabelledRows { labels, rows, .. } = &self.labelled;
        let Some(clean) = known_labels(self.loaded, &labels.classes)? else { return Ok(None) };
        Ok(Some(rows.iter().zip(&labels.indices).map(|(&row, &label)| clean[row] != label).collect()))
    }

    /// Trains once for each fold, in parallel, on the rows outside it; preprocessing is learned there too.
    pub fn run(&self, observer: &dyn FoldObserver) -> Result<CrossFitted> {
        let width = self.labelled.labels.classes.len();
        // Each fold writes the rows that it holds out, and no other.
        let probabilities = Mutex::new(vec![0.0; self.labelled.rows.len() * width]);
        // One fold is one task: small trainings do not gain from more threads, several of them do. The order of the results
        // is that of the folds, whichever ends first.
        let notes: Vec<Result<Vec<String>>> = (0..self.folds.len())
            .into_par_iter()
            .with_max_len(1)
            .map(|fold| self.judge(fold, observer, &probabilities))
            .collect();
        let mut notes: Vec<String> = notes.into_iter().collect::<Result<Vec<_>>>()?.concat();
        notes.sort();
        notes.dedup();
        let probabilities = probabilities.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(CrossFitted { probabilities, notes })
    }

    /// Trains, writes what the model says of the held-out rows, and gives the notes on the way.
    fn judge(&self, fold: usize, observer: &dyn FoldObserver, probabilities: &Mutex<Vec<f32>>) -> Result<Vec<String>> {
        let split = self.split(fold)?;
        let held = split.test.clone();
        let (preprocess, data, notes) =
            learn_preprocessing(self.config, &self.loaded.train, &self.labelled, &split.train, &Stop::default())?;
        let all = Part { data, weights: None, clean: None };
        let rows = Prepared::split(self.loaded.name.clone(), preprocess, all, split)?;
        let fit = Fit { arms: vec![self.arm.clone()], ..Fit::of(self.config.clone(), rows) };
        // The rows outside the fold decide the penalty and the noise, as if the fold did not exist.
        let outcome = fit.run_training(&mut *observer.training())?;
        observer.fold(fold);
        let Some((held_out, _)) = &outcome.rows.test else { return Ok(Vec::new()) };
        // Of observed labels: an audit looks for what they owe to noise.
        let arm = outcome.envelope_arm()?;
        let found = outcome.observed_probabilities(arm, held_out.x()?, &Stop::default())?;
        let width = arm.model.classes();
        let mut probabilities = probabilities.lock().unwrap_or_else(PoisonError::into_inner);
        for (found, row) in found.chunks_exact(width).zip(held) {
            probabilities[row * width..(row + 1) * width].copy_from_slice(found);
        }
        Ok(in_words(&notes))
    }

    /// The rows to learn from, rows to choose the epoch by where a fit would choose it, and the fold as test rows.
    fn split(&self, fold: usize) -> Result<Split> {
        let (outside, test) = (self.folds.training(fold), self.folds.held(fold));
        let asked = self.config.keep();
        let labels = &self.labelled.labels;
        let own: Vec<u32> = outside.iter().map(|&row| labels.indices[row]).collect();
        let share = if asked == Some(Keep::Last) { 0.0 } else { self.config.validation_share() };
        let split = draw(&own, &labels.classes, 0.0, share, self.config.seed)?;
        // Nothing but the choice needs them here: too few to choose by are better learned from.
        if asked.is_none() && split.validation.len() < ENOUGH_TO_CHOOSE {
            return Ok(Split { train: outside, validation: Vec::new(), test });
        }
        let rows = |part: &[usize]| part.iter().map(|&at| outside[at]).collect();
        Ok(Split { train: rows(&split.train), validation: rows(&split.validation), test })
    }
}

fn check_folds(labels: &[u32], classes: &[String], folds: usize) -> Result<()> {
    if folds < 2 || folds > labels.len() {
        return Err(Error::refused(format!(
            "--folds {folds} is out of range: expected 2 to {}, the number of labelled rows",
            labels.len()
        )));
    }
    let rows = rows_by_class(labels, classes.len());
    match classes.iter().zip(&rows).find(|(_, rows)| rows.len() == 1) {
        None => Ok(()),
        Some((name, rows)) => Err(Error::refused(format!(
            "class '{name}' has a single row, {}, so the model that judges it would never see the class; collect more rows, or drop it",
            rows[0]
        ))),
    }
}
