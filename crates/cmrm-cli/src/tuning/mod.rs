//! The search for settings: what is tried, the search itself, and what it found.

mod found;
mod space;
mod watch;

pub use found::Found;
pub use space::{Candidate, Space, auto_candidates};

use cmrm_data::Dataset;
use cmrm_train::train::Examples;
use cmrm_train::tune::{SearchConfig, Searched, Setting, Trial, search};

use crate::failure::Result;
use crate::terminal::Terminal;
use crate::verbs::fit::Prepared;
use watch::SearchWatch;

/// The rows a search may see: those to train on and to validate, with observed labels. Test rows are not among them.
pub fn rows_to_search(prepared: &Prepared) -> Result<Dataset> {
    let mut rows: Vec<usize> = prepared.split.train.iter().chain(&prepared.split.validation).copied().collect();
    rows.sort_unstable();
    Ok(prepared.data.gather(&rows)?)
}

/// Runs the search; `save` is handed all trials after every fold.
pub fn run_search(
    config: &SearchConfig,
    candidates: &[Candidate],
    data: &Dataset,
    done: Vec<Trial>,
    terminal: &Terminal,
    save: &mut dyn FnMut(&[Trial]) -> Result<()>,
) -> Result<Searched> {
    let settings: Vec<Setting> = candidates.iter().map(|candidate| candidate.setting.clone()).collect();
    let examples = Examples::new(data.matrix()?, &data.labels);
    let mut watch = SearchWatch::new(terminal, config, &settings, save);
    let searched = search(config, &settings, examples, data.classes.len(), done, &mut watch);
    watch.finish()?;
    Ok(searched?)
}
