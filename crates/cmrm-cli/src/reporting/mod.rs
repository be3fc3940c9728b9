//! From a fit in memory to the data of its report.

pub mod sensitivity;

use std::borrow::Cow;

use cmrm_data::Dataset;
use cmrm_report::{Envelope, Epoch, Report, Sensitivity};
use cmrm_run::{Cards, FEW_COLUMNS, Found, Record, SUSPECTS, TrainingRows, fitting, report};
use cmrm_train::train::{EpochStats, Trained};
use rayon::prelude::*;

use crate::arms::BASE;
use crate::config::FitConfig;
use crate::failure::Result;
use crate::load::load;
use crate::run_dir::RunDir;
use crate::summary::FitSummary;
use crate::terminal::Terminal;
use crate::verbs::fit::Prepared;

/// What a report is made from.
pub struct Material<'a> {
    pub config: &'a FitConfig,
    pub prepared: &'a Prepared,
    pub train: &'a Dataset,
    pub trained: &'a [Trained<f32>],
    pub robust: &'a Trained<f32>,
    pub rows: &'a TrainingRows<'a>,
    pub history: &'a [EpochStats],
    pub summary: &'a FitSummary,
    pub sensitivity: Option<Sensitivity>,
}

/// Writes `report.json`, which holds every number of the report, and `report.html`, the page made of it.
pub fn write(run: &RunDir, material: Material<'_>, cache: Option<&std::path::Path>, terminal: &Terminal) -> Result<()> {
    let suspects = match suspects(&material, cache) {
        Ok(suspects) => suspects,
        // The run is worth more than the pictures in its report.
        Err(failure) => {
            terminal.say(format!("note: the report does not show rows, since they could not be read again: {failure}"));
            Vec::new()
        }
    };
    let report = build(material, suspects)?;
    run.write_json("report.json", &report)?;
    run.write("report.html", &cmrm_report::page(&report))
}

/// The rows to show. The data is read again: to hold it beside the features all through training would cost as much
/// memory as they do.
fn suspects(material: &Material<'_>, cache: Option<&std::path::Path>) -> Result<Vec<cmrm_report::Card>> {
    let raw = load(material.config, cache)?.train;
    let record = Record {
        margin: material.robust.record.last_margin.clone(),
        rival: material.robust.record.rival.clone(),
        weight: material.robust.record.last_weight.clone(),
    };
    let cards = Cards::new(raw, Cow::Borrowed(material.train), record)?;
    let doubted: Vec<usize> = cards.suspects().into_iter().take(SUSPECTS).collect();
    Ok(fitting(doubted.into_par_iter().map(|at| cards.card(at, FEW_COLUMNS)).collect()))
}

fn build(material: Material<'_>, suspects: Vec<cmrm_report::Card>) -> Result<Report> {
    let Material { config, prepared, train, trained, robust, rows, history, summary, sensitivity } = material;
    let envelope = config.envelope();
    let base = trained.iter().find(|arm| arm.name == BASE);
    let features = train.matrix()?;
    let base = base.map(|arm| arm.model.probabilities(features)).transpose()?;
    let clean: Option<Vec<u32>> =
        prepared.clean.as_ref().map(|clean| prepared.split.train.iter().map(|&i| clean[i]).collect());
    Ok(report(Found {
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
        batch: config.batch,
        history: history.iter().map(epoch).collect(),
        suspects,
        sensitivity,
        config: config.to_toml()?,
    })?)
}

fn epoch(stats: &EpochStats) -> Epoch {
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
