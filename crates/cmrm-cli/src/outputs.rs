//! Where results go: never over anything that the command reads, and never over a file that makes up a run.
//!
//! A verb that writes says first what it reads, then claims each of its files with [`Outputs::file`]. What it gets is an
//! [`OutFile`], and only that can be written to (`clippy.toml` forbids the other ways). Files are compared as files, not
//! as names: by another spelling, through a symbolic link or as a hard link, an input is still an input.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use cmrm_data::Table;
use cmrm_data::read::files_of;
use cmrm_datasets::Cache;
use cmrm_fit::{FitConfig, TransitionSetting};
use cmrm_run::RunDir;
use cmrm_run::names::{CHECKPOINTS, is_own};

use crate::args::ReadArgs;
use crate::failure::{Failure, Result, in_file};
use crate::run_data;

/// What the names of files end in that hold tables with names among their cells.
const TABLES: [&str; 3] = ["csv", "tsv", "parquet"];

/// What a command reads, and which files it has claimed to write.
#[derive(Debug, Default)]
pub struct Outputs {
    reads: Vec<Read>,
    claimed: Vec<(String, Place)>,
}

/// A file that the command reads.
#[derive(Debug)]
struct Read {
    /// What it is, in words.
    what: &'static str,
    /// As the user named it, or as it was found in a folder.
    name: PathBuf,
    place: Place,
}

/// A file that may be written.
#[derive(Debug)]
pub struct OutFile {
    path: PathBuf,
}

impl Outputs {
    /// The command reads this file; one that is not there is the reader's trouble.
    pub fn reads(mut self, what: &'static str, file: &Path) -> Self {
        if file.is_file() {
            self.reads.push(Read { what, name: file.to_owned(), place: Place::of(file) });
        }
        self
    }

    /// It reads a run: the files that make it up, not what else was put into its folder.
    pub fn reads_run(self, folder: &Path) -> Self {
        let own = files_under(folder).into_iter().filter(|file| Place::of(file).in_run().is_some());
        let outputs = own.fold(self, |outputs, file| outputs.reads("a file of the run", &file));
        // The command may not read the data, but results are about it: it must not be lost either.
        match run_data::settings_in(folder) {
            Ok(config) => outputs.reads_settings(&config, None, None),
            Err(_) => outputs,
        }
    }

    /// It reads data: a file, several files, or a data set of the catalogue; and perhaps a file of labels.
    pub fn reads_data(self, data: &str, labels: Option<&Path>, cache: Option<&Path>) -> Self {
        let path = Path::new(data);
        let fetched = || {
            let (entry, cache) = (cmrm_datasets::find(data).ok()?, Cache::locate(cache).ok()?);
            let others = entry.needs.iter().filter_map(|name| cmrm_datasets::find(name).ok());
            Some(others.chain([entry]).flat_map(|entry| files_under(&cache.folder(entry))).collect::<Vec<_>>())
        };
        let mut outputs = self;
        for file in files_of(path) {
            let what = if file == path { "the data file itself" } else { "a file of the data" };
            outputs = outputs.reads(what, &file);
        }
        for file in fetched().unwrap_or_default() {
            outputs = outputs.reads("a file of the data set", &file);
        }
        labels.into_iter().fold(outputs, |outputs, labels| outputs.reads("the label file itself", labels))
    }

    /// The same, by the flags of a verb that takes data.
    pub fn reads_with(self, data: &str, args: &ReadArgs) -> Self {
        self.reads_data(data, args.labels.as_deref(), args.cache.as_deref())
    }

    /// It reads what the settings name, and the file that they come from.
    pub fn reads_settings(self, config: &FitConfig, file: Option<&Path>, cache: Option<&Path>) -> Self {
        let outputs = self.reads_data(&config.data, config.labels.as_deref(), cache);
        let outputs = file.into_iter().fold(outputs, |outputs, file| outputs.reads("the settings file itself", file));
        let outputs = match &config.transition {
            Some(TransitionSetting::File(file)) => outputs.reads("the transition matrix itself", file),
            _ => outputs,
        };
        match &config.test {
            Some(test) => outputs.reads_data(test, None, cache),
            None => outputs,
        }
    }

    /// Claims a file for the results of `flag`.
    pub fn file(&mut self, flag: &str, path: &Path) -> Result<OutFile> {
        let place = Place::of(path);
        self.refuse_inputs(flag, path, &place)?;
        if let Some((folder, name)) = place.in_run() {
            return Err(Failure::input(format!(
                "{flag} {}: {name} belongs to the run {}; write to another file",
                path.display(),
                folder.display()
            )));
        }
        if let Some((other, _)) = self.claimed.iter().find(|(_, claimed)| claimed.is(&place)) {
            return Err(Failure::input(format!(
                "{flag} {}: {other} writes to the same file; give each its own file",
                path.display()
            )));
        }
        self.claimed.push((format!("{flag} {}", path.display()), place));
        Ok(OutFile { path: path.to_owned() })
    }

