//! From what the user names to features and labels: a file, a folder, or a data set of the catalogue.

use std::path::Path;

use cmrm_data::read::{ReadOptions, Source, read_labels, read_path};
use cmrm_data::{ColumnRef, Input};
use cmrm_datasets::Cache;
use cmrm_fit::FitConfig;
pub use cmrm_fit::Loaded;
use cmrm_run::RunDir;
use cmrm_run::names::SETTINGS;

use crate::failure::{Failure, Result};

/// How files are read, by the settings.
pub fn read_options(config: &FitConfig) -> Result<ReadOptions> {
    let mut options = ReadOptions { label: config.label.clone().map(ColumnRef), ..ReadOptions::default() };
    options.id = config.id.clone().map(ColumnRef);
    options.overrides = config.preprocess.overrides.clone();
    set_text(&mut options, config.no_header, config.delimiter.as_deref())?;
    Ok(options)
}

/// How text files are written, as far as the user says.
pub fn set_text(options: &mut ReadOptions, no_header: bool, delimiter: Option<&str>) -> Result<()> {
    if no_header {
        options.text.header = Some(false);
    }
    if let Some(text) = delimiter {
        options.text.delimiter = Some(match text.as_bytes() {
            b"\\t" => b'\t',
            [byte] => *byte,
            _ => return Err(Failure::input(format!("delimiter '{text}' is not a single ASCII character"))),
        });
    }
    Ok(())
}

/// The flags that say how a file is read.
const READING: [&str; 6] = ["label", "labels", "id", "delimiter", "no-header", "test"];

/// Whether a text names a data set of the catalogue rather than a file or folder. A run's folder is not data, even if it has
/// the name of a data set, as after `fit digits --out digits`.
pub fn names_data_set(data: &str) -> bool {
    let path = Path::new(data);
    let is_data = path.exists() && !path.join(SETTINGS).is_file();
    !is_data && !data.contains(['/', '\\', '.'])
}

/// Refuses flags that say how a file is read, for a data set that has its own columns and labels: which of [`READING`] were
/// given.
pub fn refuse_reading_flags(data: &str, given: [bool; READING.len()]) -> Result<()> {
    match READING.iter().zip(given).find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::input(format!(
            "{data} is a named data set with its own columns and labels; leave out --{flag}"
        ))),
    }
}

/// Loads what `config` names.
pub fn load(config: &FitConfig, cache: Option<&Path>) -> Result<Loaded> {
    let path = Path::new(&config.data);
    if names_data_set(&config.data) {
        if RunDir::is_at(path) && cmrm_datasets::find(&config.data).is_err() {
            return Err(Failure::input(format!("{}: the folder of a run, not data; name a data file", config.data)));
        }
        let FitConfig { label, labels, id, delimiter, no_header, test, .. } = config;
        let given = [label.is_some(), labels.is_some(), id.is_some(), delimiter.is_some(), *no_header, test.is_some()];
        refuse_reading_flags(&config.data, given)?;
        let named = cmrm_datasets::load(&config.data, &Cache::locate(cache)?)?;
        return Ok(Loaded {
            test: named.test,
            classes: Some(named.classes),
            clean: named.clean,
            ..Loaded::new(&config.data, named.train)
        });
    }
    let options = read_options(config)?;
    let train = load_file(path, &options, config.labels.as_deref())?;
    let test = config.test.as_ref().map(|test| load_file(Path::new(test), &options, None)).transpose()?;
    let name = path.file_stem().map_or_else(|| config.data.clone(), |stem| stem.to_string_lossy().into_owned());
    Ok(Loaded { test, ..Loaded::new(name, train) })
}

/// One file or folder, with its labels from a column or from a file of their own.
pub fn load_file(path: &Path, options: &ReadOptions, labels: Option<&Path>) -> Result<Input> {
    let input = read_path(path, options)?;
    let Some(labels) = labels else { return Ok(input) };
    let column = read_labels(&Source::file(labels), &ReadOptions::default())?;
    Ok(input.with_labels(column)?)
}
