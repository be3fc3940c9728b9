//! From a fit in memory to the data of its report.

use std::borrow::Cow;

use cmrm_data::{Dataset, Input};
use cmrm_report::{Card, Envelope, Epoch, Report, Sensitivity};
use cmrm_run::summary::FitSummary;
use cmrm_run::{BASE, Cards, FEW_COLUMNS, Found, PICTURE_BYTES, Record, SUSPECTS, TrainingRows, fitting};
use cmrm_train::train::{EpochStats, Trained};
use rayon::prelude::*;

use crate::config::{FitConfig, OptimiserKind};
use crate::error::Result;
use crate::prepare::Prepared;

/// What a report is made from.
pub struct Material<'a> {
    /// The settings.
    pub config: &'a FitConfig,
    /// The data.
    pub prepared: &'a Prepared,
    /// The rows trained on.
    pub train: &'a Dataset,
    /// The arms.
    pub trained: &'a [Trained<f32>],
    /// The arm that the report is about.
    pub robust: &'a Trained<f32>,
    /// What training saw of the rows.
    pub rows: &'a TrainingRows<'a>,
    /// One entry an arm and epoch.
    pub history: &'a [EpochStats],
    /// The summary.
    pub summary: &'a FitSummary,
    /// Accuracy against the settings of the envelope.
    pub sensitivity: Option<Sensitivity>,
}

/// The most doubtful rows, shown as they stand in `raw`, from which the rows trained on were made.
pub fn suspects(raw: Input, train: &Dataset, robust: &Trained<f32>) -> Result<Vec<Card>> {
    let record = Record {
        margin: robust.record.last_margin.clone(),
        rival: robust.record.rival.clone(),
        weight: robust.record.last_weight.clone(),
    };
    let cards = Cards::new(raw, Cow::Borrowed(train), record)?;
    let doubted: Vec<usize> = cards.suspects().into_iter().take(SUSPECTS).collect();
    Ok(fitting(doubted.into_par_iter().map(|at| cards.card(at, FEW_COLUMNS)).collect(), PICTURE_BYTES))
}

/// Every number of the report.
pub fn report(material: Material<'_>, suspects: Vec<Card>) -> Result<Report> {
    let Material { config, prepared, train, trained, robust, rows, history, summary, sensitivity } = material;
    let envelope = config.envelope();
    let base = trained.iter().find(|arm| arm.name == BASE);
    let features = train.matrix()?;
    let base = base.map(|arm| arm.model.probabilities(features)).transpose()?;
    let clean: Option<Vec<u32>> =
        prepared.clean.as_ref().map(|clean| prepared.split.train.iter().map(|&i| clean[i]).collect());
    Ok(cmrm_run::report(Found {
        summary,
        rows,
        probabilities: &robust.model.probabilities(features)?,
        base: base.as_deref(),
        clean: clean.as_deref(),
        envelope: Envelope {
            lambda: envelope.lambda,
            alpha: envelope.alpha,
            temperature: envelope.temperature,
            ceiling: envelope.ceiling,
        },
        batch: if config.optimiser() == OptimiserKind::Lbfgs { 0 } else { config.batch },
        history: history.iter().map(epoch).collect(),
        suspects,
        sensitivity,
        config: config.to_toml()?,
    })?)
}

/// An epoch of a training, as a report has it.
pub fn epoch(stats: &EpochStats) -> Epoch {
    Epoch {
        arm: stats.arm.clone(),
        epoch: stats.epoch,
        on: stats.envelope_on,
        base: stats.base,
        risk: stats.risk,
        total: stats.total,
        tau: stats.tau,
        tau_plus: stats.tau_plus,
        tau_minus: stats.tau_minus,
        filtered: stats.filtered,
        wrong_among_filtered: stats.wrong_among_filtered,
        validation_accuracy: stats.validation_accuracy,
    }
}
