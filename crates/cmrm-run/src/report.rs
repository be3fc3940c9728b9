//! From what a run found to the data of its report.

use std::collections::HashMap;

use cmrm_report::{
    Arm, Audit, Card, Envelope, Epoch, Estimate, Member, Origin, Pair, Report, SCHEMA, Sensitivity, Sets, Sizes,
};

use cmrm_train::train::EpochStats;

use crate::BASE;
use crate::confidences::Confidences;
use crate::distributions::{DistributionParts, distributions};
use crate::error::Result;
use crate::judge::Measured;
use crate::rows::TrainingRows;
use crate::summary::{ArmSummary, FitSummary, MemberSummary, NoiseSummary, SetSummary};

/// What a report is made from.
pub struct ReportParts<'a> {
    /// The summary.
    pub summary: &'a FitSummary,
    /// What training saw of the rows, by the arm that the report is about.
    pub rows: &'a TrainingRows,
    /// What that arm says of their labels.
    pub confidences: &'a Confidences<'a>,
    /// What the base arm says of them.
    pub base: Option<&'a Confidences<'a>>,
    /// Settings of the envelope.
    pub envelope: Envelope,
    /// Rows of a batch.
    pub batch: usize,
    /// One entry for each arm and epoch.
    pub history: &'a [EpochStats],
    /// The most suspicious rows.
    pub suspects: Vec<Card>,
    /// Accuracy against the settings of the envelope.
    pub sensitivity: Option<Sensitivity>,
    /// The settings, as TOML.
    pub config: String,
}

/// Every number of the report.
pub fn report(found: ReportParts<'_>) -> Result<Report> {
    let (summary, rows) = (found.summary, found.rows);
    let distributions = distributions(&DistributionParts {
        rows,
        confidences: found.confidences,
        base: found.base,
        alpha: found.envelope.alpha,
        batch: found.batch,
        seed: summary.seed,
    })?;
    Ok(Report {
        schema: SCHEMA.into(),
        data: summary.data.name.clone(),
        sizes: Sizes {
            train: rows.len(),
            validation: summary.data.validation_rows,
            judged: summary.data.judged_rows,
            unlabelled: summary.data.unlabelled_rows,
            features: summary.data.features,
            classes: rows.classes.to_vec(),
        },
        noise: summary.data.noise.clone(),
        wrong_share: summary.data.wrong_share,
        judged_by: summary.judged_by.words().into(),
        arms: arms(summary),
        members: summary.members.iter().map(member).collect(),
        difference: summary.difference.map(Into::into),
        audit: audit(summary, rows),
        self_check: None,
        warnings: summary.warnings.clone(),
        suspects: found.suspects,
        history: found.history.iter().map(epoch).collect(),
        envelope: found.envelope,
        margins: distributions.margins,
        density: distributions.density,
        confidence: distributions.confidence,
        sensitivity: found.sensitivity,
        origin: Origin {
            seed: summary.seed,
            threads: summary.threads,
            version: summary.version.clone(),
            fingerprint: summary.fingerprint.clone(),
            rows_fingerprint: None,
            config: found.config,
        },
    })
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

fn member(of: &MemberSummary) -> Member {
    Member { name: of.name.clone(), share: of.share, accuracy: of.accuracy, brier: of.brier }
}

fn arms(summary: &FitSummary) -> Vec<Arm> {
    let metric = |m: &Measured| (m.name.to_owned(), Estimate { value: m.value, low: m.low, high: m.high });
    let arm = |arm: &ArmSummary| Arm {
        name: arm.name.clone(),
        is_base: arm.name == BASE,
        epoch: arm.epoch,
        metrics: arm.metrics.iter().map(metric).collect(),
        corrected_metrics: arm.corrected_metrics.iter().map(metric).collect(),
        sets: arm.sets.as_ref().map(sets),
        corrected_sets: arm.corrected_sets.as_ref().map(sets),
        risk_coverage: arm.risk_coverage.clone(),
    };
    summary.arms.iter().map(arm).collect()
}

fn sets(of: &SetSummary) -> Sets {
    let estimate = |value, [low, high]: [f64; 2]| Estimate { value, low, high };
    Sets {
        wanted: of.wanted,
        coverage: estimate(of.coverage, of.coverage_interval),
        size: estimate(of.mean_size, of.size_interval),
    }
}

fn audit(summary: &FitSummary, rows: &TrainingRows) -> Audit {
    let mut counts: HashMap<(u32, u32), u64> = HashMap::new();
    for at in rows.suspects() {
        *counts.entry((rows.labels[at], rows.rival[at])).or_default() += 1;
    }
    let mut pairs: Vec<Pair> =
        counts.into_iter().map(|((given, suggested), rows)| Pair { given, suggested, rows }).collect();
    pairs.sort_by_key(|pair| (std::cmp::Reverse(pair.rows), pair.given, pair.suggested));
    let suspects = &summary.suspects;
    Audit {
        rows: rows.len(),
        issues: suspects.count,
        out_of_sample: !rows.confidence.is_empty(),
        noise: summary.noise.map(|NoiseSummary { rate, interval: [low, high], .. }| Estimate {
            value: rate,
            low,
            high,
        }),
        expected: suspects.expected.map(|expected| [expected.precision, expected.recall]),
        precision: suspects.precision,
        recall: suspects.recall,
        pairs,
    }
}
