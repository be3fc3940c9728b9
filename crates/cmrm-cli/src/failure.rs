//! How a verb ends that cannot go on.

use std::fmt::Display;
use std::process::ExitCode;

use crate::terminal::Terminal;

/// Exit code for findings, as of `audit --fail-above`.
pub const FINDINGS: u8 = 1;
const BAD_INPUT: u8 = 2;
/// Exit code for a bug of ours, as of a panic.
const BUG: u8 = 101;
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

    /// What no input can cause.
    pub fn internal(message: impl Display) -> Self {
        Failure { code: BUG, message: format!("a bug in cmrm, please report it: {message}") }
    }

    /// The user stopped it.
    pub fn interrupted(message: impl Display) -> Self {
        Failure { code: INTERRUPTED, message: message.to_string() }
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
                let code = if error.is_internal() { BUG } else { BAD_INPUT };
                Failure { code, message: error.to_string() }
            }
        })*
    };
}

from_error!(cmrm_train::Error, cmrm_run::Error, cmrm_fit::Error, cmrm_data::Error, cmrm_datasets::Error);

impl From<cmrm::Error> for Failure {
    fn from(error: cmrm::Error) -> Self {
        Failure::input(error)
    }
}

/// Names the file in an error about what it holds.
pub fn in_stored(path: &std::path::Path, error: cmrm_train::Error) -> Failure {
    Failure::input(format!("{}: {error}", path.display()))
}

/// A file or folder that cannot be written, and what to do where there is advice to give.
pub fn in_file(path: &std::path::Path, error: std::io::Error) -> Failure {
    cmrm_run::Error::writing(path, &error).into()
}

/// The same for a file that cannot be read.
pub fn in_read_file(path: &std::path::Path, error: &std::io::Error) -> Failure {
    cmrm_run::Error::reading(path, error).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_has_an_exit_code_of_its_own() {
        let nested = cmrm_fit::Error::Run(cmrm_run::Error::Internal("x".into()));
        for bug in [Failure::internal("x"), nested.into(), cmrm_train::Error::Internal("x".into()).into()] {
            assert_eq!((bug.code, bug.message.as_str()), (101, "a bug in cmrm, please report it: x"));
        }
        assert_eq!(Failure::from(cmrm_fit::Error::Refused("x".into())).code, 2);
    }
}
