//! What a path names: a file, several files by a pattern, or a folder of arrays or of tables.
//!
//! A folder of arrays holds features and labels as NPY files, IDX files or CIFAR's binary files. A folder of tables
//! holds files of one format that belong together, as data frames too large for one file are written.

use std::path::{Path, PathBuf};

use super::arrays::choose;
use super::{Opened, Pieces, ReadOptions, Source, format_of, idx, npy, open, read};
use crate::dataset::Input;
use crate::error::{Error, Problem, Result};

/// Most files of a folder that are looked at.
const MAX_FILES: usize = 100_000;

/// Opens a file, the files that a pattern names, or a folder.
pub fn open_path(path: &Path, options: &ReadOptions) -> Result<Opened> {
    let in_path = |error: Error| error.in_file(path.display());
    if path.is_dir() {
        let files = list(path).map_err(|error| in_path(error.into()))?;
        return match files.iter().any(|file| is_array(file)) {
            true => Ok(Opened::Whole(Box::new(read_folder(path, &files, options).map_err(in_path)?))),
            false => open_tables(path, &tables_of(files), options).map_err(in_path),
        };
    }
    match matching(path) {
        Some(files) => open_tables(path, &files, options).map_err(in_path),
        None => open(&Source::file(path), options),
    }
}

/// Reads what [`open_path`] opens.
pub fn read_path(path: &Path, options: &ReadOptions) -> Result<Input> {
    open_path(path, options)?.read().map_err(|error| error.in_file(path.display()))
}

/// The files that [`open_path`] may read for a path.
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    if let Some(files) = matching(path) {
        return files;
    }
    if !path.is_dir() {
        return vec![path.to_path_buf()];
    }
    let (arrays, others): (Vec<_>, Vec<_>) =
        list(path).unwrap_or_default().into_iter().partition(|file| is_array(file));
    if arrays.is_empty() { tables_of(others) } else { arrays }
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_array(path: &Path) -> bool {
    let name = name_of(path);
    name.ends_with(".npy") || name.ends_with(".bin") || name.contains("-idx")
}

/// Without the files that programs keep for themselves, such as `_SUCCESS` or `.part-0.crc`.
fn tables_of(files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.into_iter().filter(|file| !name_of(file).starts_with(['_', '.'])).collect()
}

/// The files of a folder, by name.
fn list(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.take(MAX_FILES);
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// The files that a path with `*` or `?` in its last part names; nothing for any other path, and for a file that has
/// such a name.
fn matching(path: &Path) -> Option<Vec<PathBuf>> {
    let pattern = path.file_name()?.to_str()?;
    if !pattern.contains(['*', '?']) || path.exists() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = list(folder.unwrap_or(Path::new("."))).unwrap_or_default();
    let hidden = |name: &str| name.starts_with('.') && !pattern.starts_with('.');
    let matching = files.into_iter().filter(|file| !hidden(name_of(file)) && matches(pattern, name_of(file)));
    // Without the dot that stands for no folder at all.
    Some(matching.map(|file| if folder.is_some() { file } else { PathBuf::from(name_of(&file)) }).collect())
}

/// Whether a name fits a pattern in which `*` stands for any text and `?` for any character.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Where the last star stands, and how much of the name it has left behind: if the rest fails, it takes one more.
    let mut star = None;
    while of < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[of] => (at, of) = (at + 1, of + 1),
            _ => {
                let Some((stands, taken)) = star else { return false };
                star = Some((stands, taken + 1));
                (at, of) = (stands + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

/// Opens files that belong together; they have one format, and it holds tables.
fn open_tables(path: &Path, files: &[PathBuf], options: &ReadOptions) -> Result<Opened> {
    let sources: Vec<Source> = files.iter().map(Source::file).collect();
    let (first, rest) = match sources.as_slice() {
        [] => {
            return Err(match path.is_dir() {
                true => Error::new(Problem::Empty("the set of data files there".into())).way_out(
                    "put features.npy and labels.npy there, or tables of one format, or name a file; folders within are not looked into",
                ),
                false => Error::option("no file has such a name"),
            });
        }
        [one] => return open(one, options),
        [first, rest @ ..] => (first, rest),
    };
    let format = format_of(first, options)?;
    for source in rest {
        let other = format_of(source, options)?;
        if other != format {
            return Err(Error::option(format!("a file of format {other}, but {} is of format {format}", first.name()))
                .in_file(source.name())
                .way_out("keep files of one format there, or name them by a pattern, as in 'folder/*.parquet'"));
        }
    }
    Ok(Opened::Pieces(Pieces::open(path.display().to_string(), &sources, format, options)?.into()))
}

fn read_folder(folder: &Path, files: &[PathBuf], options: &ReadOptions) -> Result<Input> {
    let stem_of = |suffix: &str| -> (Vec<String>, Vec<&PathBuf>) {
        let named = files.iter().map(|path| (name_of(path), path));
        named.filter_map(|(name, path)| Some((name.strip_suffix(suffix)?.to_string(), path))).unzip()
    };
    let (names, arrays) = stem_of(".npy");
    if !names.is_empty() {
        return read_arrays(folder, &names, &arrays, options);
    }
    let wanted = options.arrays.features.as_deref();
    let images = files.iter().find(|path| {
        let name = name_of(path);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, fits) in [
            ("*.parquet", "part-0.parquet", true),
            ("*.parquet", "part-0.csv", false),
            ("part-?.csv", "part-1.csv", true),
            ("part-?.csv", "part-10.csv", false),
            ("*a*b", "xaxbxab", true),
            ("*a*b", "xaxbxa", false),
            ("*", "", true),
            ("?", "", false),
            ("é?", "éà", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
