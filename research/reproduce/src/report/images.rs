//! Tables of the image runs, from the results that `cmrm-images` left in the repository.

use std::path::Path;

use serde::Deserialize;

use super::beside::{self, Ours};
use super::compare::{Comparison, measure, with_interval, with_spread};
use super::document::Table;
use super::{Report, binary::count, printed::printed, sentences::claim};
use crate::error::{Error, Result};

/// A table of image runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Images {
    /// Folder with files `results*.jsonl`, relative to the root of the repository.
    pub results: String,
    /// The comparisons.
    pub rows: Vec<ImageRow>,
}

/// A base arm and the arms that are compared with it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImageRow {
    /// `authors` or `fair`.
    pub protocol: String,
    /// The loss in the paper's table.
    pub row: String,
    /// What else there is to know: noise, epochs.
    pub setting: String,
    /// Plans of the runs.
    pub plans: Vec<String>,
    /// The base arm.
    pub base: String,
    /// The other arms.
    pub arms: Vec<String>,
}

/// What is read of a run.
#[derive(Debug, Clone, Deserialize)]
struct Line {
    plan: String,
    arm: String,
    seed: u64,
    accuracy: f64,
    mean_set_size: f64,
}

/// How the paper's differences are looked for.
const WAYS: [Ours; 3] = [
    Ours { name: "as the authors compare", protocol: "authors", arm: "authors" },
    Ours { name: "fair, authors' form", protocol: "fair", arm: "authors" },
    Ours { name: "fair, `robust`", protocol: "fair", arm: "robust" },
];

/// A number of a run.
type Pick = fn(&Line) -> f64;

fn read(folder: &Path) -> Result<Vec<Line>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut lines = Vec::new();
    for path in files {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !(name.starts_with("results") && name.ends_with(".jsonl")) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| Error::file(&path, error))?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let reason = |error| format!("line {}: {error}", at + 1);
            lines.push(
                serde_json::from_str(line)
                    .map_err(|error: serde_json::Error| Error::Stored { path: path.clone(), reason: reason(error) })?,
            );
        }
    }
    Ok(lines)
}

pub(super) fn write(report: &mut Report, name: &str, images: &Images, root: &Path) -> Result<()> {
    let mut lines = read(&root.join(&images.results))?;
    lines.retain(|line| images.rows.iter().any(|row| row.plans.contains(&line.plan)));
    if lines.is_empty() {
        report.document.text(format!("Not run: no results in {}.", images.results));
        return Ok(());
    }
    let mut table = Table {
        caption: "Last epoch, clean test images; intervals over seeds where there are two or more.".into(),
        columns: ["protocol", "loss", "setting", "arm", "seeds", "accuracy, %", "minus base", "M.APSS", "minus base"]
            .map(Into::into)
            .to_vec(),
        rows: Vec::new(),
    };
    let (before, mut missing) = (report.comparisons.len(), Vec::new());
    for row in &images.rows {
        let of = |arm: &str, pick: Pick| -> Vec<(u64, f64)> {
            let runs = lines.iter().filter(|line| line.arm == arm && row.plans.contains(&line.plan));
            let mut values: Vec<(u64, f64)> = runs.map(|line| (line.seed, pick(line))).collect();
            values.sort_by_key(|value| value.0);
            values
        };
        for arm in std::iter::once(&row.base).chain(&row.arms) {
            let (mut cells, mut seeds) = (Vec::new(), 0);
            let metrics: [(&str, Pick, bool, usize); 2] =
                [("accuracy", |line| 100.0 * line.accuracy, true, 2), ("M.APSS", |line| line.mean_set_size, false, 2)];
            for (metric, pick, more, digits) in metrics {
                let (own, base) = (of(arm, pick), of(&row.base, pick));
                let pairs: Vec<(f64, f64)> = own
                    .iter()
                    .filter_map(|(seed, value)| Some((*value, base.iter().find(|(other, _)| other == seed)?.1)))
                    .collect();
                let (own, base): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
                let against = (arm != &row.base).then_some(base.as_slice());
                let Some(measured) = measure(&own, against, more)? else { continue };
                seeds = own.len();
                cells.push(with_spread(measured.spread, seeds, digits));
                cells
                    .push(measured.difference.map_or_else(String::new, |d| with_interval(d, measured.verdict, digits)));
                report.comparisons.push(Comparison {
                    experiment: name.into(),
                    protocol: row.protocol.clone(),
                    row: format!("{} {}", row.row, row.setting.replace(',', "")),
                    arm: arm.clone(),
                    against: if arm == &row.base { String::new() } else { row.base.clone() },
                    metric: metric.into(),
                    pairs: seeds,
                    mean: measured.spread.mean,
                    deviation: measured.spread.standard_deviation,
                    difference: measured.difference,
                    verdict: measured.verdict,
                });
            }
            if cells.is_empty() {
                missing.push(format!("{arm} ({})", row.setting));
                continue;
            }
            let head =
                [row.protocol.clone(), row.row.clone(), row.setting.clone(), format!("`{arm}`"), seeds.to_string()];
            table.rows.push(head.into_iter().chain(cells).collect());
        }
    }
    if !missing.is_empty() {
        report.document.text(format!("Not run: {}.", missing.join(", ")));
    }
    for text in sentences(&report.comparisons[before..]) {
        report.document.text(text);
    }
    let mut numbers = printed()?;
    numbers.retain(|number| number.experiment == name);
    beside::write(&mut report.document, &numbers, &report.comparisons[before..], &WAYS);
    report.document.table(table);
    Ok(())
}

/// A sentence for each form of the envelope, which the names of the arms hold.
fn sentences(found: &[Comparison]) -> Vec<String> {
    let mut texts = Vec::new();
    for protocol in ["authors", "fair"] {
        for form in ["authors", "paper", "sharp", "robust"] {
            let of = |metric: &'static str| {
                let own = move |c: &&Comparison| c.protocol == protocol && c.metric == metric;
                found.iter().filter(own).filter(|c| !c.against.is_empty() && c.arm.contains(form))
            };
            let counts @ [better, worse, open] = count(of("accuracy"));
            if better + worse + open == 0 {
                continue;
            }
            let gains: Vec<String> = of("accuracy")
                .filter_map(|c| Some(format!("{} `{}` {:+.2}{}", c.row, c.arm, c.difference?.0, c.verdict.mark())))
                .collect();
            let [smaller, larger, _] = count(of("M.APSS"));
            texts.push(format!(
                "**Protocol `{protocol}`, `{form}`: that the envelope raises accuracy {}.** {better} better, \
                 {worse} worse, {open} open (one seed decides nothing); sets smaller in {smaller}, larger in {larger}. {}.",
                claim(counts),
                gains.join("; ")
            ));
        }
    }
    texts
}
