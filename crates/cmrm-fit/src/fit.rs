//! A fit: settings, rows, and the arms to train on them.

use std::sync::Arc;

use cmrm::Matrix;
use cmrm_run::TrainingRows;
use cmrm_run::summary::MemberSummary;
use cmrm_train::train::{Arm, EpochStats, Examples, Observer, Silent, Trained, Trainer};
use cmrm_train::{Predictor, Stop};

use crate::arms::arms;
use crate::config::FitConfig;
use crate::error::{Error, Result};
use crate::kinds::ModelKind;
use crate::loaded::Loaded;
use crate::memory::{Need, Room};
use crate::noise::{Balance, Noise};
use crate::outcome::{FitOutcome, FittedArm};
use crate::penalty::with_penalty;
use crate::prepare::Prepared;
use crate::progress::OfObserver;

/// A fit of rows in memory, ready to run. The command, the Python package, searches and cross-fitting all train this way,
/// so that the same rows, seed and settings give the same bits in each.
///
/// [`Fit::run`] does it all. To do something in between, such as restoring a checkpoint, call its parts:
/// [`Fit::check_memory`], [`Fit::decide_transition`], [`Fit::decide_penalty`], [`Fit::trainer`], [`Fit::finish`].
#[derive(Debug, Clone)]
pub struct Fit {
    pub(crate) config: FitConfig,
    pub(crate) arms: Vec<Arm>,
    pub(crate) rows: Arc<Prepared>,
}

impl FitConfig {
    /// Checks the settings and trains on these rows to the end, with nobody watching: [`Fit::new`] and [`Fit::run`].
    pub fn fit(&self, loaded: &Loaded) -> Result<FitOutcome> {
        self.check()?;
        Fit::new(self, loaded, &Stop::default())?.run(&mut Silent)
    }
}

impl Fit {
    /// Splits the rows, learns the preprocessing, and makes noise. `stop` is looked at after every pass over the rows.
    pub fn new(config: &FitConfig, loaded: &Loaded, stop: &Stop) -> Result<Self> {
        let rows = Prepared::new(config, loaded, stop)?;
        let classes = rows.train.data.classes.len();
        if classes != 2 && config.model() == ModelKind::Svm {
            return Err(Error::refused(format!(
                "the model svm needs two classes, the data has {classes}; use the model linear"
            )));
        }
        if classes != 2 && config.class_conditional {
            return Err(Error::refused(format!(
                "class-conditional thresholds need two classes, the data has {classes}; leave out class-conditional"
            )));
        }
        Ok(Fit::of(config.clone(), rows))
    }

    /// Of rows that are prepared already.
    pub fn of(config: FitConfig, rows: Prepared) -> Self {
        let config = config.for_rows(rows.train.data.len(), rows.validation.data.len());
        Fit { arms: arms(&config), config, rows: Arc::new(rows) }
    }

    /// The same rows with other settings for the training.
    #[must_use]
    pub fn with_config(self, config: FitConfig) -> Self {
        let config = config.for_rows(self.rows.train.data.len(), self.rows.validation.data.len());
        Fit { arms: arms(&config), config, ..self }
    }

    /// The settings, with what the number of rows decides decided.
    pub fn config(&self) -> &FitConfig {
        &self.config
    }

    /// The rows.
    pub fn rows(&self) -> &Prepared {
        &self.rows
    }

    /// Refuses a training that cannot find room in memory: better now than stopped without a word after hours.
    pub fn check_memory(&self) -> Result<()> {
        Need::of_fit(&self.config, &self.rows)?.check(Room::now()).map_err(|error| error.in_data(&self.rows.source))
    }

    /// Lets the rows decide the penalty of a linear model where the settings leave it open; a given one stays.
    pub fn decide_penalty(&mut self, stop: &Stop) -> Result<()> {
        let classes = self.rows.train.data.classes.len();
        self.config = with_penalty(&self.config, self.rows.train.examples()?, classes, &mut stop.clone())?;
        Ok(())
    }

