//! What a command reads: files, folders, patterns, pipes, and standard input under the name `-`.

use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cmrm_data::Input;
use cmrm_data::read::{Opened, ReadOptions, Source, open, open_path};

use crate::failure::{Failure, Result, in_file};

/// The name of standard input; a file of that name is `./-`.
pub const STANDARD_INPUT: &str = "-";

/// What standard input was read as, and the bytes: a fit reads its data twice.
static READ_AS: Mutex<Option<(&str, Source)>> = Mutex::new(None);

/// The pipes that were read, and their bytes.
static PIPES: Mutex<Vec<(PathBuf, Source)>> = Mutex::new(Vec::new());

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
    Ok(match is_standard_input(path) || is_pipe(path) {
        true => open(&source(what, path)?, options)?,
        false => open_path(path, options)?,
    })
}

/// A single file that is `what` to the command.
pub fn source(what: &'static str, path: &Path) -> Result<Source> {
    if !is_standard_input(path) {
        return if is_pipe(path) { pipe(path) } else { Ok(Source::file(path)) };
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

/// What a pipe holds, which can be read once.
fn pipe(path: &Path) -> Result<Source> {
    let mut pipes = PIPES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, source)) = pipes.iter().find(|(other, _)| other == path) {
        return Ok(source.clone());
    }
    let file = File::open(path).map_err(|error| in_file(path, error))?;
    let source = Source::stream(path.display().to_string(), file)?;
    pipes.push((path.to_owned(), source.clone()));
    Ok(source)
}

/// Whether a path is a pipe, as a shell makes one of `<(zcat data.csv.gz)`, or a device such as `/dev/stdin`.
fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|of| !of.is_file() && !of.is_dir())
}

/// Whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}
