//! What a user sees: data on standard output, words on standard error.
//!
//! Words quote class names, cells and file names: no control character among them reaches the terminal. Data (`--json`,
//! CSV) is given exactly.

use std::io::{IsTerminal, Write};

use cmrm_data::files::text::printable;
use serde::Serialize;

use crate::failure::{Failure, Result};

/// Where and how much to say.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    json: bool,
    quiet: bool,
    /// Whether bars may be drawn.
    pub bars: bool,
}

impl Terminal {
    pub fn new(json: bool, quiet: bool) -> Self {
        Terminal { json, quiet, bars: std::io::stderr().is_terminal() && !quiet }
    }

    /// Whether the result is to be one JSON object.
    pub fn json(&self) -> bool {
        self.json
    }

    /// A line of words, unless they are unwanted.
    pub fn say(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            // A closed standard error is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{}", printable(&text.to_string()));
        }
    }

    /// The result: `object` as JSON, or `text` for people.
    pub fn result(&self, object: &impl Serialize, text: &str) -> Result<()> {
        let out = if self.json {
            serde_json::to_string(object).map_err(|e| Failure::internal(format!("result as JSON: {e}")))? + "\n"
        } else {
            return self.text(text);
        };
        self.data(out.as_bytes())
    }

    /// Words on standard output.
    pub fn text(&self, text: &str) -> Result<()> {
        self.data(printable(text).as_bytes())
    }

    /// Raw data on standard output. A reader that has gone away (`| head`) ends it quietly.
    pub fn data(&self, bytes: &[u8]) -> Result<()> {
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::input(format!("standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// An error: words, or a JSON object where JSON is wanted.
    pub fn error(&self, message: &str, code: u8) {
        if self.json {
            let object = serde_json::json!({ "schema": "cmrm/error/1", "error": message, "exit_code": code });
            let _ = self.data(format!("{object}\n").as_bytes());
        }
        let _ = writeln!(std::io::stderr(), "error: {}", printable(message));
    }
}
