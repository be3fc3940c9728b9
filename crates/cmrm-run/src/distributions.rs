//! Margins, their density with what theory says of τ, and confidences: the distributions of a report.

use cmrm::theory::{Bandwidth, MarginDensity, gap_curve, tightest_gap_bound};
use cmrm_report::{CleanCheck, Confidence, Density, Margins};

use crate::confidences::Confidences;
use crate::error::Result;
use crate::rows::TrainingRows;

const MARGIN_BINS: usize = 40;
const CONFIDENCE_BINS: usize = 20;
/// Points of the density's curve.
const POINTS: usize = 241;
/// More margins than this do not change the curve; every n-th of them in order is taken.
const DENSITY_ROWS: usize = 20_000;
/// The bound may fail with this probability.
const DELTA: f64 = 0.05;
/// How far from τ the density is looked at for the bound.
const RADIUS: f64 = 0.5;
/// Batches drawn to see how far their τ is from that of all rows.
const TRIALS: usize = 200;

/// What the distributions are of.
#[derive(Debug, Clone, Copy)]
pub struct DistributionParts<'a> {
    /// What training saw of the rows, by the arm that the report is about.
    pub rows: &'a TrainingRows,
    /// What that arm says of their labels.
    pub confidences: &'a Confidences<'a>,
    /// What the base arm says of them.
    pub base: Option<&'a Confidences<'a>>,
    /// Share of the margins below the threshold.
    pub alpha: f64,
    /// Rows of a batch; 0 for all.
    pub batch: usize,
    /// Seed of the batches that are drawn.
    pub seed: u64,
}

/// Margins, their density with what theory says of τ, and confidences.
#[derive(Debug, Clone, PartialEq)]
pub struct Distributions {
    /// Margins of the training rows.
    pub margins: Margins,
    /// Their density; nothing where all margins are equal.
    pub density: Option<Density>,
    /// Probability of the observed label, by observed class.
    pub confidence: Vec<Confidence>,
}

/// The distributions of a report.
pub fn distributions(found: &DistributionParts<'_>) -> Result<Distributions> {
    let (rows, alpha) = (found.rows, found.alpha);
    let margins = &rows.margin;
    let batch = if found.batch == 0 { margins.len() } else { found.batch.min(margins.len()) };
    let curve = gap_curve(margins, alpha, &[batch], TRIALS, found.seed)?;
    let mut density = density(margins, curve.tau, batch)?;
    if let Some(density) = &mut density {
        density.seen = curve.points.first().map(|point| (point.mean_gap, point.gap_95));
        if let Some(check) = found.confidences.check(alpha, curve.tau)? {
            density.check = Some(CleanCheck {
                wrong: check.delta_w,
                share_gap: check.share_gap,
                share_limit: check.share_limit,
                risk_gap: check.risk_gap,
                risk_limit: check.risk_limit,
            });
        }
    }
    let stretched: Vec<f32> = margins.iter().map(|margin| (margin + 1.0) / 2.0).collect();
    let all: Vec<usize> = (0..margins.len()).collect();
    let (right, are_wrong) = count(&stretched, &all, rows.wrong.as_deref(), MARGIN_BINS);
    Ok(Distributions {
        margins: Margins { right, wrong: are_wrong, tau: curve.tau },
        density,
        confidence: confidence(rows, found.confidences.of_label(), found.base.map(Confidences::of_label)),
    })
}

/// Counts of `values`, which go from 0 to 1, of the given rows: those with a right label, and those with a wrong one.
fn count(values: &[f32], rows: &[usize], wrong: Option<&[bool]>, bins: usize) -> (Vec<u32>, Option<Vec<u32>>) {
    let (mut right, mut are_wrong) = (vec![0; bins], wrong.map(|_| vec![0; bins]));
    for &row in rows {
        let bin = ((values[row] * bins as f32) as usize).min(bins - 1);
        match (&mut are_wrong, wrong) {
            (Some(counts), Some(wrong)) if wrong[row] => counts[bin] += 1,
            _ => right[bin] += 1,
        }
    }
    (right, are_wrong)
}

/// Nothing where all margins are equal, which have no density.
fn density(margins: &[f32], tau: f64, batch: usize) -> Result<Option<Density>> {
    let mut sorted = margins.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let thinned: Vec<f32> = sorted.iter().step_by(sorted.len().div_ceil(DENSITY_ROWS)).copied().collect();
    let Ok(density) = MarginDensity::new(&thinned, Bandwidth::Silverman) else { return Ok(None) };
    let bound = tightest_gap_bound(&density, tau, batch, DELTA, RADIUS)?;
    Ok(Some(Density {
        curve: density.curve(-1.0, 1.0, POINTS),
        bandwidth: density.bandwidth(),
        batch,
        delta: DELTA,
        bound: bound.bound,
        warning: bound.warning,
        seen: None,
        check: None,
    }))
}

fn confidence(rows: &TrainingRows, envelope: &[f32], base: Option<&[f32]>) -> Vec<Confidence> {
    let mut members = vec![Vec::new(); rows.classes.len()];
    for (row, &label) in rows.labels.iter().enumerate() {
        members[label as usize].push(row);
    }
    let one = |(class, members): (usize, &Vec<usize>)| {
        let (right, wrong) = count(envelope, members, rows.wrong.as_deref(), CONFIDENCE_BINS);
        let base = base.map(|base| count(base, members, None, CONFIDENCE_BINS).0);
        Confidence { class: rows.classes[class].clone(), base, right, wrong }
    };
    members.iter().enumerate().filter(|(_, members)| !members.is_empty()).map(one).collect()
}
