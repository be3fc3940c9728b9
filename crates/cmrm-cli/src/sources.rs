//! What a command reads: files, folders, patterns, pipes, and standard input under the name `-`.

use std::fs::File;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cmrm_data::Input;
use cmrm_data::read::{Chunks, Incoming, Opened, ReadOptions, Source, Usual, open, open_path, read_stream};

use crate::failure::{Failure, Result, in_file};

/// The name of standard input; a file of that name is `./-`.
pub const STANDARD_INPUT: &str = "-";

/// The streams that were read, what each was read as, and its bytes: a fit reads its data twice.
static READ: Mutex<Vec<(PathBuf, &str, Source)>> = Mutex::new(Vec::new());

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

/// Begins to read the data if it is a stream whose rows can be taken as they come, at most `rows` at a time; nothing if it is not, or
/// has to be read whole, as [`open_data`] does then.
pub fn arriving_data(data: &Path, options: &ReadOptions, usual: &Usual, rows: usize) -> Result<Option<Chunks>> {
    let what = "the data";
    // A thread that panicked has not left half of it: a stream is added at once.
    let mut read = READ.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !is_stream(data) || read.iter().any(|(other, ..)| other == data) {
        return Ok(None);
    }
    let name = name_of(data);
    let incoming = if is_standard_input(data) {
        read_stream(&name, piped(std::io::stdin(), what, &name)?, options, usual, rows)?
    } else {
        let file = File::open(data).map_err(|error| in_file(data, error))?;
        read_stream(&name, piped(file, what, &name)?, options, usual, rows)?
    };
    let (chunks, source) = match incoming {
        Incoming::Rows(chunks) => (Some(chunks), Source::bytes(name, Vec::new())),
        Incoming::Whole(source) => (None, source),
    };
    read.push((data.to_owned(), what, source));
    Ok(chunks)
}

fn open_as(what: &'static str, path: &Path, options: &ReadOptions) -> Result<Opened> {
    Ok(match is_stream(path) {
        true => open(&source(what, path)?, options)?,
        false => open_path(path, options)?,
    })
}

/// A single file that is `what` to the command.
pub fn source(what: &'static str, path: &Path) -> Result<Source> {
    if !is_stream(path) {
        return Ok(Source::file(path));
    }
    let name = name_of(path);
    // A thread that panicked has not left half of it: a stream is added at once.
    let mut read = READ.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match read.iter().find(|(other, ..)| other == path) {
        Some((_, as_this, source)) if *as_this == what => return Ok(source.clone()),
        Some((_, other, _)) => {
            return Err(Failure::input(format!(
                "{name} holds {other}, so it cannot hold {what} too; name a file for one of them"
            )));
        }
        None => {}
    }
    let source = if is_standard_input(path) {
        Source::stream(&name, piped(std::io::stdin().lock(), what, &name)?)?
    } else {
        let file = File::open(path).map_err(|error| in_file(path, error))?;
        Source::stream(&name, piped(file, what, &name)?)?
    };
    read.push((path.to_owned(), what, source.clone()));
    Ok(source)
}

fn name_of(stream: &Path) -> String {
    if is_standard_input(stream) { "standard input".to_string() } else { stream.display().to_string() }
}

/// The stream, unless somebody sits at its other end.
fn piped<T: IsTerminal>(stream: T, what: &str, name: &str) -> Result<T> {
    if stream.is_terminal() {
        return Err(Failure::input(format!(
            "{name} is a terminal; pipe {what} in, as in `zcat data.csv.gz | cmrm fit -`, or name a file"
        )));
    }
    Ok(stream)
}

/// Whether a path stands for what can be read once: standard input, a pipe, as a shell makes one of `<(zcat data.csv.gz)`, or a
/// device such as `/dev/stdin`.
pub fn is_stream(path: &Path) -> bool {
    is_standard_input(path) || path.metadata().is_ok_and(|of| !of.is_file() && !of.is_dir())
}

/// Whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}
