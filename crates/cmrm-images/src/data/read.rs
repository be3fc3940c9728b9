//! Reading a folder of CIFAR's binary files, of IDX files, or of images by class.

use std::path::Path;

use cmrm_data::read::{ReadOptions, Source, read, read_path};
use cmrm_data::{Features, Input, LabelOptions};

use super::folder::{is_image_folder, read_folder};
use super::{ImageSet, Images};
use crate::error::{Error, Result};

/// Reads CIFAR-10 or CIFAR-100 (binary version), a set of IDX files (MNIST's family), or JPEG and PNG files in folders
/// `train/CLASS` and `test/CLASS` from the folder that holds them. With `side`, images of files are scaled and cut to
/// squares of so many pixels.
pub fn read_images(folder: &Path, side: Option<usize>) -> Result<ImageSet> {
    if is_image_folder(folder) {
        return read_folder(folder, side);
    }
    if side.is_some() {
        return Err(Error::in_file(folder, "`size` applies to folders of image files only; leave it out"));
    }
    let holds = |name: &str| folder.join(name).is_file();
    let idx = holds("t10k-images-idx3-ubyte") || holds("t10k-images-idx3-ubyte.gz");
    let (train, test) = if idx {
        ("train", "t10k")
    } else if holds("train.bin") {
        ("train", "test")
    } else if holds("data_batch_1.bin") {
        ("data_batch", "test_batch")
    } else {
        return Err(Error::in_file(
            folder,
            "no images; expected folders train/CLASS and test/CLASS of JPEG or PNG files, CIFAR's train.bin or \
             data_batch_1.bin, or t10k-images-idx3-ubyte",
        ));
    };
    let (train, classes) = read_part(folder, train, None)?;
    let (test, _) = read_part(folder, test, Some(&classes))?;
    let coarse_of = if holds("train.bin") { Some(coarse_classes(folder, &test.labels, classes.len())?) } else { None };
    ImageSet { train, test, classes, coarse_of }.check()
}

fn read_part(folder: &Path, name: &str, classes: Option<&[String]>) -> Result<(Images, Vec<String>)> {
    let mut options = ReadOptions::default();
    options.arrays.features = Some(name.to_string());
    let input = read_path(folder, &options)?;
    images_of(input, classes)
}

/// Turns numbers of an array with an image shape into bytes, channels last.
fn images_of(input: Input, classes: Option<&[String]>) -> Result<(Images, Vec<String>)> {
    let options = LabelOptions { classes: classes.map(<[String]>::to_vec), ..LabelOptions::default() };
    let labelled = input.encode_labels(&options)?;
    let Features::Array(array) = input.features else {
        return Err(Error::settings(format!("{}: a table, expected images", input.source)));
    };
    let (channels, height, width, channels_last) = match array.image() {
        Some(shape) => (shape.channels, shape.height, shape.width, shape.channels_last),
        None => {
            let side = (array.width() as f64).sqrt().round() as usize;
            if side * side != array.width() {
                return Err(Error::settings(format!(
                    "{}: rows of {} numbers are not images",
                    input.source,
                    array.width()
                )));
            }
            (1, side, side, true)
        }
    };
    let mut pixels = Vec::with_capacity(array.values().len());
    for row in array.values().chunks_exact(array.width()) {
        if channels_last {
            pixels.extend(row.iter().map(|&value| value as u8));
        } else {
            let plane = height * width;
            for pixel in 0..plane {
                pixels.extend((0..channels).map(|channel| row[channel * plane + pixel] as u8));
            }
        }
    }
    let labels = labelled.labels;
    let images = Images { pixels, labels: labels.indices, height, width, channels, ..Images::default() };
    Ok((images, labels.classes))
}

/// The coarse class of every fine one, from the smaller of CIFAR-100's two files.
fn coarse_classes(folder: &Path, fine: &[u32], classes: usize) -> Result<Vec<u32>> {
    let options = ReadOptions { coarse_labels: true, ..ReadOptions::default() };
    let path = folder.join("test.bin");
    let coarse = read(&Source::file(&path), &options)?.encode_labels(&LabelOptions::default())?.labels.indices;
    let mut coarse_of = vec![None; classes];
    for (&fine, &coarse) in fine.iter().zip(&coarse) {
        coarse_of[fine as usize] = Some(coarse);
    }
    coarse_of.into_iter().collect::<Option<_>>().ok_or_else(|| Error::in_file(&path, "a class has no image"))
}
