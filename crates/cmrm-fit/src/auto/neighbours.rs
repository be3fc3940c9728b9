//! Nearest neighbours: no training, and a row is not its own neighbour.

use cmrm_train::Stop;
use cmrm_train::neighbours::Neighbours;
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
    let count = |setting: &Setting| match setting {
        Setting::Neighbours { count, .. } => *count,
        _ => 1,
    };
    let mut learned = Vec::with_capacity(settings.len());
    for same in settings.chunk_by(|a, b| a.scaling() == b.scaling()) {
        let counts: Vec<usize> = same.iter().map(count).collect();
        let fitted = Neighbours::fit(task.examples(same[0].scaling(), weights)?, task.classes, &counts, stop)?;
        learned.extend(same.iter().zip(fitted).map(|(&setting, fitted)| {
            Learned::new(setting, fitted.left_out, vec![Member::Neighbours(fitted.neighbours)])
        }));
    }
    Ok(learned)
}
