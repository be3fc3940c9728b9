//! The penalty of a linear model, decided before anything is trained.

use cmrm_fit::{FitConfig, with_penalty};
use cmrm_train::train::Examples;

use crate::failure::{Failure, Result};
use crate::progress::{Stoppable, interrupted, watch_interrupts};
use crate::terminal::Terminal;

/// The settings with a penalty, which the rows decide where none is given.
pub fn decide(config: &FitConfig, rows: Examples<'_, f32>, classes: usize, terminal: &Terminal) -> Result<FitConfig> {
    if config.l2().is_some() {
        return Ok(config.clone());
    }
    watch_interrupts();
    let decided = with_penalty(config, rows, classes, &mut Stoppable)?;
    if interrupted() {
        return Err(Failure::interrupted("interrupted while choosing the penalty; nothing was trained"));
    }
    if let Some(l2) = decided.l2 {
        terminal.say(format!("penalty chosen by observed labels of rows held back: l2 = {l2}"));
    }
    Ok(decided)
}
