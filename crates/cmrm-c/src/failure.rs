//! Failures as C hears of them: a code, and a sentence that the thread keeps.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// All went well.
pub const OK: c_int = 0;
/// Input that cannot be used.
pub const BAD_INPUT: c_int = 2;
/// A bug of ours, as of a panic.
pub const BUG: c_int = 101;

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    code: c_int,
    words: String,
}

/// Result of a call.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Input that cannot be used.
    pub fn input(words: impl Display) -> Self {
        Failure { code: BAD_INPUT, words: words.to_string() }
    }
}

impl From<cmrm_run::Error> for Failure {
    fn from(error: cmrm_run::Error) -> Self {
        Failure { code: if error.is_internal() { BUG } else { BAD_INPUT }, words: error.to_string() }
    }
}

impl From<cmrm_data::Error> for Failure {
    fn from(error: cmrm_data::Error) -> Self {
        cmrm_run::Error::from(error).into()
    }
}

impl From<cmrm::Error> for Failure {
    fn from(error: cmrm::Error) -> Self {
        Failure::input(error)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The words of this thread's last failure; they stay where they are until it fails again.
pub fn last(show: impl FnOnce(&CStr)) {
    LAST.with_borrow(|words| show(words));
}

/// Does the work, and keeps the words where it fails. A panic ends here: C could not be unwound.
pub fn guarded<T>(work: impl FnOnce() -> Result<T>) -> std::result::Result<T, c_int> {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let words = format!("a bug in cmrm, please report it: {}", said.unwrap_or("it panicked"));
            Failure { code: BUG, words }
        }
    };
    // A zero byte would end the text; file names and cells may hold one.
    let words = CString::new(failure.words.replace('\0', "\\0")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = words);
    Err(failure.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> String {
        let mut words = String::new();
        last(|last| words = last.to_str().unwrap().to_owned());
        words
    }

    #[test]
    fn failures_and_panics_become_codes_and_words() {
        assert_eq!((guarded(|| Ok(7)), words()), (Ok(7), String::new()));
        assert_eq!(guarded(|| Err::<(), _>(Failure::input("a\0b"))), Err(BAD_INPUT));
        assert_eq!(words(), "a\\0b");
        let row = 3;
        assert_eq!(guarded::<()>(|| panic!("row {row}")), Err(BUG));
        assert_eq!(words(), "a bug in cmrm, please report it: row 3");
        // The words of another thread are its own, and success leaves them.
        std::thread::spawn(|| assert_eq!(words(), "")).join().unwrap();
        assert!(guarded(|| Ok(())).is_ok() && words().ends_with("row 3"));
        assert_eq!(Failure::from(cmrm_run::Error::Internal("x".into())).code, BUG);
    }
}
