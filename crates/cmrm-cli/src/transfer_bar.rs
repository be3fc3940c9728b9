//! Progress of a download: a bar on a terminal, lines otherwise.

use std::time::{Duration, Instant};

use cmrm_datasets::Progress;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::interrupted;
use crate::terminal::Terminal;

/// Pause between two lines about one file in a log.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Draws a bar a file, or says a line now and then.
pub struct TransferBar {
    terminal: Terminal,
    bar: ProgressBar,
    file: String,
    have: u64,
    total: Option<u64>,
    said: Instant,
}

impl TransferBar {
    pub fn new(terminal: &Terminal) -> Self {
        let (bar, said) = (ProgressBar::hidden(), Instant::now());
        TransferBar { terminal: *terminal, bar, file: String::new(), have: 0, total: None, said }
    }

    fn line(&self) -> String {
        let of = self.total.map(|total| format!(" of {}", HumanBytes(total))).unwrap_or_default();
        format!("{}: {}{of}", self.file, HumanBytes(self.have))
    }
}

impl Progress for TransferBar {
    fn begin(&mut self, file: &str, have: u64, total: Option<u64>) {
        self.bar.finish_and_clear();
        (self.file, self.have, self.total, self.said) = (file.to_owned(), have, total, Instant::now());
        if !self.terminal.bars {
            self.terminal.say(self.line());
            return;
        }
        self.bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        let template = match total {
            Some(_) => "{bar:24} {msg}  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left",
            None => "{msg}  {bytes}  {bytes_per_sec}",
        };
        // A template of our own that does not parse would be a bug; the plain bar is good enough then.
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.set_message(file.to_owned());
        self.bar.set_position(have);
    }

    fn advance(&mut self, bytes: u64) {
        self.have = self.have.saturating_add(bytes);
        self.bar.inc(bytes);
        if !self.terminal.bars && self.said.elapsed() > LINE_EVERY {
            self.terminal.say(self.line());
            self.said = Instant::now();
        }
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
        self.terminal.say(format!("{}: {} downloaded, checking", self.file, HumanBytes(self.have)));
    }

    fn warn(&mut self, message: &str) {
        self.bar.suspend(|| self.terminal.say(format!("warning: {message}")));
    }

    fn cancelled(&self) -> bool {
        interrupted()
    }
}
