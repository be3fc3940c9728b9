//! A folder of named arrays: features and labels as NPY files, IDX files or CIFAR's binary files.

use std::path::{Path, PathBuf};

use super::arrays::choose;
use super::{ReadOptions, Source, idx, npy, read};
use crate::dataset::Input;
use crate::error::{Error, Problem, Result};

/// Most files of a folder that are looked at.
const MAX_FILES: usize = 100_000;

/// Reads a file, or a folder of arrays.
pub fn read_path(path: &Path, options: &ReadOptions) -> Result<Input> {
    if !path.is_dir() {
        return read(&Source::file(path), options);
    }
    read_folder(path, options).map_err(|error| error.in_file(path.display()))
}

/// The files of a folder that [`read_path`] may take for its arrays.
pub fn arrays_of(folder: &Path) -> Vec<PathBuf> {
    let is_array = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".npy") || name.ends_with(".bin") || name.contains("-idx")
    };
    files_of(folder).unwrap_or_default().into_iter().filter(is_array).collect()
}

fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.take(MAX_FILES);
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn read_folder(folder: &Path, options: &ReadOptions) -> Result<Input> {
    let files = files_of(folder)?;
    let stem_of = |suffix: &str| -> (Vec<String>, Vec<&PathBuf>) {
        let named = files.iter().filter_map(|path| Some((path.file_name()?.to_str()?, path)));
        named.filter_map(|(name, path)| Some((name.strip_suffix(suffix)?.to_string(), path))).unzip()
    };
    let (names, arrays) = stem_of(".npy");
    if !names.is_empty() {
        return read_arrays(folder, &names, &arrays, options);
    }
    let wanted = options.arrays.features.as_deref();
    let images = files.iter().find(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.contains("images-idx") && name.starts_with(wanted.unwrap_or("train"))
    });
    if let Some(images) = images {
        return idx::read_idx(&Source::file(images), options);
    }
    let (names, batches) = stem_of(".bin");
    let mut options = options.clone();
    options.arrays.features.get_or_insert_with(|| {
        let pieces = names.iter().any(|name| name.starts_with("data_batch"));
        if pieces { "data_batch" } else { "train" }.to_string()
    });
    if names.is_empty() {
        return Err(Error::new(Problem::Empty("the set of known arrays in the folder".into()))
            .way_out("put features.npy and labels.npy there, or name a file"));
    }
    let chosen = choose(&names, &options.arrays)?;
    join(chosen.features.iter().map(|&at| read(&Source::file(batches[at]), &options)))
}

fn read_arrays(folder: &Path, names: &[String], files: &[&PathBuf], options: &ReadOptions) -> Result<Input> {
    let chosen = choose(names, &options.arrays)?;
    let mut input = join(chosen.features.iter().map(|&at| npy::read_npy(&Source::file(files[at]), options)))?;
    input.source = folder.display().to_string();
    let mut labels: Option<crate::table::Column> = None;
    for at in chosen.labels {
        let column = npy::read_npy_labels(&Source::file(files[at]), options)?;
        match &mut labels {
            None => labels = Some(column),
            Some(labels) => labels.append(column)?,
        }
    }
    match labels {
        Some(labels) => input.with_labels(labels),
        None => Ok(input),
    }
}

fn join(mut pieces: impl Iterator<Item = Result<Input>>) -> Result<Input> {
    let mut input = pieces.next().ok_or_else(|| Error::new(Problem::Empty("the list of pieces".into())))??;
    for piece in pieces {
        let piece = piece?;
        let name = piece.source.clone();
        input.append(piece).map_err(|error| error.in_file(name))?;
    }
    Ok(input)
}
