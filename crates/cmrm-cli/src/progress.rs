//! Progress of a training: a live view on a terminal, a few lines otherwise, and checkpoints.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use cmrm_fit::{Fit, Progress};
use cmrm_run::write_file;
use cmrm_train::train::{EpochStats, Observer, Trainer};
use cmrm_train::{Checkpoint, Error, Result, Stop};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::{Failure, Result as Done};
use crate::live_view;
use crate::terminal::Terminal;

/// Asked by Ctrl-C; a second Ctrl-C ends the process at once.
static INTERRUPTED: LazyLock<Stop> = LazyLock::new(Stop::default);

/// Seconds between checkpoints of a training with quick epochs, and how many times as long as the last one took: a large model is
/// saved less often, so that saving takes a twentieth of the time.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);
const CHECKPOINT_SHARE: u32 = 20;

/// Makes Ctrl-C ask for a stop, soon and in good order.
pub fn watch_interrupts() {
    // A handler that cannot be set (there is one already) leaves the system's own.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.request() {
            std::process::exit(130);
        }
    });
}

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.is_requested()
}

/// What Ctrl-C asks, for whoever computes.
pub fn stop_at_interrupt() -> Stop {
    INTERRUPTED.clone()
}

/// Finds the transition matrix where one is needed: `wanted` says so, or else the configured method does.
pub fn decide_transition(fit: &mut Fit, wanted: bool, terminal: &Terminal) -> Done<()> {
    let estimates = fit.config().transition.is_none() && (wanted || fit.config().loss.needs_transition());
    if estimates {
        terminal.say("estimating the transition matrix from the labels …");
    }
    watch_interrupts();
    let mut steps = Steps::new(terminal);
    let found = if wanted { fit.estimate_transition(&mut steps) } else { fit.decide_transition(&mut steps) };
    steps.finish();
    if interrupted() {
        return Err(Failure::interrupted("interrupted while estimating the transition matrix; nothing was trained"));
    }
    Ok(found?)
}

/// Lets the rows decide the penalty of a linear model where none is given, before anything is trained.
pub fn decide_penalty(fit: &mut Fit, terminal: &Terminal) -> Done<()> {
    if fit.config().l2().is_some() {
        return Ok(());
    }
    watch_interrupts();
    fit.decide_penalty(&stop_at_interrupt())?;
    if interrupted() {
        return Err(Failure::interrupted("interrupted while choosing the penalty; nothing was trained"));
    }
    if let Some(l2) = fit.config().l2 {
        terminal.say(format!("penalty chosen by cross-validation on observed labels: l2 = {l2}"));
    }
    Ok(())
}

/// Draws, and saves.
pub struct Watch {
    bar: ProgressBar,
    terminal: Terminal,
    epochs: usize,
    checkpoint: PathBuf,
    saved: Instant,
    /// How long the last checkpoint took.
    saving: Duration,
}

impl Watch {
    pub fn new(terminal: &Terminal, epochs: usize, checkpoint: PathBuf) -> Self {
        let target = if terminal.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(epochs as u64), target);
        // A template of our own that does not parse would be a bug; the plain bar is good enough then.
        if let Ok(style) = ProgressStyle::with_template("  epoch {pos}/{len}  {bar:32}  {eta} left\n{msg}") {
            bar.set_style(style);
        }
        Watch { bar, terminal: *terminal, epochs, checkpoint, saved: Instant::now(), saving: Duration::ZERO }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the steps of a vote: a bar on a terminal, nothing otherwise.
pub struct Steps(ProgressBar);

impl Steps {
    pub fn new(terminal: &Terminal) -> Self {
        let target = if terminal.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        // As for the epochs.
        if let Ok(style) = ProgressStyle::with_template("  step {pos}/{len}  {bar:32}  {eta} left  {msg}") {
            bar.set_style(style);
        }
        Steps(bar)
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Steps {
    fn step(&mut self, done: usize, of: usize, what: &str) {
        self.0.set_length(of as u64);
        self.0.set_position(done as u64);
        self.0.set_message(what.to_owned());
    }

    fn stop(&self) -> Stop {
        stop_at_interrupt()
    }
}

impl Observer<f32> for Watch {
    fn stop(&self) -> Option<Stop> {
        Some(stop_at_interrupt())
    }

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
        // The end is kept too: whoever is killed while the results are written need not train again.
        if trainer.has_ended() || self.saved.elapsed() > CHECKPOINT_EVERY.max(CHECKPOINT_SHARE * self.saving) {
            let begun = Instant::now();
            let saved = Checkpoint::of(trainer).to_bytes()?;
            write_file(&self.checkpoint, &saved).map_err(|error| Error::Observer(error.to_string().into()))?;
            (self.saved, self.saving) = (Instant::now(), begun.elapsed());
        }
        Ok(ControlFlow::Continue(()))
    }
}
