//! Progress of a training: a bar on a terminal, a line an epoch otherwise, and a checkpoint after every epoch.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cmrm_train::train::{EpochStats, Observer, Trainer};
use cmrm_train::{Checkpoint, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::Terminal;

/// Set by Ctrl-C; a second Ctrl-C ends the process at once.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Seconds between checkpoints of a training with quick epochs.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);

/// Makes Ctrl-C ask for a stop after the epoch under way.
pub fn watch_interrupts() {
    // A handler that cannot be set (there is one already) leaves the system's own.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Draws, and saves.
pub struct Watch {
    bar: ProgressBar,
    terminal: Terminal,
    epochs: usize,
    checkpoint: PathBuf,
    saved: Instant,
}

impl Watch {
    pub fn new(terminal: &Terminal, epochs: usize, checkpoint: PathBuf) -> Self {
        let target = if terminal.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(epochs as u64), target);
        // A template of our own that does not parse would be a bug; the plain bar is good enough then.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} epoch {pos}/{len}  {msg}  {eta} left") {
            bar.set_style(style);
        }
        Watch { bar, terminal: *terminal, epochs, checkpoint, saved: Instant::now() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn describe(stats: &[EpochStats]) -> String {
        let arms = stats.iter().map(|s| {
            let validation = s.validation_accuracy.map(|a| format!(", observed validation {:.3}", a)).unwrap_or_default();
            let filtered = if s.envelope_on { format!(", filtered {:.0} %", 100.0 * s.filtered) } else { String::new() };
            format!("{}: loss {:.4}{validation}{filtered}", s.arm, s.base)
        });
        arms.collect::<Vec<_>>().join("  |  ")
    }
}

impl Observer<f32> for Watch {
    fn epoch(&mut self, trainer: &Trainer<'_, f32>, stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        let done = trainer.epochs_done();
        let words = Watch::describe(stats);
        self.bar.set_position(done as u64);
        self.bar.set_message(words.clone());
        // Ten lines a training are enough to follow it in a log.
        if !self.terminal.bars && (done.is_multiple_of(self.epochs.div_ceil(10)) || done == self.epochs) {
            self.terminal.say(format!("epoch {done}/{}  {words}", self.epochs));
        }
        let stop = interrupted();
        if stop || self.saved.elapsed() > CHECKPOINT_EVERY {
            Checkpoint::of(trainer).write(&self.checkpoint)?;
            self.saved = Instant::now();
        }
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
