//! Tables of a binary experiment.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Report;
use super::beside::{self, Ours};
use super::compare::{Comparison, Verdict, measure, with_interval, with_spread};
use super::document::Table;
use super::printed::{Printed, printed};
use super::sentences;
use crate::binary::{ArmName, LossRow, METRICS, Metric};
use crate::cell::{CellConfig, Results};
use crate::error::Result;
use crate::experiment::Binary;
use crate::plan::{Options, cells_of};

/// A way to compare the same cells.
pub(super) struct Protocol {
    pub name: &'static str,
    pub words: &'static str,
    pub base: ArmName,
    pub arms: &'static [ArmName],
}

/// The protocols, and last what the schedule does by itself.
pub(super) const PROTOCOLS: [Protocol; 3] = [
    Protocol {
        name: "authors",
        words: "the base arm and the envelope arm with the schedules of the authors' script",
        base: ArmName::Base,
        arms: &[ArmName::Penalise, ArmName::PenaliseStrict],
    },
    Protocol {
        name: "fair",
        words: "the base arm forks off at the same step, with the same rate, ½‖w‖² and fresh optimiser as the envelopes",
        base: ArmName::BaseFresh,
        arms: &[ArmName::Penalise, ArmName::PenaliseStrict, ArmName::Relax, ArmName::RelaxTail, ArmName::Robust],
    },
    Protocol {
        name: "schedule",
        words: "no envelope anywhere: the authors' base arm stopped at the fork, or restarted there",
        base: ArmName::Base,
        arms: &[ArmName::BaseWarm, ArmName::BaseFresh],
    },
];

/// How the paper's differences are looked for.
const WAYS: [Ours; 3] = [
    Ours { name: "as the authors compare", protocol: "authors", arm: "penalise" },
    Ours { name: "fair, authors' form", protocol: "fair", arm: "penalise" },
    Ours { name: "fair, `robust`", protocol: "fair", arm: "robust" },
];

/// Values of an arm by seed; nothing for a seed that is missing.
fn values(
    binary: &Binary,
    row: &LossRow,
    arm: ArmName,
    metric: &Metric,
    results: &Results,
    seeds: u64,
) -> Vec<Option<f64>> {
    let value = |seed: u64| {
        let config = CellConfig::Binary(row.cell(&binary.data, binary.noise, arm, seed));
        results.get(&config).and_then(|result| result.metrics.get(metric.key)).map(|value| value * metric.scale)
    };
    (0..seeds).map(value).collect()
}

pub(super) fn write(
    report: &mut Report,
    name: &str,
    binary: &Binary,
    results: &Results,
    options: &Options,
) -> Result<()> {
    let seeds = options.seeds(binary.seeds);
    let mut found: Vec<Comparison> = Vec::new();
    let mut tables = Vec::new();
    for protocol in &PROTOCOLS {
        let mut table = Table {
            caption: format!("Protocol `{}`: {}.", protocol.name, protocol.words),
            columns: ["loss", "arm", "seeds"]
                .into_iter()
                .chain(METRICS.map(|metric| metric.name))
                .map(Into::into)
                .collect(),
            rows: Vec::new(),
        };
        for row in binary.rows.iter().filter(|row| options.wants(&row.name)) {
            let arms = std::iter::once(protocol.base).chain(protocol.arms.iter().copied());
            // A base arm that ends at the fork is the arm that is stopped there.
            let cell = |arm| row.cell(&binary.data, binary.noise, arm, 0);
            let differs = |arm: &ArmName| *arm == protocol.base || cell(*arm) != cell(protocol.base);
            for arm in arms.filter(|arm| row.arms.contains(arm) && differs(arm)) {
                let of_arm = compare(name, protocol, binary, row, arm, results, seeds)?;
                table.rows.extend(lines(row, arm, protocol, &of_arm));
                found.extend(of_arm);
            }
        }
        tables.push(table);
    }
    if found.is_empty() {
        report.document.text("No results yet; train them with `cmrm-reproduce run`.");
        return Ok(());
    }
    report.document.text(complete(binary, results, options));
    for text in sentences::of_binary(binary, &found) {
        report.document.text(text);
    }
    let numbers: Vec<Printed> = printed()?.into_iter().filter(|number| number.experiment == name).collect();
    beside::write(&mut report.document, &numbers, &found, &WAYS);
    report.document.table(elsewhere(&numbers, &found));
    tables.into_iter().for_each(|table| report.document.table(table));
    report.comparisons.extend(found);
    Ok(())
}

