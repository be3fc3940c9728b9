//! The search for settings, by observed labels.

use cmrm::criterion::Criterion;
use cmrm_train::tune::{self, Choice, Progress, SearchConfig, Searched, Setting, Trial};

use crate::error::{Error, Result};
use crate::part::Part;
use crate::space::Candidate;

/// Runs the folds of a search that `done` does not hold; every training weighs the rows as a fit would.
pub fn search(
    config: &SearchConfig,
    candidates: &[Candidate],
    rows: &Part,
    done: Vec<Trial>,
    progress: &mut dyn Progress,
) -> Result<Searched> {
    let classes = rows.data.classes.len();
    Ok(tune::search(config, &settings(candidates), rows.examples()?, classes, done, progress)?)
}

/// What a search has tried.
pub fn settings(candidates: &[Candidate]) -> Vec<Setting> {
    candidates.iter().map(|candidate| candidate.setting.clone()).collect()
}

/// The candidate that a criterion chooses, and why.
pub fn choose<'a>(
    candidates: &'a [Candidate],
    trials: &[Trial],
    criterion: Criterion,
) -> Result<(&'a Candidate, Choice)> {
    let choice = tune::choose(&settings(candidates), trials, criterion).ok_or_else(|| {
        let first = trials.iter().find_map(|trial| trial.failure.clone()).unwrap_or_default();
        Error::refused(format!("no setting could be scored by {}; {first}", criterion.name()))
    })?;
    let chosen = candidates.iter().find(|candidate| candidate.setting.name == choice.setting);
    let chosen = chosen.ok_or_else(|| Error::Internal("the chosen setting is not among those tried".into()))?;
    Ok((chosen, choice))
}
