//! The search for settings: what is tried, the search itself, and what it found.

mod args;
mod found;
mod watch;

pub use args::SpaceArgs;
pub use found::Found;

use cmrm_fit::{Candidate, Part, search, settings};
use cmrm_train::tune::{SearchConfig, Searched, Trial};

use crate::failure::Result;
use crate::terminal::Terminal;
use watch::SearchWatch;

/// Runs the search; `save` is handed all trials after every fold.
pub fn run_search(
    config: &SearchConfig,
    candidates: &[Candidate],
    rows: &Part,
    done: Vec<Trial>,
    terminal: &Terminal,
    save: &mut dyn FnMut(&[Trial]) -> Result<()>,
) -> Result<Searched> {
    let settings = settings(candidates);
    let mut watch = SearchWatch::new(terminal, config, &settings, save);
    let searched = search(config, candidates, rows, done, &mut watch);
    watch.finish()?;
    Ok(searched?)
}
