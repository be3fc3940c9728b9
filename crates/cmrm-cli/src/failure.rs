//! How a verb ends that cannot go on.

use std::fmt::Display;
use std::process::ExitCode;

use crate::terminal::Terminal;

/// Exit code for findings, as of `audit --fail-above`.
pub const FINDINGS: u8 = 1;
const BAD_INPUT: u8 = 2;
/// Exit code of a verb that the user stopped.
pub const INTERRUPTED: u8 = 130;

/// Why a verb ended, in words for the user, and the exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

/// Shorthand for the result of a verb's parts.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Bad input or usage.
    pub fn input(message: impl Display) -> Self {
        Failure { code: BAD_INPUT, message: message.to_string() }
    }

    /// The user stopped it.
    pub fn interrupted(message: impl Display) -> Self {
        Failure { code: INTERRUPTED, message: message.to_string() }
    }

    /// Names the data that it is about.
    pub fn in_data(self, source: &str) -> Self {
        Failure { message: format!("{source}: {}", self.message), ..self }
    }

    /// Says it and gives the exit code.
    pub fn report(&self, terminal: &Terminal) -> ExitCode {
        terminal.error(&self.message, self.code);
        ExitCode::from(self.code)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

macro_rules! from_error {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::input(error)
            }
        })*
    };
}

from_error!(cmrm::Error, cmrm_train::Error, cmrm_run::Error, cmrm_fit::Error, cmrm_data::Error, cmrm_datasets::Error);

/// Names the file in an error about what it holds.
pub fn in_stored(path: &std::path::Path, error: cmrm_train::Error) -> Failure {
    Failure::input(format!("{}: {error}", path.display()))
}

/// A file or folder that cannot be written, and what to do where there is advice to give.
pub fn in_file(path: &std::path::Path, error: std::io::Error) -> Failure {
    with_advice(path, &error, cmrm_files::way_out_of_writing(error.kind()))
}

/// The same for a file that cannot be read.
pub fn in_read_file(path: &std::path::Path, error: std::io::Error) -> Failure {
    with_advice(path, &error, cmrm_files::way_out_of_reading(error.kind()))
}

fn with_advice(path: &std::path::Path, error: &std::io::Error, advice: &str) -> Failure {
    let separator = if advice.is_empty() { "" } else { "; " };
    Failure::input(format!("{}: {error}{separator}{advice}", path.display()))
}
