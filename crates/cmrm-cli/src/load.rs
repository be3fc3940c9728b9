//! From what the user names to features and labels: a file, a folder, or a data set of the catalogue.

use std::path::Path;

use cmrm_data::read::{Expected, ReadOptions, read_labels};
use cmrm_data::{ColumnRef, Features, Input};
use cmrm_datasets::Cache;
use cmrm_fit::FitConfig;
pub use cmrm_fit::Loaded;
use cmrm_run::RunDir;
use cmrm_run::names::SETTINGS;

use crate::failure::{Failure, Result};
use crate::sources::{STANDARD_INPUT, is_standard_input, read_as, read_data, source};

/// How files are read, by the settings.
pub fn read_options(config: &FitConfig) -> Result<ReadOptions> {
    let mut options = ReadOptions { label: config.label.clone().map(ColumnRef), ..ReadOptions::default() };
    options.id = config.id.clone().map(ColumnRef);
    options.format = config.format;
    options.overrides = config.preprocess.overrides.clone();
    options.strict = config.strict;
    set_text(&mut options, config.no_header, config.delimiter.as_deref())?;
    options.text.skip_lines = config.skip_lines;
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

/// Whether a text names a data set of the catalogue rather than a file or folder. A run's folder is not data, even if it has
/// the name of a data set, as after `fit digits --out digits`.
pub fn names_data_set(data: &str) -> bool {
    let path = Path::new(data);
    let is_data = path.exists() && !path.join(SETTINGS).is_file();
    !is_data && data != STANDARD_INPUT && !data.contains(['/', '\\', '.', '*', '?'])
}

/// Refuses settings that say how a file is read, for a data set that has its own columns and labels.
pub fn refuse_reading_flags(config: &FitConfig) -> Result<()> {
    let flags = [
        ("label", config.label.is_some()),
        ("labels", config.labels.is_some()),
        ("id", config.id.is_some()),
        ("format", config.format.is_some()),
        ("delimiter", config.delimiter.is_some()),
        ("no-header", config.no_header),
        ("test", config.test.is_some()),
        ("skip-lines", config.skip_lines > 0),
    ];
    match flags.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::input(format!(
            "{} is a named data set with its own columns and labels; leave out --{flag}",
            config.data
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
        refuse_reading_flags(config)?;
        let named = cmrm_datasets::load(&config.data, &Cache::locate(cache)?)?;
        return Ok(Loaded {
            test: named.test,
            classes: Some(named.classes),
            clean: named.clean,
            ..Loaded::new(&config.data, named.train)
        });
    }
    let options = read_options(config)?;
    let train = load_labelled(path, &options, config.labels.as_deref())?;
    // Rows to test on are read as those to train on: a sparse file need not say how wide its rows are, and a date or a number may
    // be written so that it can be read in two ways.
    let expected = match &train.features {
        Features::Sparse(array) => Some(Expected::of_array(array.rows.width())),
        Features::Table(table) => Some(Expected::like(table)),
        Features::Array(_) => None,
    };
    let options = ReadOptions { expected, ..options };
    let test = config.test.as_ref().map(|test| read_as("the test data", Path::new(test), &options)).transpose()?;
    Ok(Loaded { test, ..Loaded::new(name_of(path), train) })
}

/// The data, with its labels from a column or from a file of their own.
fn load_labelled(path: &Path, options: &ReadOptions, labels: Option<&Path>) -> Result<Input> {
    let input = read_data(path, options)?;
    let Some(labels) = labels else { return Ok(input) };
    let column = read_labels(&source("the labels", labels)?, &ReadOptions::default())?;
    Ok(input.with_labels(column)?)
}

/// What to call the data: its file's or folder's name. Files that a pattern names are called by their folder.
fn name_of(path: &Path) -> String {
    let is_pattern = |stem: &str| stem.contains(['*', '?']);
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    if is_standard_input(path) {
        return "stdin".into();
    }
    let named = stem(path).filter(|stem| !is_pattern(stem)).or_else(|| path.parent().and_then(stem));
    named.unwrap_or_else(|| "data".into())
}
