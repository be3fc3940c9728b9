//! Kernel machines: one training, whose left-out predictions need no folds.

use cmrm::Matrix;
use cmrm::rng::Rng;
use cmrm_train::Stop;
use cmrm_train::kernel::KernelConfig;
use cmrm_train::train::Examples;
use cmrm_train::vote::{Member, choose};

use super::setting::Setting;
use super::task::{Learned, Task, at};
use crate::error::Result;

/// Most rows that others are compared with.
pub(super) const LANDMARKS: usize = 1000;
/// Most rows to choose the width and the ridge by; with more rows, only the best of them is trained on all.
pub(super) const MOST_ROWS: usize = 10_000;
/// Stream of the generator that these rows are drawn from.
const ROWS_STREAM: u64 = 0x5e1f;

/// Trains them.
pub(super) fn learn(
    task: &Task<'_>,
    settings: &[Setting],
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    let examples = Examples { row_weights: weights, ..task.part().examples()? };
    if settings.len() > 1 && examples.rows() > MOST_ROWS {
        let best = best_on_some(task, settings, weights, stop)?;
        return train(task, examples, &[best], stop);
    }
    train(task, examples, settings, stop)
}

fn train(task: &Task<'_>, examples: Examples<'_, f32>, settings: &[Setting], stop: &Stop) -> Result<Vec<Learned>> {
    let mut learned = Vec::with_capacity(settings.len());
    let mut left = settings;
    // Machines of one width share the kernel.
    while let Some(&Setting::Kernel { gamma: first, .. }) = left.first() {
        let ridge = |setting: &Setting| match setting {
            Setting::Kernel { gamma, ridge } if *gamma == first => Some(*ridge),
            _ => None,
        };
        let ridges: Vec<f64> = left.iter().map_while(ridge).collect();
        left = &left[ridges.len()..];
        let config = KernelConfig { gammas: vec![first], ridges, landmarks: LANDMARKS, seed: task.config.seed };
        for fitted in config.fit(examples, task.classes, stop)? {
            let setting = Setting::Kernel { gamma: first, ridge: fitted.grid.ridge };
            let copies = vec![Member::Kernel(fitted.machine)];
            learned.push(Learned { setting, out_of_sample: fitted.left_out, copies });
        }
    }
    Ok(learned)
}

/// The setting that some of the rows, left out one at a time, prefer.
fn best_on_some(task: &Task<'_>, settings: &[Setting], weights: Option<&[f32]>, stop: &Stop) -> Result<Setting> {
    let data = &task.part().data;
    let mut rows = Rng::new(task.config.seed, ROWS_STREAM).choose(data.len(), MOST_ROWS);
    rows.sort_unstable();
    let (some, weights) = (data.gather(&rows)?, at(weights, &rows));
    let x = Matrix::new(&some.features, data.width())?;
    let examples = Examples { row_weights: weights.as_deref(), ..Examples::new(x, &some.labels) };
    let learned = train(task, examples, settings, stop)?;
    let candidates: Vec<&[f32]> = learned.iter().map(|one| one.out_of_sample.as_slice()).collect();
    let chosen = choose(&candidates, &some.labels, weights.as_deref(), task.classes, 1);
    Ok(chosen.votes.first().map_or(settings[0], |&(place, _)| learned[place].setting))
}
