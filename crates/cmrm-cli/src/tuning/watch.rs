//! Progress of a search: a bar with the best so far, or a line a fold.

use std::ops::ControlFlow;

use cmrm_train::tune::{Progress, SearchConfig, Setting, Standing, Trial};
use cmrm_train::{Result as TrainResult, Stop};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::{Failure, Result};
use crate::progress::stop_at_interrupt;
use crate::terminal::Terminal;

pub struct SearchWatch<'a> {
    bar: ProgressBar,
    terminal: Terminal,
    config: &'a SearchConfig,
    settings: &'a [Setting],
    save: &'a mut dyn FnMut(&[Trial]) -> Result<()>,
    failure: Option<Failure>,
}

impl<'a> SearchWatch<'a> {
    pub fn new(
        terminal: &Terminal,
        config: &'a SearchConfig,
        settings: &'a [Setting],
        save: &'a mut dyn FnMut(&[Trial]) -> Result<()>,
    ) -> Self {
        let target = if terminal.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        // A template of our own that does not parse would be a bug; the plain bar is good enough then.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {prefix}, epoch {pos}/{len}  {msg}") {
            bar.set_style(style);
        }
        SearchWatch { bar, terminal: *terminal, config, settings, save, failure: None }
    }

    /// Takes the bar away, and gives the error that saving met.
    pub fn finish(self) -> Result<()> {
        self.bar.finish_and_clear();
        self.failure.map_or(Ok(()), Err)
    }
}

impl Progress for SearchWatch<'_> {
    fn stop(&self) -> Option<Stop> {
        Some(stop_at_interrupt())
    }

    fn training(&mut self, fold: usize, settings: usize) {
        self.bar.set_prefix(format!("fold {}/{}, {settings} settings side by side", fold + 1, self.config.folds));
    }

    fn epoch(&mut self, done: usize, of: usize) -> ControlFlow<()> {
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
        if self.failure.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn fold(&mut self, fold: usize, trials: &[Trial], standings: &[Standing]) -> TrainResult<()> {
        if let Err(failure) = (self.save)(trials) {
            self.failure.get_or_insert(failure);
        }
        let criterion = self.config.criterion;
        let score = |s: &Standing| s.verdict.and_then(|verdict| verdict.by(criterion)).unwrap_or(f64::MIN);
        let in_fold = standings.iter().filter(|standing| standing.folds == fold + 1);
        let Some(best) = in_fold.clone().max_by(|a, b| score(a).total_cmp(&score(b))) else { return Ok(()) };
        let words = format!("best by {}: {:.4}, {}", criterion.name(), score(best), best.setting);
        self.bar.set_message(words.clone());
        if !self.terminal.bars {
            let (count, all) = (in_fold.count(), self.settings.len());
            self.terminal.say(format!("fold {}/{}, {count} of {all} settings; {words}", fold + 1, self.config.folds));
        }
        Ok(())
    }
}
