//! Folders of image files that the tests write: read as they are, refused by name.

use std::fs;
use std::path::Path;

use cmrm_images::data::{ImageSet, read_images};
use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage};

fn colour(width: u32, height: u32, pixel: [u8; 3]) -> DynamicImage {
    RgbImage::from_pixel(width, height, Rgb(pixel)).into()
}

fn put(folder: &Path, file: &str, image: &DynamicImage, format: ImageFormat) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    image.save_with_format(path, format).unwrap();
}

/// Two classes of red and blue PNG files, one JPEG among them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for part in ["train", "test"] {
        for at in 0..3 {
            put(folder.path(), &format!("{part}/red/{at}.png"), &colour(8, 6, [200, 10, 20]), ImageFormat::Png);
            put(folder.path(), &format!("{part}/blue/{at}.png"), &colour(8, 6, [10, 20, 200]), ImageFormat::Png);
        }
    }
    put(folder.path(), "train/red/3.jpg", &colour(8, 6, [200, 10, 20]), ImageFormat::Jpeg);
    folder
}

fn refused(folder: &Path, side: Option<usize>, words: &[&str]) {
    let error = read_images(folder, side).unwrap_err().to_string();
    for words in words {
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }
}

fn pixel(set: &ImageSet, row: usize) -> [u8; 3] {
    let images = &set.train;
    let size = images.height * images.width * images.channels;
    images.pixels[row * size..row * size + 3].try_into().unwrap()
}

#[test]
fn images_are_read_with_their_classes() {
    let folder = folder();
    let set = read_images(folder.path(), None).unwrap();
    assert_eq!(set.classes, ["blue", "red"]);
    assert_eq!(set.train.labels, [0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(set.test.labels, [0, 0, 0, 1, 1, 1]);
    assert_eq!((set.train.height, set.train.width, set.train.channels), (6, 8, 3));
    assert_eq!(set.train.files[6], "train/red/3.jpg");
    assert_eq!((pixel(&set, 0), pixel(&set, 5)), ([10, 20, 200], [200, 10, 20]));
    let jpeg = pixel(&set, 6);
    assert!(jpeg.iter().zip([200, 10, 20]).all(|(&a, b): (&u8, i32)| (i32::from(a) - b).abs() < 6), "{jpeg:?}");
}

#[test]
fn a_file_of_labels_overrules_the_folders() {
    let folder = folder();
    put(folder.path(), "train/loose.png", &colour(8, 6, [1, 2, 3]), ImageFormat::Png);
    refused(folder.path(), None, &["train/loose.png", "labels.csv"]);
    fs::write(folder.path().join("labels.csv"), "file,label\ntrain/loose.png,blue\ntrain/red/0.png,blue\n").unwrap();
    let set = read_images(folder.path(), None).unwrap();
    assert_eq!(set.train.files[3], "train/loose.png");
    assert_eq!(set.train.labels, [0, 0, 0, 0, 0, 1, 1, 1]);
    fs::write(folder.path().join("labels.csv"), "file,label\ntrain/loose.png,blue\ntrain/none.png,blue\n").unwrap();
    refused(folder.path(), None, &["labels.csv", "train/none.png"]);
    fs::write(folder.path().join("labels.csv"), "name,label\ntrain/loose.png,blue\n").unwrap();
    refused(folder.path(), None, &["labels.csv", "'file'"]);
}

#[test]
fn bad_files_are_refused_by_name() {
    let folder = folder();
    let file = folder.path().join("train/red/0.png");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    fs::write(folder.path().join("train/blue/1.png"), "no image").unwrap();
    refused(folder.path(), None, &["2 of 7 files", "red/0.png", "blue/1.png"]);
    let folder = self::folder();
    fs::write(folder.path().join("train/red/notes.txt"), "x").unwrap();
    refused(folder.path(), None, &["notes.txt", ".jpg"]);
    fs::remove_file(folder.path().join("train/red/notes.txt")).unwrap();
    put(folder.path(), "test/green/0.png", &colour(8, 6, [0, 200, 0]), ImageFormat::Png);
    refused(folder.path(), None, &["test/green/0.png", "'green' has no training image"]);
    fs::remove_dir_all(folder.path().join("test")).unwrap();
    refused(folder.path(), None, &["'test' or 'val'"]);
    let nothing = tempfile::tempdir().unwrap();
    refused(nothing.path(), None, &["no images; expected folders train/CLASS"]);
}

#[test]
fn sizes_must_agree_unless_one_is_wanted() {
    let folder = folder();
    put(folder.path(), "train/red/wide.png", &colour(20, 10, [200, 10, 20]), ImageFormat::Png);
    refused(folder.path(), None, &["wide.png", "20×10", "8×6", "size"]);
    let set = read_images(folder.path(), Some(4)).unwrap();
    assert_eq!((set.train.height, set.train.width), (4, 4));
    assert_eq!(pixel(&set, 7), [200, 10, 20]);
}

#[test]
fn grey_files_have_one_channel() {
    let folder = tempfile::tempdir().unwrap();
    let grey: DynamicImage = GrayImage::from_pixel(4, 4, Luma([77])).into();
    for part in ["train", "val"] {
        for class in ["a", "b"] {
            put(folder.path(), &format!("{part}/{class}/0.png"), &grey, ImageFormat::Png);
        }
    }
    let set = read_images(folder.path(), None).unwrap();
    assert_eq!((set.train.channels, set.train.pixels.len(), set.train.pixels[0]), (1, 32, 77));
    // One coloured file to judge by, and all are coloured.
    put(folder.path(), "val/a/0.png", &colour(4, 4, [1, 2, 3]), ImageFormat::Png);
    let set = read_images(folder.path(), None).unwrap();
    assert_eq!((set.train.channels, set.test.channels, set.train.pixels[2]), (3, 3, 77));
}