    /// Claims a run's folder, whose own files the command will write.
    pub fn run(&self, flag: &str, folder: &Path) -> Result<()> {
        self.refuse_inputs(flag, folder, &Place::of(folder))?;
        let own = files_under(folder).into_iter().map(|file| (Place::of(&file), file));
        own.filter(|(place, _)| place.in_run().is_some())
            .try_for_each(|(place, file)| self.refuse_inputs(flag, &file, &place))
    }

    fn refuse_inputs(&self, flag: &str, path: &Path, place: &Place) -> Result<()> {
        let Some(read) = self.reads.iter().find(|read| read.place.is(place)) else { return Ok(()) };
        Err(Failure::input(format!(
            "{flag} {}: this is {} ({}), which the command reads; write to another file",
            path.display(),
            read.what,
            read.name.display()
        )))
    }
}

impl OutFile {
    /// Where it is, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a name that says no format of tables, before work is done for nothing.
    pub fn can_hold_table(&self) -> Result<()> {
        let extension = self.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if TABLES.iter().any(|table| table.eq_ignore_ascii_case(extension)) {
            return Ok(());
        }
        let name = self.path.display();
        Err(Failure::input(format!("{name}: unknown table extension '{extension}'; use .csv, .tsv or .parquet")))
    }

    /// Writes bytes, all or nothing.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        self.write_with(|file| file.write_all(bytes)).map_err(|error| in_file(&self.path, error))
    }

    /// Writes a table in the format of the file's name, all or nothing.
    #[expect(clippy::disallowed_methods, reason = "the file was claimed")]
    pub fn write_table(&self, table: &Table) -> Result<()> {
        Ok(cmrm_data::write::write_table(&self.path, table)?)
    }

    /// The same for a table that people look at: text that a spreadsheet would take for a formula is marked as text.
    #[expect(clippy::disallowed_methods, reason = "the file was claimed")]
    pub fn write_table_for_people(&self, table: &Table) -> Result<()> {
        Ok(cmrm_data::write::write_table_for_people(&self.path, table)?)
    }

    /// The same for what takes its own ways to fail: a verb's computation on the way into the file.
    pub fn fill<T>(&self, write: impl FnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
        self.write_with(|file| write(file).map_err(Unfilled::Unmade)).map_err(|unfilled| match unfilled {
            Unfilled::Unwritten(error) => in_file(&self.path, error),
            Unfilled::Unmade(failure) => failure,
        })
    }

    /// Writes what `write` does, all or nothing.
    #[expect(clippy::disallowed_methods, reason = "the file was claimed")]
    pub fn write_with<T, E: From<std::io::Error>>(
        &self,
        write: impl FnOnce(&mut BufWriter<File>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        cmrm_data::files::write_atomically(&self.path, write)
    }
}

/// Why a file was not filled: it could not be written, or what was to go in could not be made.
enum Unfilled {
    Unwritten(std::io::Error),
    Unmade(Failure),
}

impl From<std::io::Error> for Unfilled {
    fn from(error: std::io::Error) -> Self {
        Unfilled::Unwritten(error)
    }
}

/// Whether two names are names of one file.
pub fn same_file(one: &Path, other: &Path) -> bool {
    Place::of(one).is(&Place::of(other))
}

/// A file, however it is named. It need not exist.
#[derive(Debug)]
struct Place {
    /// Without links, as far as it exists.
    path: PathBuf,
    /// Which file of which device.
    identity: Option<(u64, u64)>,
}

impl Place {
    fn of(path: &Path) -> Self {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let new = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
        let resolved = path.canonicalize().ok().or_else(new).unwrap_or_else(|| path.to_owned());
        Place { path: resolved, identity: std::fs::metadata(path).ok().and_then(|about| identity(&about)) }
    }

    fn is(&self, other: &Place) -> bool {
        self.path == other.path || self.identity.is_some() && self.identity == other.identity
    }

    /// The run that it is a file of, if it is, and its name there.
    fn in_run(&self) -> Option<(&Path, String)> {
        let (folder, name) = (self.path.parent()?, self.path.file_name()?.to_string_lossy());
        if folder.ends_with(CHECKPOINTS) && folder.parent().is_some_and(RunDir::is_at) {
            return Some((folder.parent()?, format!("{CHECKPOINTS}/{name}")));
        }
        (is_own(&name) && RunDir::is_at(folder)).then(|| (folder, name.into_owned()))
    }
}

/// The files in a folder and in the folders below it.
fn files_under(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        // A linked folder is not followed: it may lead back here.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_under(&entry.path())),
            _ => files.push(entry.path()),
        }
    }
    files
}

#[cfg(unix)]
fn identity(about: &std::fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn identity(_about: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}
