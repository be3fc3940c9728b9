//! The audit of new rows: their labels judged by the models of an earlier run, which have not seen them.
//!
//! Labels are judged by probabilities of *observed* labels ([`Predictor::observed_probabilities`]), as in an audit of the run itself: a
//! margin then says the same of old rows and new ones. What `predict` shows are probabilities of true classes; by those it is told how many
//! of the new labels are wrong ([`LabelNoise`]), since these need not be as noisy as those of the run. A run that has not undone its noise
//! (a network, classes that weigh alike) has no such probabilities: there the base arm tells it, as of anyone's probabilities.

use std::path::Path;

use cmrm::Matrix;
use cmrm::audit::Evidence;
use cmrm::noise_model::{LabelNoise, NoiseModel};
use cmrm_data::{Features, Input, LabelledRows, MissingLabels, row_digests};
use cmrm_fit::Balance;
use cmrm_run::summary::NoiseSummary;
use cmrm_run::{BASE, Model, TrainingRows, Wanted};
use cmrm_train::{Predictor, Stop};

use super::about_new_rows::AboutNewRows;
use super::sample::Sample;
use super::trained_on::TrainedOn;
use super::{Audited, Doubts, MOST_DOUBTED, used_columns};
use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::known;
use crate::labelled_rows::{LabelledData, extend_with};
use crate::new_rows::Block;
use crate::run_data;
use crate::terminal::Terminal;

/// New rows to audit, and how.
pub struct NewData<'a> {
    pub run: &'a Path,
    pub data: &'a str,
    /// How they are read, as far as the user says.
    pub read: &'a ReadArgs,
    pub hold_out_unlabelled: bool,
    /// Whether rows whose label the run does not know are left out.
    pub hold_out_unknown: bool,
    /// Whether the data's own columns are wanted.
    pub columns: bool,
    /// Whether the columns will be compared with others.
    pub compared: bool,
}

/// Reads the rows block by block and judges their labels. What stays in memory are a few numbers a row, and its probabilities of the
/// classes while these are no more than 20 million.
pub fn from_new_data(new: &NewData<'_>, terminal: &Terminal) -> Result<Audited> {
    let model = Model::open_arms(new.run, Wanted::All)?;
    let info = model.info().ok_or_else(|| Failure::internal("a run without run.json"))?;
    let read = known::completed(new.read, new.data, new.run, Some(model.preprocess().expected()))?;
    let missing = if new.hold_out_unlabelled { MissingLabels::HoldOut } else { MissingLabels::Refuse };
    let rows = LabelledData {
        data: new.data,
        read: &read,
        classes: model.classes(),
        missing,
        hold_out_unknown: new.hold_out_unknown,
        no_labels: "no labels to audit; name their column with --label or their file with --labels",
        unknown_way_out: Some(
            "correct the label, fit on data that has this class, or leave such rows out (--hold-out-unknown)",
        ),
    };
    let config = run_data::settings_in(new.run)?;
    let trained = model.training_rows()?;
    let balance = Balance::of(&trained.labels, trained.classes.len(), config.balance_classes);
    let mut judge = Judge::new(&model, balance, &trained);
    let used = used_columns(model.preprocess());
    let is_used = |name: &str| used.is_empty() || used.contains(name);
    let (mut digests, mut sample, mut whole) = (Vec::new(), Sample::default(), None::<Features>);
    let watch = |piece: &Input| {
        digests.extend(row_digests(&piece.features, is_used));
        if new.compared {
            sample.add(&piece.features)?;
        }
        match &mut whole {
            _ if !new.columns => {}
            Some(whole) => whole.append(piece.features.clone())?,
            none => *none = Some(piece.features.clone()),
        }
        Ok(())
    };
    let take = |block: &Block, labelled: &LabelledRows| judge.add(block, labelled);
    let found = rows.each_block(&model, Some(Box::new(watch)), terminal, take)?;
    let places: Vec<usize> = judge.record.rows.iter().map(|&row| row as usize).collect();
    let data = match whole {
        None => None,
        Some(Features::Table(table)) => Some(table.gather(&places)?),
        Some(_) => return Err(no_columns(new.data)),
    };
    let trained_on = judge.trained_on.rows(new.data, &config.data, &info.fingerprint, &judge.record);
    let about = AboutNewRows {
        run: new.run.display().to_string(),
        unlabelled: found.unlabelled,
        unknown: found.unknown,
        digests: places.iter().map(|&row| digests[row]).collect(),
        trained_on,
        noise_of_run: None,
        too_many: false,
        sample,
    };
    judge.audited(new, about, data)
}

/// Why an array has no columns to show.
pub fn no_columns(data: &str) -> Failure {
    Failure::input(format!(
        "--columns: {data} is an array, whose columns have no names; leave out the flag and look rows up by their number"
    ))
}