    /// The training of all arms, ready to run. The penalty must be decided.
    pub fn trainer(&self) -> Result<Trainer<'_, f32>> {
        let Prepared { train, validation, .. } = &*self.rows;
        let held = (!validation.data.is_empty()).then(|| validation.data.x()).transpose()?;
        let held = held.map(|x| Examples::new(x, &validation.data.labels));
        let classes = train.data.classes.len();
        let trainer = Trainer::new(self.config.train_config(), self.arms.clone(), classes, train.examples()?, held)?;
        Ok(match train.wrong() {
            Some(wrong) => trainer.with_known_wrong(wrong)?,
            None => trainer,
        })
    }

    /// What was found, once the training of [`Fit::trainer`] has ended.
    pub fn finish(self, arms: Vec<Trained<f32>>, history: Vec<EpochStats>) -> Result<FitOutcome> {
        let mut outcome = self.finish_training(arms, history)?;
        outcome.noise = outcome.noise_of_validation_rows()?;
        Ok(outcome)
    }

    fn finish_training(self, mut arms: Vec<Trained<f32>>, history: Vec<EpochStats>) -> Result<FitOutcome> {
        let gave_way = self.let_base_lead(&mut arms)?;
        let arms = self.at_their_temperatures(arms)?;
        let train = &self.rows.train;
        let mut training_rows = arms.last().map(|arm| TrainingRows::of(&train.data, &arm.record)).unwrap_or_default();
        (training_rows.ids, training_rows.wrong) = (self.rows.ids_of(&train.data.rows), train.wrong());
        let arms = arms.into_iter().map(Into::into).collect();
        Ok(FitOutcome {
            config: self.config,
            rows: self.rows,
            arms,
            members: Vec::new(),
            history,
            noise: None,
            gave_way,
            training_rows,
        })
    }

    /// What was found, once a vote has been fitted: each arm with its out-of-sample probabilities, those of the base arm, which may not
    /// be among them, the weights that the last one learned from the training rows with, and what its learners are worth.
    pub fn finish_vote(
        self,
        mut arms: Vec<FittedArm>,
        base: &[f32],
        weight: Vec<f32>,
        members: Vec<MemberSummary>,
    ) -> Result<FitOutcome> {
        let train = &self.rows.train;
        let judged = arms.last().and_then(|arm| arm.out_of_sample.as_deref());
        let judged = judged.ok_or_else(|| Error::Internal("a vote without out-of-sample probabilities".into()))?;
        let of_classes = |judged| Matrix::new(judged, train.data.classes.len());
        let labels = &train.data.labels;
        let balance = Balance::of(labels, train.data.classes.len(), self.config.balance_classes);
        let told = balance.observed(of_classes(base)?);
        let mut training_rows =
            TrainingRows::out_of_sample(&train.data, of_classes(judged)?, of_classes(&told)?, weight);
        (training_rows.ids, training_rows.wrong) = (self.rows.ids_of(&train.data.rows), train.wrong());
        // By the base arm: the weights of the other come from models that know all labels.
        let noise = Noise::estimate(of_classes(base)?, labels, balance)?;
        if let Some(found) = &noise {
            training_rows.wrong_probability = found.wrong_probabilities(of_classes(base)?, labels)?;
            let undoing = found.undoing(of_classes(base)?, of_classes(judged)?)?;
            if let (Some(arm), Some(undoing)) = (arms.last_mut(), undoing)
                && let Predictor::Vote(vote) = &arm.model
            {
                arm.model = vote.clone().corrected(undoing)?.into();
            }
        }
        Ok(FitOutcome {
            config: self.config,
            rows: self.rows,
            arms,
            members,
            history: Vec::new(),
            noise,
            gave_way: None,
            training_rows,
        })
    }

    /// Checks the memory, decides the penalty and trains to the end. If `observer` ends the training early, that is an error:
    /// [`cmrm_train::Error::Stopped`]. A vote has no epochs to observe ([`Fit::run_vote`]).
    pub fn run(self, observer: &mut dyn Observer<f32>) -> Result<FitOutcome> {
        let mut outcome = self.run_training(observer)?;
        if outcome.noise.is_none() {
            outcome.noise = outcome.noise_of_validation_rows()?;
        }
        Ok(outcome)
    }

    /// The same for models that nobody asks how many labels are wrong.
    pub(crate) fn run_training(mut self, observer: &mut dyn Observer<f32>) -> Result<FitOutcome> {
        if self.config.is_vote() {
            return self.run_vote(&mut OfObserver(observer));
        }
        self.check_memory()?;
        self.decide_transition(&mut OfObserver(observer))?;
        self.decide_penalty(&observer.stop().unwrap_or_default())?;
        let mut trainer = self.trainer()?;
        trainer.run(observer)?;
        if !trainer.has_ended() {
            return Err(cmrm_train::Error::Stopped.into());
        }
        let history = trainer.history().to_vec();
        let arms = trainer.finish()?;
        self.finish_training(arms, history)
    }

    /// The fit whose training rows a search for settings may see: those to train on and to validate, and no test rows.
    pub fn to_search(&self) -> Result<Fit> {
        let rows = Arc::new(self.rows.unsplit()?);
        Ok(Fit { config: self.config.clone(), arms: self.arms.clone(), rows })
    }
}
