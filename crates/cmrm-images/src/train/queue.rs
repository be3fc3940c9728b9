//! Which run is next: by rank, once the run it forks from has got far enough.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard};

use cmrm_run::names::RESULT;

use crate::plan::RunSpec;

/// Name of an unfinished run's state.
pub const CHECKPOINT: &str = "checkpoint.safetensors";

/// The file in which a run leaves its state for those that fork from it.
pub fn fork_file(folder: &Path, epoch: usize) -> PathBuf {
    folder.join(format!("fork-{epoch}.safetensors"))
}

/// Runs that wait, shared by workers.
pub struct Queue {
    root: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<RunSpec>,
    running: HashSet<String>,
}

impl Queue {
    /// All runs that are not finished in the folder `root`.
    pub fn new(root: &Path, runs: Vec<RunSpec>) -> Self {
        let waiting = runs.into_iter().filter(|run| !root.join(run.folder()).join(RESULT).exists()).collect();
        let state = Mutex::new(State { waiting, running: HashSet::new() });
        Queue { root: root.to_owned(), state, changed: Condvar::new() }
    }

    /// The next run that can start; waits while only running ones can make one ready. `None` when nothing is left to
    /// wait for.
    pub fn next(&self) -> Option<RunSpec> {
        let mut state = self.lock();
        loop {
            if let Some(at) = state.waiting.iter().position(|run| self.is_ready(run)) {
                let run = state.waiting.remove(at);
                state.running.insert(run.folder());
                return Some(run);
            }
            if state.waiting.is_empty() || state.running.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// A run left a state that others may start from.
    pub fn notify(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// A run ended, finished or not.
    pub fn ended(&self, run: &RunSpec) {
        self.lock().running.remove(&run.folder());
        self.changed.notify_all();
    }

    /// Nothing new is to start.
    pub fn close(&self) -> usize {
        let left = std::mem::take(&mut self.lock().waiting).len();
        self.changed.notify_all();
        left
    }

    /// Number of runs that were not started.
    pub fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    fn is_ready(&self, run: &RunSpec) -> bool {
        let started = self.root.join(run.folder()).join(CHECKPOINT).exists();
        match (&run.fork, run.parent_folder()) {
            (Some(fork), Some(parent)) => started || fork_file(&self.root.join(parent), fork.epoch).exists(),
            _ => true,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two of its changes, so a panic elsewhere did not break it.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
