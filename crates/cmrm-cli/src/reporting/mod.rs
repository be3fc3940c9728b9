//! From a fit in memory to the data of its report.

pub mod cards;
mod distributions;
pub mod sensitivity;

use std::borrow::Cow;
use std::collections::HashMap;

use cmrm_data::Dataset;
use cmrm_report::{Arm, Audit, Envelope, Epoch, Estimate, Origin, Pair, Report, SCHEMA, Sensitivity, Sets, Sizes};
use cmrm_train::train::{EpochStats, Trained};
use rayon::prelude::*;

use crate::arms::BASE;
use crate::config::FitConfig;
use crate::failure::Result;
use crate::judge::Measured;
use crate::load::load;
use crate::run_dir::RunDir;
use crate::summary::FitSummary;
use crate::terminal::Terminal;
use crate::verbs::fit::Prepared;
use cards::{Cards, Record};

/// Rows that the report shows in full.
const SUSPECTS: usize = 50;
/// Room for their pictures: the page stays small enough for a mail. Where pictures are large, fewer rows are shown.
const PICTURE_BYTES: usize = 2_000_000;

/// What a report is made from.
pub struct Material<'a> {
    pub config: &'a FitConfig,
    pub prepared: &'a Prepared,
    pub train: &'a Dataset,
    pub trained: &'a [Trained<f32>],
    pub robust: &'a Trained<f32>,
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
    let mut shown: Vec<_> = doubted.into_par_iter().map(|at| cards.card(at, cards::FEW_COLUMNS)).collect();
    let mut left = PICTURE_BYTES;
    let fitting = shown.iter().take_while(|card| {
        let neighbours = card.neighbours.iter().map(|neighbour| &neighbour.content);
        let pictures = neighbours.chain([&card.content]).filter_map(|content| content.picture.as_ref());
        let bytes = pictures.map(String::len).sum();
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    });
    let fitting = fitting.count();
    shown.truncate(fitting);
    Ok(shown)
}

fn build(material: Material<'_>, suspects: Vec<cmrm_report::Card>) -> Result<Report> {
    let Material { config, prepared, train, trained, robust, history, summary, sensitivity } = material;
    let wrong: Option<Vec<bool>> = prepared
        .clean
        .as_ref()
        .map(|clean| prepared.split.train.iter().map(|&i| clean[i] != prepared.data.labels[i]).collect());
    let envelope = config.envelope();
    let found = distributions::of(config, prepared, train, trained, robust, wrong.as_deref())?;
    Ok(Report {
        schema: SCHEMA.into(),
        data: summary.data.name.clone(),
        sizes: Sizes {
            train: train.len(),
            validation: prepared.split.validation.len(),
            judged: summary.data.judged_rows,
            unlabelled: prepared.unlabelled,
            features: train.width(),
            classes: train.classes.clone(),
        },
        noise: summary.data.noise.clone(),
        wrong_share: summary.data.wrong_share,
        judged_by: summary.judged_by.words().into(),
        arms: arms(summary),
        difference: summary.difference.as_ref().map(|d| Estimate { value: d.accuracy, low: d.low, high: d.high }),
        audit: audit(summary, train, robust),
        suspects,
        history: history.iter().map(epoch).collect(),
        envelope: Envelope { lambda: envelope.lambda, alpha: envelope.alpha, temperature: envelope.temperature },
        margins: found.margins,
        density: found.density,
        confidence: found.confidence,
        sensitivity,
        origin: Origin {
            seed: summary.seed,
            threads: summary.threads,
            version: summary.version.clone(),
            fingerprint: summary.fingerprint.clone(),
            config: config.to_toml()?,
        },
    })
}

fn arms(summary: &FitSummary) -> Vec<Arm> {
    let metric = |m: &Measured| (m.name.to_owned(), Estimate { value: m.value, low: m.low, high: m.high });
    let arm = |arm: &crate::summary::ArmSummary| Arm {
        name: arm.name.clone(),
        is_base: arm.name == BASE,
        epoch: arm.epoch,
        metrics: arm.metrics.iter().map(metric).collect(),
        sets: arm.sets.as_ref().map(|sets| Sets {
            wanted: sets.wanted,
            coverage: Estimate {
                value: sets.coverage,
                low: sets.coverage_interval[0],
                high: sets.coverage_interval[1],
            },
            size: Estimate { value: sets.mean_size, low: sets.size_interval[0], high: sets.size_interval[1] },
        }),
    };
    summary.arms.iter().map(arm).collect()
}

fn audit(summary: &FitSummary, train: &Dataset, robust: &Trained<f32>) -> Audit {
    let mut counts: HashMap<(u32, u32), u64> = HashMap::new();
    for (at, &margin) in robust.record.last_margin.iter().enumerate() {
        if margin < 0.0 {
            *counts.entry((train.labels[at], robust.record.rival[at])).or_default() += 1;
        }
    }
    let mut pairs: Vec<Pair> =
        counts.into_iter().map(|((given, suggested), rows)| Pair { given, suggested, rows }).collect();
    pairs.sort_by_key(|pair| (std::cmp::Reverse(pair.rows), pair.given, pair.suggested));
    let suspects = &summary.suspects;
    Audit { rows: train.len(), issues: suspects.count, precision: suspects.precision, recall: suspects.recall, pairs }
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
