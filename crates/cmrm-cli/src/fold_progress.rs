//! Progress of a cross-fitting: one bar over the epochs of all folds, or one line for each fold.

use std::ops::ControlFlow;

use cmrm_fit::FoldObserver;
use cmrm_train::Result;
use cmrm_train::train::{EpochStats, Observer, Trainer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::Terminal;

/// Shared by the folds, which run side by side.
pub struct FoldProgress {
    bar: ProgressBar,
    terminal: Terminal,
    folds: usize,
}

impl FoldProgress {
    pub fn new(terminal: &Terminal, folds: usize, epochs: usize) -> Self {
        let target = if terminal.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some((folds * epochs) as u64), target);
        // A template of our own that does not parse would be a bug; the plain bar is good enough then.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} epoch {pos}/{len} of all folds  {eta} left") {
            bar.set_style(style);
        }
        FoldProgress { bar, terminal: *terminal, folds }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl FoldObserver for FoldProgress {
    fn training(&self) -> Box<dyn Observer<f32> + '_> {
        Box::new(EpochTick(&self.bar))
    }

    fn fold(&self, fold: usize) {
        if !self.terminal.bars {
            self.terminal.say(format!("fold {}/{} done", fold + 1, self.folds));
        }
    }
}

/// Moves the bar on by one epoch.
struct EpochTick<'a>(&'a ProgressBar);

impl Observer<f32> for EpochTick<'_> {
    fn epoch(&mut self, _trainer: &Trainer<'_, f32>, _stats: &[EpochStats]) -> Result<ControlFlow<()>> {
        self.0.inc(1);
        Ok(ControlFlow::Continue(()))
    }
}
