//! Images in CIFAR's records and in IDX files. Pixels stay whole numbers from 0 to 255.

use std::path::Path;

use super::{class_column, input};
use crate::catalogue::error::{Result, content, io};
use crate::{Array, Features, ImageShape, Input};

const CIFAR_SHAPE: ImageShape = ImageShape { channels: 3, height: 32, width: 32, channels_last: false };
const CIFAR_PIXELS: usize = 3 * 32 * 32;

/// Records of `label_bytes` labels and 3072 pixels; `byte` says which label is wanted.
pub(super) fn cifar(path: &Path, label_bytes: usize, byte: usize, classes: &[&str]) -> Result<Input> {
    let bytes = std::fs::read(path).map_err(io(path, "read"))?;
    let record = label_bytes + CIFAR_PIXELS;
    if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
        return Err(content(
            path,
            format!("{} bytes are not a whole number of records of {record} bytes", bytes.len()),
        ));
    }
    let labels: Vec<u8> = bytes.chunks_exact(record).map(|record| record[byte]).collect();
    let mut values = Vec::with_capacity(labels.len() * CIFAR_PIXELS);
    for record in bytes.chunks_exact(record) {
        values.extend(record[label_bytes..].iter().map(|&pixel| f32::from(pixel)));
    }
    let array = Array::new(values, CIFAR_PIXELS)?.with_image(CIFAR_SHAPE)?;
    finish(path, array, &labels, classes)
}

/// A pair of IDX files of bytes: images of three dimensions, labels of one.
pub(super) fn idx(images: &Path, labels: &Path, classes: &[&str]) -> Result<Input> {
    let (shape, pixels) = idx_bytes(images, 3)?;
    let (_, codes) = idx_bytes(labels, 1)?;
    let [rows, height, width] = shape[..] else { return Err(content(images, "not three dimensions")) };
    if codes.len() != rows {
        return Err(content(labels, format!("{} labels for {rows} images", codes.len())));
    }
    let values = pixels.iter().map(|&pixel| f32::from(pixel)).collect();
    let shape = ImageShape { channels: 1, height, width, channels_last: false };
    finish(images, Array::new(values, height * width)?.with_image(shape)?, &codes, classes)
}

fn finish(path: &Path, array: Array, labels: &[u8], classes: &[&str]) -> Result<Input> {
    if let Some(row) = labels.iter().position(|&label| usize::from(label) >= classes.len()) {
        let reason = format!("row {row}: label {} is not below the number of classes {}", labels[row], classes.len());
        return Err(content(path, reason));
    }
    let codes = labels.iter().map(|&label| label.into()).collect();
    Ok(input(Features::Array(array), class_column("label", codes, classes), path.display().to_string()))
}

/// Sizes and bytes of an IDX file with that many dimensions.
fn idx_bytes(path: &Path, dimensions: u8) -> Result<(Vec<usize>, Vec<u8>)> {
    let mut bytes = std::fs::read(path).map_err(io(path, "read"))?;
    let start = 4 + 4 * usize::from(dimensions);
    if bytes.len() < start || bytes[..4] != [0, 0, 8, dimensions] {
        return Err(content(path, format!("not an IDX file of bytes with {dimensions} dimensions")));
    }
    let size = |place: &[u8]| place.iter().fold(0usize, |size, &byte| size << 8 | usize::from(byte));
    let shape: Vec<usize> = bytes[4..start].chunks_exact(4).map(size).collect();
    let expected = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    if expected != Some(bytes.len() - start) || expected == Some(0) {
        return Err(content(path, format!("{} bytes of data for the sizes {shape:?}", bytes.len() - start)));
    }
    Ok((shape, bytes.split_off(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Values;

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
        assert!(message.contains("6148 bytes are not a whole number of records of 3073"), "{message}");
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
