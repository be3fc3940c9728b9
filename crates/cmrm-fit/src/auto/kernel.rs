//! Kernel machines: one training, whose left-out predictions need no folds.

use cmrm::OwnedRows;
use cmrm::rng::Rng;
use cmrm_train::Stop;
use cmrm_train::kernel::KernelConfig;
use cmrm_train::train::Examples;
use cmrm_train::vote::{Member, brier_score};

use super::scaling::Scaling;
use super::setting::{RIDGES, Setting};
use super::task::{Learned, Task, at};
use crate::error::Result;

/// Most rows that others are compared with; of sparse rows fewer, since most of them have hardly a word in common.
pub(super) const LANDMARKS: usize = 1000;
const LANDMARKS_OF_SPARSE: usize = 600;
/// Most rows to choose the ridge by; with more rows, only the best machine is trained on all.
const MOST_ROWS: usize = 10_000;
/// How many widths are trained on all rows, of sparse ones and of others, and how many rows choose them.
const WIDTHS: usize = 2;
const WIDTHS_OF_SPARSE: usize = 1;
const ROWS_FOR_WIDTHS: usize = 2000;
const LANDMARKS_FOR_WIDTHS: usize = 300;
/// Stream of the generator that rows to choose by are drawn from.
const ROWS_STREAM: u64 = 0x5e1f;

/// Trains those that are worth it.
pub(super) fn learn(
    task: &Task<'_>,
    settings: &[Setting],
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    let mut settings = settings.to_vec();
    let sparse = matches!(task.part().data.features, OwnedRows::Sparse(_));
    let (most, landmarks) = if sparse { (WIDTHS_OF_SPARSE, LANDMARKS_OF_SPARSE) } else { (WIDTHS, LANDMARKS) };
    if of_one_width(&settings).count() > most {
        let scores = judge(task, &settings, ROWS_FOR_WIDTHS, LANDMARKS_FOR_WIDTHS, weights, stop)?;
        let scored: Vec<(Setting, f64)> = settings.iter().copied().zip(scores).collect();
        let mut widths: Vec<&[(Setting, f64)]> = scored.chunk_by(|a, b| width(a.0) == width(b.0)).collect();
        let best = |same: &[(Setting, f64)]| same.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
        widths.sort_by(|a, b| best(a).total_cmp(&best(b)));
        settings = widths.into_iter().take(most).flatten().map(|one| one.0).collect();
    }
    if settings.len() > 1 && task.part().data.len() > MOST_ROWS {
        let scores = judge(task, &settings, MOST_ROWS, landmarks, weights, stop)?;
        let best = (0..scores.len()).min_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        settings = best.map(|best| settings[best]).into_iter().collect();
    }
    let mut learned = Vec::with_capacity(settings.len());
    for same in of_one_width(&settings) {
        learned.extend(train(task, task.examples(same[0].scaling(), weights)?, same, landmarks, stop)?);
    }
    Ok(learned)
}

/// How many of so many machines are trained on so many rows.
pub(super) fn kept(machines: usize, rows: usize) -> usize {
    if rows > MOST_ROWS { machines.min(1) } else { machines.min(WIDTHS * RIDGES.len()) }
}

/// What tells kernels apart.
fn width(setting: Setting) -> (Scaling, f64) {
    match setting {
        Setting::Kernel { scaling, gamma, .. } => (scaling, gamma),
        other => (other.scaling(), 1.0),
    }
}

/// Machines of one width share the kernel.
fn of_one_width(settings: &[Setting]) -> impl Iterator<Item = &[Setting]> {
    settings.chunk_by(|&a, &b| width(a) == width(b))
}

/// Trains machines of one width.
fn train(
    task: &Task<'_>,
    examples: Examples<'_, f32>,
    settings: &[Setting],
    landmarks: usize,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    let ridge = |setting: &Setting| match setting {
        Setting::Kernel { ridge, .. } => *ridge,
        _ => 1.0,
    };
    let (_, gamma) = width(settings[0]);
    let ridges = settings.iter().map(ridge).collect();
    let config = KernelConfig { gammas: vec![gamma], ridges, landmarks, seed: task.config.seed };
    let fitted = config.fit(examples, task.classes, stop)?;
    let learned = settings
        .iter()
        .zip(fitted)
        .map(|(&setting, fitted)| Learned::new(setting, fitted.left_out, vec![Member::Kernel(fitted.machine)]));
    Ok(learned.collect())
}

/// The Brier score of each machine by the observed labels of some rows, left out one at a time.
fn judge(
    task: &Task<'_>,
    settings: &[Setting],
    most_rows: usize,
    landmarks: usize,
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<f64>> {
    let data = &task.part().data;
    let mut rows = Rng::new(task.config.seed, ROWS_STREAM).choose(data.len(), most_rows.min(data.len()));
    rows.sort_unstable();
    let labels: Vec<u32> = rows.iter().map(|&row| data.labels[row]).collect();
    let weights = at(weights, &rows);
    let mut scores = Vec::with_capacity(settings.len());
    for same in of_one_width(settings) {
        let all = task.examples(same[0].scaling(), None)?;
        let some = all.x.gather(&rows);
        let examples = Examples { row_weights: weights.as_deref(), ..Examples::new(some.view()?, &labels) };
        for mut learned in train(task, examples, same, landmarks, stop)? {
            learned.calibrate(&labels, weights.as_deref(), task.classes);
            scores.push(brier_score(&learned.out_of_sample, &labels, weights.as_deref(), task.classes));
        }
    }
    Ok(scores)
}
