//! The search for settings: what is tried, the search itself, and what it found.

mod args;
mod found;
mod watch;

pub use args::SpaceArgs;
pub use found::Found;

use cmrm_data::Dataset;
use cmrm_fit::Candidate;
use cmrm_train::train::Examples;
use cmrm_train::tune::{SearchConfig, Searched, Setting, Trial, search};

use crate::failure::Result;
use crate::terminal::Terminal;
use watch::SearchWatch;

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
