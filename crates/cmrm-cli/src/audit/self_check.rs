//! `--self-check`: how many planted wrong labels the run's settings find.

use std::path::Path;

use cmrm_fit::{Audited, Fit};
use cmrm_report::SelfCheck;
use cmrm_run::{Model, RunDir, RunKind};

use crate::failure::{Failure, Result};
use crate::outputs::Outputs;
use crate::progress::{Steps, watch_interrupts};
use crate::run_data;
use crate::terminal::Terminal;

/// What to check.
pub struct SelfChecking<'a> {
    pub run: &'a Path,
    /// Where the data is now.
    pub data: Option<&'a str>,
    pub cache: Option<&'a Path>,
    /// The precision that the suspects were cut for.
    pub precision: Option<f64>,
}

impl SelfChecking<'_> {
    /// Fits again and keeps what was found in the run's folder.
    pub fn run(&self, terminal: &Terminal) -> Result<SelfCheck> {
        let place = self.run.display();
        let (run, info) = RunDir::open(self.run)?;
        if info.kind == RunKind::Images {
            return Err(Failure::input(format!(
                "{place}: --self-check fits a run again, and this program does not train on images; take the features of \
                 `cmrm-images embed` and fit these"
            )));
        }
        let config = run_data::settings(&run, self.data)?;
        if !config.is_vote() {
            return Err(Failure::input(format!(
                "{place}: --self-check needs models that have not seen the rows they judge, which a run of {} does not have; fit again with \
                 --model auto, forest, boosting or kernel",
                config.model().name()
            )));
        }
        let rows = run.read_rows(&info)?;
        let Some(noise) = run.read_summary()?.noise else {
            return Err(Failure::input(format!(
                "{place}: --self-check imitates the noise in the labels, which this run could not estimate: its models tell nothing of the \
                 labels, its rows are fewer than 50, or it comes from an earlier version; fit again, with other features or more rows"
            )));
        };
        Outputs::default().reads_settings(&config, None, self.cache).run("--self-check writes to", self.run)?;
        // Held until the check is written: two at a time would do the same work.
        let run = RunDir::lock(run.path())?;
        let report = run.read_report()?;
        let model = Model::open(self.run)?;
        let transition = model.chosen().noise().map(|noise| &noise.transition);
        let audited = Audited { rows: &rows, noise, transition, precision: self.precision };
        let prepared = run_data::read(&config, &info, self.cache)?.rows;
        terminal.say(format!("{place}: fitting again with some labels flipped …"));
        watch_interrupts();
        let mut steps = Steps::new(terminal);
        let found = Fit::of(config, prepared).self_check(&audited, &mut steps);
        steps.finish();
        let check = match found {
            Err(cmrm_fit::Error::Train(cmrm_train::Error::Stopped)) => {
                return Err(Failure::interrupted("interrupted; the run is as it was"));
            }
            Err(error) => return Err(error.in_data(&place.to_string()).into()),
            Ok(check) => check,
        };
        run.write_self_check(check.clone(), report)?;
        Ok(check)
    }
}
