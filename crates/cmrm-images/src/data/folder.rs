//! A folder of images: `train/CLASS/…` and `test/CLASS/…`, and perhaps a file of labels that overrule the folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cmrm_data::Features;
use cmrm_data::read::{ReadOptions, read_path};

use super::decode::decode;
use super::{ImageSet, Images};
use crate::error::{Error, Result};

/// The file of labels: columns `file` (from the folder on, with `/`) and `label`.
const LABELS: &str = "labels.csv";
/// Names that the part to judge by may have.
const TEST: [&str; 3] = ["test", "val", "valid"];

/// Whether this is a folder of image files by class.
pub fn is_image_folder(folder: &Path) -> bool {
    folder.join("train").is_dir()
}

/// Reads it. Images come in the order of their paths.
pub(super) fn read_folder(folder: &Path, side: Option<usize>) -> Result<ImageSet> {
    let Some(test) = TEST.into_iter().find(|name| folder.join(name).is_dir()) else {
        return Err(Error::in_file(folder, "has a folder 'train' but no folder 'test' or 'val'; add one"));
    };
    let mut given = labels_file(folder)?;
    let train = list(folder, "train", &mut given)?;
    let test = list(folder, test, &mut given)?;
    if let Some(file) = given.keys().next() {
        return Err(Error::in_file(&folder.join(LABELS), format!("no image '{file}' in {}", folder.display())));
    }
    let mut classes: Vec<String> = train.iter().map(|(_, label)| label.clone()).collect();
    classes.sort_unstable();
    classes.dedup();
    let (train, test) = (load(folder, train, &classes, side)?, load(folder, test, &classes, side)?);
    let set = ImageSet { train, test, classes, coarse_of: None };
    same_channels(set).check()
}

/// Labels by file, from the file of labels if there is one.
fn labels_file(folder: &Path) -> Result<BTreeMap<String, String>> {
    let path = folder.join(LABELS);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let Features::Table(table) = read_path(&path, &ReadOptions::default())?.features else {
        return Err(Error::in_file(&path, "not a table"));
    };
    let column = |name: &str| {
        let missing =
            || Error::in_file(&path, format!("no column '{name}'; the file needs the columns 'file' and 'label'"));
        table.column(name).ok_or_else(missing)
    };
    let (files, labels) = (column("file")?, column("label")?);
    let mut given = BTreeMap::new();
    for row in 0..table.rows() {
        let (Some(file), Some(label)) = (files.text(row), labels.text(row)) else {
            return Err(Error::in_file(&path, format!("row {row}: file or label is missing")));
        };
        if given.insert(file.replace('\\', "/"), label.into_owned()).is_some() {
            return Err(Error::in_file(&path, format!("row {row}: '{file}' has two labels; delete one of them")));
        }
    }
    Ok(given)
}

/// Paths of a part's images, from the folder on, with labels: the file of labels first, then the folder's name.
fn list(folder: &Path, part: &str, given: &mut BTreeMap<String, String>) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (name, is_folder) in entries(&folder.join(part))? {
        let path = format!("{part}/{name}");
        if !is_folder {
            let Some(label) = given.remove(&path) else {
                let way_out = format!("an image without a label; put it into a class folder, or list it in {LABELS}");
                return Err(Error::in_file(&folder.join(&path), way_out));
            };
            found.push((path, label));
            continue;
        }
        for (image, is_folder) in entries(&folder.join(&path))? {
            let image = format!("{path}/{image}");
            if is_folder {
                return Err(Error::in_file(
                    &folder.join(&image),
                    "a folder inside a class folder; expected images only",
                ));
            }
            let label = given.remove(&image).unwrap_or_else(|| name.clone());
            found.push((image, label));
        }
    }
    if found.is_empty() {
        return Err(Error::in_file(&folder.join(part), "no images; expected one folder per class"));
    }
    found.sort_unstable();
    Ok(found)
}

/// What a folder holds, but for hidden files. Files that are no images by their names are refused: to pass over them
/// could lose half of the data in silence.
fn entries(folder: &Path) -> Result<Vec<(String, bool)>> {
    let unreadable = |error: std::io::Error| Error::in_file(folder, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(Error::in_file(&path, "the name is not valid UTF-8; rename the file"));
        };
        if name.starts_with('.') {
            continue;
        }
        let is_folder = path.is_dir();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        if !is_folder && !["jpg", "jpeg", "png"].contains(&extension.as_str()) {
            return Err(Error::in_file(&path, "not a .jpg, .jpeg or .png file; convert or remove it"));
        }
        found.push((name.to_owned(), is_folder));
    }
    Ok(found)
}

fn load(folder: &Path, listed: Vec<(String, String)>, classes: &[String], side: Option<usize>) -> Result<Images> {
    let files: Vec<PathBuf> = listed.iter().map(|(path, _)| folder.join(path)).collect();
    let index = |(file, label): (&PathBuf, &String)| {
        let unknown = || Error::in_file(file, format!("its class '{label}' has no training image"));
        classes.binary_search(label).map(|class| class as u32).map_err(|_| unknown())
    };
    let labels = files.iter().zip(listed.iter().map(|(_, label)| label)).map(index).collect::<Result<_>>()?;
    let images = decode(&files, side)?;
    Ok(Images { labels, files: listed.into_iter().map(|(path, _)| path).collect(), ..images })
}

/// Grey images beside coloured ones are coloured too.
fn same_channels(mut set: ImageSet) -> ImageSet {
    if set.train.channels != set.test.channels {
        for part in [&mut set.train, &mut set.test] {
            if part.channels == 1 {
                part.pixels = part.pixels.iter().flat_map(|&grey| [grey; 3]).collect();
                part.channels = 3;
            }
        }
    }
    set
}
