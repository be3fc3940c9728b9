//! Progress of a training: a live view on a terminal, a few lines otherwise, and checkpoints.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cmrm_train::train::{EpochStats, Observer, Trainer};
use cmrm_train::{Checkpoint, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::live_view;
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

/// Ends a training when Ctrl-C is pressed, and does nothing else.
pub struct Stoppable;

impl Observer<f32> for Stoppable {
    fn epoch(&mut self, _: &Trainer<'_, f32>, _: &[EpochStats]) -> Result<ControlFlow<()>> {
        Ok(if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
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
        if let Ok(style) = ProgressStyle::with_template("  epoch {pos}/{len}  {bar:32}  {eta} left\n{msg}") {
            bar.set_style(style);
        }
        Watch { bar, terminal: *terminal, epochs, checkpoint, saved: Instant::now() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer<f32> for Watch {
    fn epoch(&mut self, trainer: &Trainer<'_, f32>, stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        let done = trainer.epochs_done();
        self.bar.set_position(done as u64);
        if self.terminal.bars {
            self.bar.set_message(live_view::table(stats, trainer.history()));
        }
        // Ten lines a training are enough to follow it in a log.
        if !self.terminal.bars && (done.is_multiple_of(self.epochs.div_ceil(10)) || trainer.has_ended()) {
            self.terminal.say(format!("epoch {done}/{}  {}", self.epochs, live_view::line(stats)));
        }
        let stop = interrupted();
        if stop || self.saved.elapsed() > CHECKPOINT_EVERY {
            Checkpoint::of(trainer).write(&self.checkpoint)?;
            self.saved = Instant::now();
        }
        Ok(if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
