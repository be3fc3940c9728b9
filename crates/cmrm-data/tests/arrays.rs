//! NPZ, IDX, CIFAR and folders of arrays.

mod common;

use std::io::{Cursor, Write};

use cmrm_data::read::{ArrayNames, Format, Limits, ReadOptions, Source, read, read_labels, read_path};
use cmrm_data::{Array, Error, Features, Input, LabelOptions};
use common::npy_of;
use flate2::Compression;
use flate2::write::GzEncoder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn array(input: &Input) -> &Array {
    match &input.features {
        Features::Array(array) => array,
        _ => panic!("a table where an array is expected"),
    }
}

fn classes(input: &Input) -> (Vec<String>, Vec<u32>) {
    let labels = input.encode_labels(&LabelOptions::default()).unwrap().labels;
    (labels.classes, labels.indices)
}

fn zip_of(method: CompressionMethod, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn npz(bytes: Vec<u8>, options: &ReadOptions) -> Result<Input, Error> {
    read(&Source::bytes("a.npz", bytes), options)
}

#[test]
fn archives_stored_and_deflated() {
    let x = npy_of("<f4", false, "(2, 3)", &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let y = npy_of("|u1", false, "(2,)", &[7, 3]);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = zip_of(method, &[("y.npy", &y), ("readme.txt", b"hello"), ("X.npy", &x)]);
        let input = npz(bytes, &ReadOptions::default()).unwrap();
        assert_eq!((array(&input).values(), array(&input).width()), (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], 3));
        assert_eq!(classes(&input), (vec!["3".into(), "7".into()], vec![1, 0]));
    }
    let arrays = ArrayNames { features: Some("x_test".into()), labels: Some("y_test".into()) };
    let options = ReadOptions { arrays, ..ReadOptions::default() };
    let files: &[(&str, &[u8])] = &[("x_train.npy", b"junk"), ("x_test.npy", &x), ("y_test.npy", &y)];
    assert_eq!(array(&npz(zip_of(CompressionMethod::Stored, files), &options).unwrap()).rows(), 2);
}

