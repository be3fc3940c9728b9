//! What a command reads: files, folders, patterns, and standard input under the name `-`.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;

use cmrm_data::Input;
use cmrm_data::read::{Opened, ReadOptions, Source, open, open_path};

use crate::failure::{Failure, Result};

/// The name of standard input; a file of that name is `./-`.
pub const STANDARD_INPUT: &str = "-";

/// What standard input was read as, and the bytes: a fit reads its data twice.
static READ_AS: Mutex<Option<(&str, Source)>> = Mutex::new(None);

/// Opens data.
pub fn open_data(data: &Path, options: &ReadOptions) -> Result<Opened> {
    open_as("the data", data, options)
}

/// Reads data whole.
pub fn read_data(data: &Path, options: &ReadOptions) -> Result<Input> {
    read_as("the data", data, options)
}

/// Reads rows whole that are `what` to the command.
pub fn read_as(what: &'static str, path: &Path, options: &ReadOptions) -> Result<Input> {
    let input = open_as(what, path, options)?.read();
    Ok(input.map_err(|error| error.in_file(path.display()))?)
}

fn open_as(what: &'static str, path: &Path, options: &ReadOptions) -> Result<Opened> {
    Ok(match is_standard_input(path) {
        true => open(&source(what, path)?, options)?,
        false => open_path(path, options)?,
    })
}

/// A single file that is `what` to the command.
pub fn source(what: &'static str, path: &Path) -> Result<Source> {
    if !is_standard_input(path) {
        return Ok(Source::file(path));
    }
    // A thread that panicked has not left half of it: the place is filled at once.
    let mut read_as = READ_AS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match &*read_as {
        Some((as_this, source)) if *as_this == what => return Ok(source.clone()),
        Some((other, _)) => {
            return Err(Failure::input(format!(
                "standard input holds {other}, so it cannot hold {what} too; name a file for one of them"
            )));
        }
        None => {}
    }
    if std::io::stdin().is_terminal() {
        return Err(Failure::input(format!(
            "standard input is a terminal; pipe {what} in, as in `zcat data.csv.gz | cmrm fit -`, or name a file"
        )));
    }
    let source = Source::stream("standard input", std::io::stdin().lock())?;
    *read_as = Some((what, source.clone()));
    Ok(source)
}

/// Whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}
