//! What a run knows about its data, for verbs that take more of it: nobody has to say it twice.

use std::collections::HashSet;
use std::path::Path;

use cmrm_data::read::{ReadOptions, Usual};
use cmrm_data::{ColumnRef, read::Expected};

use crate::args::{ColumnType, ReadArgs};
use crate::failure::Result;
use crate::load::{names_data_set, set_text};
use crate::outputs::same_file;
use crate::run_data;
use crate::sources::open_data;

/// The flags, and where they say nothing what the run in `folder` was told: the columns of labels and of row IDs, as far as
/// the data has them, how a file of the same format is written, and whether it is read strictly. `expected` are the columns
/// that the run's model takes; without them every column is looked at, and is what the run was told.
pub fn completed(read: &ReadArgs, data: &str, folder: &Path, expected: Option<Expected>) -> Result<ReadArgs> {
    let mut read = read.clone();
    let path = Path::new(data);
    // Runs on images have other settings, and a named data set has its own labels.
    let Ok(config) = run_data::settings_in(folder) else { return Ok(read) };
    if names_data_set(data) {
        return Ok(read);
    }
    read.strict |= config.strict;
    if expected.is_none() {
        // Without a model to say what the columns are, it is what the run was told.
        let stated = config.preprocess.overrides.into_iter().map(|(column, kind)| ColumnType { column, kind });
        let said: HashSet<String> = read.overrides().map(|(column, _)| column).collect();
        read.types.extend(stated.filter(|one| !said.contains(&one.column)));
    }
    let trained_on = Path::new(&config.data);
    if path.extension() == trained_on.extension() {
        read.no_header |= config.no_header;
        read.delimiter = read.delimiter.or(config.delimiter);
    }
    if same_file(path, trained_on) {
        // Another file may have no title, and would lose its header or a row.
        read.skip_lines = read.skip_lines.or(Some(config.skip_lines));
    }
    if read.label.is_none() && same_file(path, trained_on) {
        read.labels = read.labels.or(config.labels);
    }
    let wants_label = read.label.is_none() && read.labels.is_none() && config.label.is_some();
    if !wants_label && (read.id.is_some() || config.id.is_none()) {
        return Ok(read);
    }
    // With as many columns as the training data, a column given by its place is where it was; with fewer, another one is there.
    let stated = usize::from(config.label.is_some()) + usize::from(config.id.is_some());
    let width = expected.as_ref().map(|expected| expected.width + stated);
    let mut options = ReadOptions { expected, ..ReadOptions::default() };
    set_text(&mut options, read.no_header, read.delimiter.as_deref())?;
    options.text.skip_lines = read.skip_lines.unwrap_or(0);
    options.format = read.format;
    // Whoever reads the rows says what is wrong with the file.
    let Ok(opened) = open_data(path, &options) else { return Ok(read) };
    let names = opened.names();
    let there = |column: &String| {
        let same_places = width.is_none_or(|width| width == names.len());
        names.contains(column) || same_places && ColumnRef(column.clone()).resolve(names).is_ok()
    };
    if read.labels.is_none() {
        read.label = read.label.or(config.label.filter(there));
    }
    read.id = read.id.or(config.id.filter(there));
    Ok(read)
}

/// The same for a stream, whose rows are taken as they come: the first one shows whether it has the columns of labels and of row IDs
/// that the run was told of.
pub fn of_stream(read: &ReadArgs, folder: &Path) -> (ReadArgs, Usual) {
    let mut read = read.clone();
    let Ok(config) = run_data::settings_in(folder) else { return (read, Usual::default()) };
    read.strict |= config.strict;
    let label = config.label.filter(|_| read.label.is_none() && read.labels.is_none());
    let id = config.id.filter(|_| read.id.is_none());
    (read, Usual { label, id })
}
