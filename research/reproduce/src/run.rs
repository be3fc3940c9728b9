//! Trains the cells that are missing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cmrm_datasets::Cache;

use crate::cell::Store;
use crate::error::Result;
use crate::experiment::Experiment;
use crate::plan::{Options, Places, figures, groups, probes};
use crate::queue::{Event, Outcome, Queue};

/// Trains what is missing of `experiments` on `threads` cores, for at most `time`, and writes it into `out`. Files of
/// features are looked for in the folder of the cache.
pub fn run(
    experiments: &[Experiment],
    options: &Options,
    cache: &Cache,
    out: &Path,
    threads: usize,
    time: Option<Duration>,
    watch: &(dyn Fn(Event) + Sync),
) -> Result<Outcome> {
    let store = Store::open(out)?;
    let places = Places { cache, folder: cache.root() };
    let mut tasks = Vec::new();
    let mut cost = 0.0;
    for group in probes(experiments, options, &places, &store)?.into_iter().map(Arc::new) {
        if group.is_missing() {
            cost += group.cost();
            tasks.push(group.task());
        }
    }
    for group in groups(experiments, options, &places, &store)?.into_iter().map(Arc::new) {
        if !group.missing().is_empty() {
            cost += group.cost();
            tasks.push(group.task());
        }
    }
    for group in figures(experiments, options, &places, &store)? {
        if group.is_missing() {
            cost += group.cost();
            tasks.push(group.task());
        }
    }
    Queue::new(tasks, cost, time, watch).run(threads)
}
