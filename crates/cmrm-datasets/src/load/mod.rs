//! A named data set as features and labels.

mod pixels;
mod text;

use std::path::PathBuf;

use super::error::{Error, Result, content};
use super::record::Record;
use super::{Cache, Entry, LabelSet, Layout, find};
use cmrm_data::table::{Column, Values};
use cmrm_data::{Features, Input};

/// A named data set as it was published.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// What the catalogue knows of it.
    pub entry: &'static Entry,
    /// The part to learn from.
    pub train: Input,
    /// The part to test on, if the makers publish a split.
    pub test: Option<Input>,
    /// Labels of the training part known to be right, where its own are known to be partly wrong. The classes are the same.
    pub clean: Option<Column>,
    /// Names of the classes, in order of their index; pass them on as [`cmrm_data::LabelOptions::classes`].
    pub classes: Vec<String>,
}

/// Loads a data set by name, from the program or from the cache; the network is not used.
/// A name may be followed by a colon and one of the data set's kinds of label, as in `cifar-10n:aggre`.
pub fn load(name: &str, cache: &Cache) -> Result<Named> {
    let (name, labels) = match name.split_once(':') {
        Some((name, labels)) => (name, Some(labels)),
        None => (name, None),
    };
    let entry = find(name)?;
    let place = Place { entry, cache };
    match entry.layout {
        Layout::Embedded { csv_gz, image, classes } => {
            no_choice(entry, labels)?;
            let train = text::embedded(entry, csv_gz, image, classes)?;
            Ok(named(entry, train, None, classes))
        }
        Layout::Text(layout) => {
            no_choice(entry, labels)?;
            let train = text::read(&place.file(layout.train)?, layout)?;
            let test = layout.test.map(|file| text::read(&place.file(file)?, layout)).transpose()?;
            let classes: Vec<&str> = layout.classes.iter().map(|(_, name)| *name).collect();
            Ok(named(entry, train, test, &classes))
        }
        Layout::Idx { train, test, classes } => {
            no_choice(entry, labels)?;
            let part =
                |[images, labels]: [&'static str; 2]| pixels::idx(&place.file(images)?, &place.file(labels)?, classes);
            Ok(named(entry, part(train)?, Some(part(test)?), classes))
        }
        Layout::Cifar { train, test, labels: sets } => cifar(&place, train, test, sets, labels),
        Layout::Relabelled { base, file, clean, columns } => {
            let (_, column) = match labels {
                None => columns.first(),
                Some(wanted) => columns.iter().find(|(name, _)| *name == wanted),
            }
            .ok_or_else(|| unknown_labels(entry, labels, columns.iter().map(|(name, _)| *name)))?;
            relabelled(load(base, cache)?, &place, file, clean, column)
        }
    }
}

/// Where the files of an entry are.
struct Place<'a> {
    entry: &'static Entry,
    cache: &'a Cache,
}

impl Place<'_> {
    /// The path of a file that is in the cache, at the size it had when it was placed.
    fn file(&self, name: &'static str) -> Result<PathBuf> {
        let folder = self.cache.folder(self.entry);
        let path = folder.join(name);
        let known = Record::read(&folder)?.get(name).map(|known| known.bytes);
        let Some((data, known)) = std::fs::metadata(&path).ok().zip(known) else {
            return Err(Error::NotCached { dataset: self.entry.name, file: name, folder });
        };
        if data.len() != known {
            let reason = format!(
                "{} bytes, but {known} when it was fetched; run `cmrm data fetch {}` again",
                data.len(),
                self.entry.name
            );
            return Err(content(&path, reason));
        }
        Ok(path)
    }
}

fn cifar(
    place: &Place,
    train: &[&'static str],
    test: &'static str,
    sets: &'static [LabelSet],
    wanted: Option<&str>,
) -> Result<Named> {
    // The last label byte of a record is the finest one.
    let (byte, set) = match wanted {
        None => sets.iter().enumerate().next_back(),
        Some(wanted) => sets.iter().enumerate().find(|(_, set)| set.name == wanted),
    }
    .ok_or_else(|| unknown_labels(place.entry, wanted, sets.iter().map(|set| set.name)))?;
    let read = |file| pixels::cifar(&place.file(file)?, sets.len(), byte, set.classes);
    let mut files = train.iter();
    let first = files
        .next()
        .ok_or_else(|| Error::Internal(format!("{}: no training file in the registry", place.entry.name)))?;
    let mut whole = read(first)?;
    for file in files {
        whole.append(read(file)?)?;
    }
    Ok(named(place.entry, whole, Some(read(test)?), set.classes))
}

fn relabelled(base: Named, place: &Place, file: &'static str, clean: &str, column: &str) -> Result<Named> {
    let path = place.file(file)?;
    let clean = text::label_column(&path, clean, &base.classes)?;
    let noisy = text::label_column(&path, column, &base.classes)?;
    // The order of the images is all that ties the labels to them.
    let same = base.train.labels.as_ref().is_some_and(|labels| codes(labels) == codes(&clean));
    if !same {
        return Err(content(&path, format!("its clean labels differ from those of {}", base.entry.name)));
    }
    Ok(Named { entry: place.entry, train: base.train.with_labels(noisy)?, clean: Some(clean), ..base })
}

fn codes(column: &Column) -> Option<&[u32]> {
    if let Values::Categorical { codes, .. } = &column.values { Some(codes) } else { None }
}

fn named(entry: &'static Entry, train: Input, test: Option<Input>, classes: &[&str]) -> Named {
    Named { entry, train, test, clean: None, classes: classes.iter().map(|&name| name.to_owned()).collect() }
}

/// A column of class names from class indices, with every class as a level and in order.
fn class_column(name: &str, codes: Vec<u32>, classes: &[&str]) -> Column {
    let levels = classes.iter().map(|&class| class.to_owned()).collect();
    Column::new(name, Values::Categorical { codes, levels })
}

fn input(features: Features, labels: Column, source: String) -> Input {
    Input { features, labels: Some(labels), ids: None, source }
}

fn no_choice(entry: &'static Entry, labels: Option<&str>) -> Result<()> {
    if labels.is_none() {
        Ok(())
    } else {
        Err(unknown_labels(entry, labels, std::iter::once("one kind only; leave out the name")))
    }
}

fn unknown_labels(entry: &'static Entry, wanted: Option<&str>, known: impl Iterator<Item = &'static str>) -> Error {
    let labels = wanted.unwrap_or_default().to_owned();
    Error::UnknownLabels { dataset: entry.name, labels, known: known.map(str::to_owned).collect() }
}