/// How many of the wanted cells there are, and what they took where that is wanted.
fn complete(binary: &Binary, results: &Results, options: &Options) -> String {
    let mut keys = BTreeMap::new();
    for seed in 0..options.seeds(binary.seeds) {
        for row in binary.rows.iter().filter(|row| options.wants(&row.name)) {
            for (_, config) in cells_of(binary, row, seed) {
                keys.insert(config.key(), results.get(&config).map(|result| result.seconds));
            }
        }
    }
    let there: Vec<f64> = keys.values().copied().flatten().collect();
    let mut text = format!("{} of {} cells have results.", there.len(), keys.len());
    if options.times {
        let _ = write!(text, " They took {:.0} core-seconds.", there.iter().sum::<f64>());
    }
    text
}

/// Numbers of another run, ours beside them.
fn elsewhere(numbers: &[Printed], found: &[Comparison]) -> Table {
    let row = |number: &Printed| {
        let same = |c: &&Comparison| (&c.row, &c.arm, &c.metric) == (&number.row, &number.arm, &number.metric);
        let ours = found.iter().find(same).map_or_else(String::new, |c| {
            let spread = cmrm::conformal::Spread { mean: c.mean, standard_deviation: c.deviation };
            format!("{} ({} seeds)", with_spread(spread, c.pairs, 2), c.pairs)
        });
        let arm = format!("`{}`", number.arm);
        vec![number.row.clone(), arm, number.metric.clone(), number.text(), number.place.clone(), ours]
    };
    Table {
        caption: "Compared with another run.".into(),
        columns: ["loss", "arm", "metric", "there", "where", "here"].map(Into::into).to_vec(),
        rows: numbers.iter().filter(|number| number.elsewhere).map(row).collect(),
    }
}

/// All metrics of an arm over the seeds that it and its base have; nothing where there are none.
fn compare(
    name: &str,
    protocol: &Protocol,
    binary: &Binary,
    row: &LossRow,
    arm: ArmName,
    results: &Results,
    seeds: u64,
) -> Result<Vec<Comparison>> {
    let mut found = Vec::new();
    for metric in &METRICS {
        let own = values(binary, row, arm, metric, results, seeds);
        let base = values(binary, row, protocol.base, metric, results, seeds);
        let is_base = arm == protocol.base;
        let pairs: Vec<(f64, f64)> = own.iter().zip(&base).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let (own, base): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let against = (!is_base).then_some(base.as_slice());
        let Some(measured) = measure(&own, against, metric.more_is_better)? else { return Ok(Vec::new()) };
        found.push(Comparison {
            experiment: name.into(),
            protocol: protocol.name.into(),
            row: row.name.clone(),
            arm: arm.name().into(),
            against: if is_base { String::new() } else { protocol.base.name().into() },
            metric: metric.name.into(),
            pairs: measured.pairs,
            mean: measured.spread.mean,
            deviation: measured.spread.standard_deviation,
            difference: measured.difference,
            verdict: measured.verdict,
        });
    }
    Ok(found)
}

/// Rows of the table: the arm, and below it the difference to its base.
fn lines(row: &LossRow, arm: ArmName, protocol: &Protocol, found: &[Comparison]) -> Vec<Vec<String>> {
    let Some(first) = found.first() else { return Vec::new() };
    let digits = |at: usize| if METRICS[at].scale > 1.0 { 2 } else { 3 };
    let spread = |c: &Comparison| cmrm::conformal::Spread { mean: c.mean, standard_deviation: c.deviation };
    let head = [row.name.clone(), format!("`{}`", arm.name()), first.pairs.to_string()];
    let means = found.iter().enumerate().map(|(at, c)| with_spread(spread(c), c.pairs, digits(at)));
    let mut lines = vec![head.into_iter().chain(means).collect()];
    if arm != protocol.base {
        let head = [String::new(), format!("minus `{}`", protocol.base.name()), String::new()];
        let text = |(at, c): (usize, &Comparison)| {
            c.difference.map_or_else(String::new, |difference| with_interval(difference, c.verdict, digits(at)))
        };
        lines.push(head.into_iter().chain(found.iter().enumerate().map(text)).collect());
    }
    lines
}

/// How many of some comparisons are better, worse, open.
pub(super) fn count<'a>(found: impl Iterator<Item = &'a Comparison>) -> [usize; 3] {
    let mut counts = [0; 3];
    for comparison in found {
        counts[match comparison.verdict {
            Verdict::Better => 0,
            Verdict::Worse => 1,
            Verdict::Open => 2,
        }] += 1;
    }
    counts
}