#[test]
fn a_bomb_is_refused_by_what_it_declares_and_by_what_comes_out() {
    let zeros = npy_of("<f4", false, "(1000000, 4)", &vec![0; 16_000_000]);
    let bytes = zip_of(CompressionMethod::Deflated, &[("X.npy", &zeros)]);
    assert!(bytes.len() < 100_000);
    let limits = Limits { unpacked_bytes: 1 << 20, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let error = npz(bytes.clone(), &options).unwrap_err().to_string();
    assert!(
        error.starts_with("a.npz: array 'X', unpacked, in bytes, is 16000128, over the limit of 1048576"),
        "{error}"
    );
    // The same archive with the declared size set to a thousand, in both places where it stands.
    let size = 16_000_128u32.to_le_bytes();
    let mut lying = bytes.clone();
    let places: Vec<usize> = (0..lying.len() - 4).filter(|&at| lying[at..at + 4] == size).collect();
    assert_eq!(places.len(), 2);
    for at in places {
        lying[at..at + 4].copy_from_slice(&1000u32.to_le_bytes());
    }
    let error = npz(lying, &options).unwrap_err().to_string();
    assert!(error.starts_with("a.npz"), "{error}");
    assert!(npz(bytes, &ReadOptions::default()).is_ok());
}

#[test]
fn bad_archives_are_refused() {
    let plain = ReadOptions::default();
    let refused = |bytes: Vec<u8>| npz(bytes, &plain).unwrap_err().to_string();
    let huge = npy_of("<f8", false, "(1000000000, 1000000)", &[0; 8]);
    let y = npy_of("|u1", false, "(3,)", &[7, 3, 1]);
    let x = npy_of("<f4", false, "(2, 1)", &floats(&[1.0, 2.0]));
    for (bytes, message) in [
        (b"PK\x03\x04 and nothing more".to_vec(), "not a readable NPZ file"),
        (zip_of(CompressionMethod::Stored, &[]), "holds no NPY file"),
        (zip_of(CompressionMethod::Stored, &[("a.txt", b"x")]), "holds no NPY file"),
        (zip_of(CompressionMethod::Stored, &[("X.npy", b"not an array")]), "column 'X': not a readable NPY file"),
        (zip_of(CompressionMethod::Stored, &[("X.npy", &huge)]), "8000000000000000 bytes expected, 8 found"),
        (
            zip_of(CompressionMethod::Stored, &[("X.npy", &x), ("y.npy", &y)]),
            "labels, one for each row: expected 2, found 3",
        ),
        (
            zip_of(CompressionMethod::Stored, &[("a.npy", &x), ("b.npy", &y)]),
            "the arrays are 'a', 'b'; rename the one that holds the features",
        ),
    ] {
        let error = refused(bytes);
        assert!(error.contains(message), "{error}\n{message}");
    }
    let mut cut = zip_of(CompressionMethod::Deflated, &[("X.npy", &x)]);
    cut.truncate(cut.len() - 30);
    assert!(refused(cut).contains("not a readable NPZ file"));
}

fn idx(code: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, code, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(data);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn idx_of_every_type_packed_or_not() {
    for (code, data, expected) in [
        (0x08, vec![0, 255], [0.0, 255.0]),
        (0x09, vec![0xff, 1], [-1.0, 1.0]),
        (0x0b, vec![0xff, 0xfe, 1, 0], [-2.0, 256.0]),
        (0x0c, vec![0xff, 0xff, 0xff, 0xfd, 0, 1, 0, 0], [-3.0, 65536.0]),
        (0x0d, [0.1f32.to_be_bytes(), 2f32.to_be_bytes()].concat(), [0.1, 2.0]),
        (0x0e, [0.1f64.to_be_bytes(), 2f64.to_be_bytes()].concat(), [0.1, 2.0]),
    ] {
        let bytes = idx(code, &[1, 2], &data);
        for bytes in [bytes.clone(), gzip(&bytes)] {
            let input = read(&Source::bytes("a", bytes), &ReadOptions::default()).unwrap();
            assert_eq!(array(&input).values(), expected, "{code:#x}");
        }
    }
    let input = read(&Source::bytes("a", idx(0x08, &[2, 2, 3], &[1; 12])), &ReadOptions::default()).unwrap();
    let image = array(&input).image().unwrap();
    assert_eq!((image.height, image.width, array(&input).rows()), (2, 3, 2));
}

#[test]
fn bad_idx_files_are_refused() {
    let options = ReadOptions { format: Some(Format::Idx), ..ReadOptions::default() };
    for (bytes, message) in [
        (
            idx(0x08, &[3, 2], &[0; 5]),
            "a: the array of uint8 with shape [3, 2] is cut short: 6 bytes expected, 5 found",
        ),
        (gzip(&idx(0x08, &[3, 2], &[0; 5])), "6 bytes expected, 5 found"),
        (idx(0x08, &[u32::MAX, u32::MAX, u32::MAX], &[]), "over the limit"),
        (gzip(&idx(0x0e, &[u32::MAX, 1 << 28], &[])), "9223372034707292160 bytes expected, 0 found"),
        (idx(0x0a, &[1], &[0]), "the IDX element type 0x0a is not supported"),
        (vec![0, 0, 8, 200], "the number of dimensions is 200, over the limit of 32"),
        (vec![0, 0, 8, 2, 0, 0], "the IDX header is cut short: 8 bytes expected, 2 found"),
        (vec![1, 0, 8, 1], "two zero bytes"),
        (vec![], "the IDX header is cut short"),
        (idx(0x08, &[0], &[]), "is empty"),
    ] {
        let error = read(&Source::bytes("a", bytes), &options).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
    // A packed file that unpacks to more than is allowed.
    let limits = Limits { unpacked_bytes: 1000, ..Limits::default() };
    let bomb = gzip(&idx(0x08, &[100_000], &vec![0; 100_000]));
    let error = read(&Source::bytes("a", bomb), &ReadOptions { limits, ..options }).unwrap_err().to_string();
    assert!(error.contains("is 1001, over the limit of 1000"), "{error}");
}

fn cifar(record: usize, labels: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (row, label) in labels.iter().enumerate() {
        bytes.extend(*label);
        bytes.extend((0..record - label.len()).map(|at| (at + row) as u8));
    }
    bytes
}

#[test]
fn both_cifar_formats_and_both_kinds_of_label() {
    let ten = Source::bytes("data_batch_1.bin", cifar(3073, &[&[3], &[9], &[3]]));
    let input = read(&ten, &ReadOptions::default()).unwrap();
    assert_eq!(classes(&input), (vec!["3".into(), "9".into()], vec![0, 1, 0]));
    let image = array(&input).image().unwrap();
    assert_eq!((image.channels, image.height, image.width, image.channels_last), (3, 32, 32, false));
    assert_eq!(array(&input).values()[3072..3075], [1.0, 2.0, 3.0]);
    let hundred = Source::bytes("train.bin", cifar(3074, &[&[19, 99], &[0, 7]]));
    assert_eq!(classes(&read(&hundred, &ReadOptions::default()).unwrap()).0, ["7", "99"]);
    let coarse = ReadOptions { coarse_labels: true, ..ReadOptions::default() };
    assert_eq!(classes(&read(&hundred, &coarse).unwrap()).0, ["0", "19"]);

    let ten = |bytes: Vec<u8>| {
        let options = ReadOptions { format: Some(Format::Cifar10), ..ReadOptions::default() };
        read(&Source::bytes("a.bin", bytes), &options).unwrap_err().to_string()
    };
    let error = ten(cifar(3073, &[&[3], &[10]]));
    assert!(error.starts_with("a.bin, row 1: not a readable CIFAR file: class 10 is not below 10"), "{error}");
    let mut cut = cifar(3073, &[&[3], &[1]]);
    cut.pop();
    assert!(ten(cut).contains("6146 bytes expected, 6145 found"));
    assert!(ten(Vec::new()).contains("3073 bytes expected, 0 found"));
}

#[test]
fn folders_of_arrays_are_put_together() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let plain = ReadOptions::default();
    let error = read_path(folder.path(), &plain).unwrap_err().to_string();
    assert!(error.contains("put features.npy and labels.npy there"), "{error}");
    write("set.train0.npy", &npy_of("<f4", false, "(2, 1)", &floats(&[1.0, 2.0])));
    write("set.train1.npy", &npy_of("<f2", false, "(1, 1)", &[0x00, 0x42]));
    write("set.labels.npy", &npy_of("<i4", false, "(3,)", &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]));
    let arrays = ArrayNames { features: Some("set.train".into()), labels: Some("set.labels".into()) };
    let input = read_path(folder.path(), &ReadOptions { arrays, ..plain.clone() }).unwrap();
    assert_eq!(array(&input).values(), [1.0, 2.0, 3.0]);
    assert_eq!(classes(&input).1, [1, 0, 1]);
    assert!(read_path(folder.path(), &plain).unwrap_err().to_string().contains("'set.train0'"));
    write("features.npy", &npy_of("<f4", false, "(2, 1)", &floats(&[5.0, 6.0])));
    write("labels.npy", &npy_of("|S1", false, "(2,)", b"ab"));
    assert_eq!(classes(&read_path(folder.path(), &plain).unwrap()).0, ["a", "b"]);
    let error = read_path(&folder.path().join("no.npy"), &plain).unwrap_err().to_string();
    assert!(error.contains("no.npy") && error.contains("check the name"), "{error}");
}

#[test]
fn folders_of_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let plain = ReadOptions::default();
    write("data_batch_2.bin", &cifar(3073, &[&[2], &[1]]));
    write("data_batch_1.bin", &cifar(3073, &[&[0]]));
    write("test_batch.bin", &cifar(3073, &[&[5]]));
    let input = read_path(folder.path(), &plain).unwrap();
    assert_eq!((array(&input).rows(), classes(&input).1), (3, vec![0, 2, 1]));
    write("train-images-idx3-ubyte.gz", &gzip(&idx(8, &[2, 1, 2], &[1, 2, 3, 4])));
    write("train-labels-idx1-ubyte", &idx(8, &[2], &[9, 4]));
    write("t10k-images-idx3-ubyte", &idx(8, &[1, 1, 2], &[7, 8]));
    let input = read_path(folder.path(), &plain).unwrap();
    assert_eq!((array(&input).values(), classes(&input).0), (&[1.0, 2.0, 3.0, 4.0][..], vec!["4".into(), "9".into()]));
    let arrays = ArrayNames { features: Some("t10k".into()), labels: None };
    let input = read_path(folder.path(), &ReadOptions { arrays, ..plain.clone() }).unwrap();
    assert_eq!((array(&input).values(), &input.labels), (&[7.0, 8.0][..], &None));
    let labels = read_labels(&Source::file(folder.path().join("train-labels-idx1-ubyte")), &plain).unwrap();
    assert_eq!(labels.text(0).unwrap(), "9");
}

#[test]
fn labels_in_a_text_file_of_their_own() {
    let labels = |text: &str, options: &ReadOptions| {
        read_labels(&Source::bytes("y.csv", text.as_bytes().to_vec()), options).map(|column| {
            (0..column.len()).map(|row| column.text(row).map(|text| text.into_owned())).collect::<Vec<_>>()
        })
    };
    let some = |texts: &[&str]| texts.iter().map(|text| Some(text.to_string())).collect::<Vec<_>>();
    assert_eq!(labels("01\n2\n", &ReadOptions::default()).unwrap(), some(&["01", "2"]));
    assert_eq!(labels("y\n01\n?\n2\n", &ReadOptions::default()).unwrap(), [Some("01".into()), None, Some("2".into())]);
    assert_eq!(labels("i,y\n0,a\n1,b\n", &common::labelled("y")).unwrap(), some(&["a", "b"]));
    let error = labels("i,y\n0,a\n1,b\n", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("has 2 columns; name the label column: 'i', 'y'"), "{error}");
    let error = read(&Source::bytes("a.npy", npy_of("<f4", false, "(1,)", &[0; 4])), &common::labelled("y"));
    assert!(error.unwrap_err().to_string().contains("a file of format npy has no column 'y'"));
}
