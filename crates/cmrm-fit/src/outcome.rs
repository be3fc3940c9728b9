//! What a fit leaves: trained arms, and everything that can be said of them.

use std::sync::Arc;

use cmrm::{Matrix, Rows};
use cmrm_data::{Dataset, Fingerprint};
use cmrm_run::names::MARGINS;
use cmrm_run::summary::{Labels, MemberSummary};
use cmrm_run::{BASE, Calibration, RunDir, RunInfo, TrainingRows};
use cmrm_train::train::{EpochStats, Trained};
use cmrm_train::{Predictor, Stop};

use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::giving_way::GaveWay;
use crate::noise::{Balance, Noise};
use crate::prepare::Prepared;
use crate::transition::TransitionSetting;

/// One arm of a fit that has run.
#[derive(Debug, Clone)]
pub struct FittedArm {
    /// Its name.
    pub name: String,
    /// What it predicts with.
    pub model: Predictor,
    /// The epoch whose model is kept, from zero; nothing where there were no epochs.
    pub epoch: Option<usize>,
    /// Probabilities of the training rows by models that have not seen them, `[rows, classes]`; nothing where there are no
    /// such models.
    pub out_of_sample: Option<Vec<f32>>,
}

impl From<Trained<f32>> for FittedArm {
    fn from(trained: Trained<f32>) -> Self {
        FittedArm { name: trained.name, model: trained.model.into(), epoch: Some(trained.epoch), out_of_sample: None }
    }
}

impl FittedArm {
    /// Out-of-sample probabilities of rows as the arm would give them for new ones: of true classes where it undoes the noise.
    pub(crate) fn as_of_new_rows(&self, out_of_sample: &[f32], classes: usize) -> Result<Vec<f32>> {
        let undone = match &self.model {
            Predictor::Vote(vote) => vote.noise(),
            _ => None,
        };
        match undone {
            Some(noise) => Ok(noise.clean_probabilities(Matrix::new(out_of_sample, classes)?)?),
            None => Ok(out_of_sample.to_vec()),
        }
    }
}

/// A fit that has run. [`FitOutcome::summary`] judges the arms, [`FitOutcome::suspects`] shows the rows whose labels look
/// wrong, [`FitOutcome::report`] has every number of the report; each is computed when it is asked for.
#[derive(Debug, Clone)]
pub struct FitOutcome {
    /// The settings, with everything decided.
    pub config: FitConfig,
    /// The rows.
    pub rows: Arc<Prepared>,
    /// The arms, the one to predict with last.
    pub arms: Vec<FittedArm>,
    /// What the learners that vote in the last arm are worth; none where it is a single network or linear model.
    pub members: Vec<MemberSummary>,
    /// One entry for each arm and epoch; none where there were no epochs.
    pub history: Vec<EpochStats>,
    /// The noise in the labels, where models that have not seen the rows tell it.
    pub noise: Option<Noise>,
    /// Why the envelope's arm has the base arm's model, if it has.
    pub gave_way: Option<GaveWay>,
    /// What training saw of the rows, or models that have not seen them say of them, by the envelope's arm.
    pub training_rows: TrainingRows,
}

impl FitOutcome {
    /// The arm to predict with: the envelope's, or the only one.
    pub fn envelope_arm(&self) -> Result<&FittedArm> {
        self.arms.last().ok_or_else(|| Error::Internal("a fit without arms".into()))
    }

    /// The arm without an envelope, unless it was left out.
    pub fn base_arm(&self) -> Option<&FittedArm> {
        self.arms.iter().find(|arm| arm.name == BASE)
    }

    /// The arm that tells the noise in the labels: the one without an envelope, if it is there. Envelopes make models doubt labels.
    pub fn telling_arm(&self) -> Result<&FittedArm> {
        self.base_arm().map_or_else(|| self.envelope_arm(), Ok)
    }