/// The models of a run, and what they have said so far.
struct Judge<'a> {
    /// The arm to predict with, and the one that tells the noise.
    arm: &'a Predictor,
    base: &'a Predictor,
    balance: Balance,
    /// The noise in the run's own labels.
    of_run: Option<&'a NoiseModel>,
    record: TrainingRows,
    /// What is said of true classes, or of observed labels by the base arm where the run's noise is not known, unless that was too much
    /// to keep.
    said: Option<Vec<f32>>,
    /// How likely labels are wrong if as many are as in the run's data.
    as_in_run: Vec<f32>,
    trained_on: TrainedOn,
}

impl<'a> Judge<'a> {
    fn new(model: &'a Model, balance: Balance, trained: &TrainingRows) -> Self {
        let (arm, base) = (model.chosen(), model.arms().iter().find(|arm| arm.name() == BASE));
        Judge {
            arm: arm.predictor(),
            base: base.unwrap_or(arm).predictor(),
            balance,
            of_run: arm.noise(),
            record: TrainingRows { classes: model.classes().to_vec(), ..TrainingRows::default() },
            said: Some(Vec::new()),
            as_in_run: Vec::new(),
            trained_on: TrainedOn::new(trained, model.preprocess().width()),
        }
    }

    fn add(&mut self, block: &Block, labelled: &LabelledRows) -> Result<()> {
        let (x, classes, stop) = (block.x()?, self.record.classes.len(), Stop::default());
        let of_labelled = |said: &[f32]| {
            let mut kept = Vec::with_capacity(labelled.rows.len() * classes);
            extend_with(&mut kept, said, classes, &labelled.rows);
            kept
        };
        let arm = of_labelled(&self.arm.observed_probabilities(x, &stop)?);
        let base = match std::ptr::eq(self.arm, self.base) {
            true => arm.clone(),
            false => of_labelled(&self.base.observed_probabilities(x, &stop)?),
        };
        let base = self.balance.observed(Matrix::new(&base, classes)?).into_owned();
        let labels = &labelled.labels.indices;
        let mut telling = base.clone();
        if let Some(noise) = self.of_run {
            telling = noise.clean_probabilities(Matrix::new(&arm, classes)?)?;
            self.as_in_run.extend(noise.wrong_probabilities(Matrix::new(&arm, classes)?, labels)?);
        }
        let rows: Vec<u64> = labelled.rows.iter().map(|&row| block.first_row + row as u64).collect();
        self.trained_on.add(x, &labelled.rows);
        let weights = vec![1.0; rows.len()];
        let mut record = std::mem::take(&mut self.record);
        if let Some(ids) = &block.ids {
            record.ids.extend(labelled.rows.iter().map(|&row| ids[row].clone().unwrap_or_default()));
        }
        let (said, first) = (Matrix::new(&arm, classes)?, Matrix::new(&base, classes)?);
        self.record = record.with_judged(&rows, labels, said, first, weights);
        match &mut self.said {
            Some(said) if said.len() + telling.len() <= MOST_DOUBTED => said.extend(telling),
            said => *said = None,
        }
        Ok(())
    }

    /// How many labels are wrong, where there are enough of them, and the models tell them.
    fn estimate(&self, evidence: Option<Evidence>) -> Result<Option<Doubts>> {
        let Some(said) = &self.said else { return Ok(None) };
        let (said, labels) = (Matrix::new(said, self.record.classes.len())?, &self.record.labels);
        let Some(trained_on) = self.of_run else {
            return Ok(Doubts::estimate(said, labels, Balance::default())?);
        };
        if !evidence.is_some_and(|evidence| evidence.tells_of_noise()) {
            return Ok(None);
        }
        let found = LabelNoise::estimate(said, labels, trained_on)?;
        let wrong_probability = found.wrong_probabilities(said, labels)?;
        let noise = NoiseSummary { rate: found.rate, interval: found.interval, by_pair: found.by_pair };
        Ok(Some(Doubts { noise: Some(noise), wrong_probability }))
    }

    fn audited(
        mut self,
        new: &NewData<'_>,
        mut about: AboutNewRows,
        data: Option<cmrm_data::Table>,
    ) -> Result<Audited> {
        let in_data = |error: cmrm_run::Error| Failure::input(format!("{}: {error}", new.data));
        let evidence = self.record.evidence();
        let estimated = self.estimate(evidence)?;
        let told = evidence.is_some_and(|evidence| !evidence.tells_nothing());
        let as_in_run = self.of_run.filter(|_| told && estimated.is_none());
        about.noise_of_run = as_in_run.map(|noise| noise.rate);
        about.too_many = self.said.is_none();
        let doubts = match as_in_run {
            Some(_) => Some(Doubts { noise: None, wrong_probability: self.as_in_run }),
            None => estimated,
        };
        if let Some(doubts) = &doubts {
            self.record.wrong_probability.clone_from(&doubts.wrong_probability);
        }
        let audit = self.record.audit().map_err(in_data)?;
        let TrainingRows { rows, ids, labels, classes, .. } = self.record;
        Ok(Audited {
            audit,
            rows,
            ids,
            files: Vec::new(),
            labels,
            classes,
            more: Vec::new(),
            doubts,
            noise: None,
            data,
            wrong: None,
            source: new.data.into(),
            evidence,
            new_rows: Some(about),
        })
    }
}
