//! Images in CIFAR's records and in IDX files, with the names of their classes.

use std::path::Path;

use super::{class_column, input};
use crate::error::{Result, content};
use cmrm_data::read::{Format, ReadOptions, Source, read, read_labels};
use cmrm_data::{Column, Features, Input};

/// Records of `label_bytes` labels and 3072 pixels; `byte` says which label is wanted.
pub(super) fn cifar(path: &Path, label_bytes: usize, byte: usize, classes: &[&str]) -> Result<Input> {
    let format = if label_bytes == 1 { Format::Cifar10 } else { Format::Cifar100 };
    let coarse_labels = label_bytes == 2 && byte == 0;
    let options = ReadOptions { format: Some(format), coarse_labels, ..ReadOptions::default() };
    let Input { features, labels, .. } = read(&Source::file(path), &options)?;
    let labels = labels.ok_or_else(|| content(path, "its records have no labels"))?;
    finish(path, features, &labels, classes)
}

/// A pair of IDX files: images and labels.
pub(super) fn idx(images: &Path, labels: &Path, classes: &[&str]) -> Result<Input> {
    let options = ReadOptions { format: Some(Format::Idx), ..ReadOptions::default() };
    let features = read(&Source::file(images), &options)?.features;
    let column = read_labels(&Source::file(labels), &options)?;
    if column.len() != features.rows() {
        return Err(content(labels, format!("{} labels for {} images", column.len(), features.rows())));
    }
    finish(images, features, &column, classes)
}

/// Gives the classes, which the files number, their names.
fn finish(path: &Path, features: Features, labels: &Column, classes: &[&str]) -> Result<Input> {
    let code = |row: usize| {
        let text = labels.text(row).unwrap_or_default();
        let code = text.parse::<u32>().ok().filter(|&code| (code as usize) < classes.len());
        code.ok_or_else(|| {
            content(path, format!("row {row}: label {text} is not below the number of classes {}", classes.len()))
        })
    };
    let codes = (0..labels.len()).map(code).collect::<Result<_>>()?;
    Ok(input(features, class_column("label", codes, classes), path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm_data::table::Values;

    const CIFAR_PIXELS: usize = 3 * 32 * 32;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn codes(input: &Input) -> Vec<u32> {
        match &input.labels.as_ref().unwrap().values {
            Values::Categorical { codes, .. } => codes.clone(),
            _ => panic!("labels have names"),
        }
    }

    #[test]
    fn cifar_records_give_the_wanted_label_and_all_pixels() {
        let record = |coarse: u8, fine: u8, first: u8| [vec![coarse, fine, first], vec![7; CIFAR_PIXELS - 1]].concat();
        let records = file(&[record(1, 2, 255), record(0, 1, 0)].concat());
        let fine = cifar(records.path(), 2, 1, &["a", "b", "c"]).unwrap();
        assert_eq!(codes(&fine), [2, 1]);
        let Features::Array(array) = &fine.features else { panic!("images are arrays") };
        assert_eq!((array.rows(), array.values()[0], array.values()[1], array.values()[3072]), (2, 255.0, 7.0, 0.0));
        assert_eq!(codes(&cifar(records.path(), 2, 0, &["x", "y"]).unwrap()), [1, 0]);
        let message = cifar(records.path(), 2, 1, &["a", "b"]).unwrap_err().to_string();
        assert!(message.contains("row 0: label 2 is not below the number of classes 2"), "{message}");
        let message = cifar(records.path(), 1, 0, &["a", "b"]).unwrap_err().to_string();
        assert!(message.contains("records of 3073 bytes"), "{message}");
        assert!(cifar(file(b"").path(), 1, 0, &["a"]).is_err());
    }

    #[test]
    fn idx_files_must_fit_each_other_and_themselves() {
        let images = file(&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 9, 8, 7, 6]);
        let labels = file(&[0, 0, 8, 1, 0, 0, 0, 2, 1, 0]);
        let input = idx(images.path(), labels.path(), &["a", "b"]).unwrap();
        let Features::Array(array) = &input.features else { panic!("images are arrays") };
        assert_eq!((array.values(), codes(&input)), (&[9.0, 8.0, 7.0, 6.0][..], vec![1, 0]));
        let one = file(&[0, 0, 8, 1, 0, 0, 0, 1, 1]);
        assert!(idx(images.path(), one.path(), &["a", "b"]).unwrap_err().to_string().contains("1 labels for 2 images"));
        let huge = file(&[0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]);
        assert!(idx(huge.path(), labels.path(), &["a", "b"]).is_err());
        assert!(idx(labels.path(), images.path(), &["a", "b"]).is_err());
    }
}