    /// What an arm says of the observed labels of rows. A model that was trained with a transition matrix speaks of true classes, and the
    /// matrix says how they are observed.
    pub fn observed_probabilities<'x>(
        &self,
        arm: &FittedArm,
        x: impl Into<Rows<'x, f32>>,
        stop: &Stop,
    ) -> Result<Vec<f32>> {
        let said = arm.model.observed_probabilities(x, stop)?;
        match self.config.transition_matrix() {
            Some(transition) => Ok(transition.observed_probabilities(Matrix::new(&said, transition.classes())?)?),
            None => Ok(said),
        }
    }

    /// The noise as single models tell it of the validation rows, where there are enough of them and they are told better than by
    /// chance.
    pub(crate) fn noise_of_validation_rows(&self) -> Result<Option<Noise>> {
        let held = &self.rows.validation.data;
        // Who gives the transition matrix knows the noise.
        let given =
            matches!(self.config.transition, Some(TransitionSetting::Given(_))) && self.config.loss.needs_transition();
        if held.is_empty() || self.config.is_vote() || given {
            return Ok(None);
        }
        let observed = self.observed_probabilities(self.telling_arm()?, held.x()?, &Stop::default())?;
        let classes = held.classes.len();
        let balance = Balance::of(&self.rows.train.data.labels, classes, self.config.balance_classes);
        Noise::estimate(Matrix::new(&observed, classes)?, &held.labels, balance)
    }

    /// What an arm says of the rows that prediction sets are calibrated on: the validation rows, or else the training rows
    /// where models have judged them that had not seen them. Nothing if there are neither.
    pub fn calibration(&self, arm: &FittedArm, stop: &Stop) -> Result<Option<Calibration>> {
        let Prepared { train, validation, .. } = &*self.rows;
        let (rows, probabilities, clean) = match &arm.out_of_sample {
            _ if !validation.data.is_empty() => {
                let (held, classes) = (&validation.data, validation.data.classes.len());
                let clean = match &self.noise {
                    Some(noise) => {
                        let observed = self.observed_probabilities(self.telling_arm()?, held.x()?, stop)?;
                        Some(noise.posteriors_of(Matrix::new(&observed, classes)?, &held.labels)?)
                    }
                    None => None,
                };
                (held, arm.model.probabilities(held.x()?, stop)?, clean)
            }
            Some(out_of_sample) => {
                let clean = self.noise.as_ref().map(|noise| noise.posteriors.clone());
                (&train.data, arm.as_of_new_rows(out_of_sample, train.data.classes.len())?, clean)
            }
            None => return Ok(None),
        };
        Ok(Some(Calibration { probabilities, labels: rows.labels.clone(), classes: rows.classes.len(), clean }))
    }

    /// The rows that the arms are judged on, and which labels those rows have: test rows, else validation rows, else the
    /// training rows where models have judged them that had not seen them.
    pub fn judged(&self) -> (Option<&Dataset>, Labels) {
        match self.rows.judged() {
            (None, _) if !self.arms.is_empty() && self.arms.iter().all(|arm| arm.out_of_sample.is_some()) => {
                (Some(&self.rows.train.data), Labels::ObservedOutOfSample)
            }
            found => found,
        }
    }

    /// What `run.json` says of it; `fingerprint` is that of the rows trained on.
    pub fn info(&self, fingerprint: Fingerprint) -> Result<RunInfo> {
        let names = self.arms.iter().map(|arm| arm.name.clone()).collect();
        let chosen = self.envelope_arm()?.name.clone();
        Ok(RunInfo::new(self.rows.train.data.classes.clone(), names, chosen, fingerprint.0))
    }

    /// Writes what applying the run needs, and what training saw: models, preprocessing, calibration, margins, figures of the
    /// epochs. A killed process leaves the first of them; `run.json` is for the caller, last of all.
    pub fn write(&self, run: &RunDir) -> Result<()> {
        let chosen = &self.envelope_arm()?.name;
        run.write_metrics(&self.history)?;
        for arm in &self.arms {
            run.write_model(&arm.name, chosen, &arm.model)?;
        }
        run.write_preprocess(&self.rows.preprocess)?;
        self.training_rows.write(&run.file(MARGINS))?;
        for arm in &self.arms {
            if let Some(calibration) = self.calibration(arm, &Stop::default())? {
                run.write_calibration(&arm.name, chosen, &calibration)?;
            }
        }
        Ok(())
    }
}
