//! Nearest neighbours: no training, and a row is not its own neighbour.

use cmrm_train::Stop;
use cmrm_train::neighbours::Neighbours;
use cmrm_train::train::Examples;
use cmrm_train::vote::Member;

use super::setting::Setting;
use super::task::{Learned, Task};
use crate::error::Result;

/// Learns for all numbers of neighbours at once.
pub(super) fn learn(
    task: &Task<'_>,
    settings: &[Setting],
    weights: Option<&[f32]>,
    stop: &Stop,
) -> Result<Vec<Learned>> {
    let examples = Examples { row_weights: weights, ..task.part().examples()? };
    let count = |setting: &Setting| match setting {
        Setting::Neighbours { count } => *count,
        _ => 1,
    };
    let counts: Vec<usize> = settings.iter().map(count).collect();
    let fitted = Neighbours::fit(examples, task.classes, &counts, stop)?;
    let learned = settings.iter().zip(fitted).map(|(&setting, fitted)| Learned {
        setting,
        out_of_sample: fitted.left_out,
        copies: vec![Member::Neighbours(fitted.neighbours)],
    });
    Ok(learned.collect())
}
