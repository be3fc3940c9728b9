//! NPY files: every element type, both orders, and what is refused.

mod common;

use cmrm::audit::RowSource;
use cmrm_data::read::{NpyRows, ReadOptions, Source, open, read, read_npy_labels};
use cmrm_data::{Array, Features};
use common::{npy, npy_of};

fn array(bytes: Vec<u8>) -> Array {
    match read(&Source::bytes("a.npy", bytes), &ReadOptions::default()).unwrap().features {
        Features::Array(array) => array,
        _ => panic!("a table where an array is expected"),
    }
}

fn refused(bytes: Vec<u8>) -> String {
    read(&Source::bytes("a.npy", bytes), &ReadOptions::default()).unwrap_err().to_string()
}

fn bytes<const N: usize, T: Copy>(values: &[T], encode: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| encode(value)).collect()
}

#[test]
fn every_element_type_in_both_byte_orders() {
    // float16: 1 = 0x3c00, -2 = 0xc000, 65504 = 0x7bff, the smallest subnormal = 0x0001.
    let half = [0x3c00u16, 0xc000, 0x7bff, 0x0001];
    let halves = [1.0, -2.0, 65504.0, 2f32.powi(-24)];
    let cases: Vec<(&str, Vec<u8>, Vec<f32>)> = vec![
        ("<f2", bytes(&half, u16::to_le_bytes), halves.to_vec()),
        (">f2", bytes(&half, u16::to_be_bytes), halves.to_vec()),
        ("<f4", bytes(&[0.1f32, -3e38], f32::to_le_bytes), vec![0.1, -3e38]),
        (">f4", bytes(&[0.1f32, -3e38], f32::to_be_bytes), vec![0.1, -3e38]),
        ("<f8", bytes(&[0.1f64, 1e-300], f64::to_le_bytes), vec![0.1, 0.0]),
        (">f8", bytes(&[0.1f64, 1e-300], f64::to_be_bytes), vec![0.1, 0.0]),
        ("|i1", vec![0xff, 0x7f], vec![-1.0, 127.0]),
        ("|u1", vec![0xff, 0x7f], vec![255.0, 127.0]),
        ("|b1", vec![0, 1], vec![0.0, 1.0]),
        ("<i2", bytes(&[-300i16, 5], i16::to_le_bytes), vec![-300.0, 5.0]),
        (">i2", bytes(&[-300i16, 5], i16::to_be_bytes), vec![-300.0, 5.0]),
        ("<u2", bytes(&[65535u16, 5], u16::to_le_bytes), vec![65535.0, 5.0]),
        ("<i4", bytes(&[i32::MIN, 5], i32::to_le_bytes), vec![-2147483648.0, 5.0]),
        (">u4", bytes(&[u32::MAX, 5], u32::to_be_bytes), vec![4294967296.0, 5.0]),
        ("<i8", bytes(&[i64::MIN, 5], i64::to_le_bytes), vec![-9223372036854775808.0, 5.0]),
        (">i8", bytes(&[-1i64, 5], i64::to_be_bytes), vec![-1.0, 5.0]),
        ("<u8", bytes(&[u64::MAX, 5], u64::to_le_bytes), vec![18446744073709551616.0, 5.0]),
    ];
    for (descr, data, expected) in cases {
        let written = npy_of(descr, false, &format!("({},)", expected.len()), &data);
        let array = array(written.clone());
        assert_eq!((array.values(), array.width()), (&expected[..], 1), "{descr}");
        if let Some(rows) = rows(&written).unwrap() {
            let mut room = vec![7.0];
            assert_eq!((rows.rows(), rows.classes()), (expected.len(), 1));
            assert_eq!(rows.read(1, expected.len() - 1, &mut room).unwrap(), &expected[1..], "{descr}");
            let error = rows.read(1, expected.len(), &mut room).unwrap_err().to_string();
            assert!(error.contains("a.npy, from row 1") && error.contains("change"), "{error}");
        }
    }
}

/// Rows of an array that lies in a file.
fn rows(bytes: &[u8]) -> Result<Option<NpyRows>, cmrm_data::Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    std::fs::write(&path, bytes).unwrap();
    NpyRows::open(&Source::file(path), &ReadOptions::default())
}

#[test]
fn rows_are_read_in_any_order_only_where_they_lie_together() {
    let data = bytes(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], f32::to_le_bytes);
    let by_row = rows(&npy_of("<f4", false, "(3, 2)", &data)).unwrap();
    assert_eq!(by_row.is_some(), cfg!(unix));
    if let Some(by_row) = by_row {
        assert_eq!(by_row.read(2, 1, &mut Vec::new()).unwrap(), [5.0, 6.0]);
        assert_eq!(by_row.read(0, 2, &mut Vec::new()).unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }
    assert!(rows(&npy_of("<f4", true, "(3, 2)", &data)).unwrap().is_none());
    let memory = Source::bytes("a.npy", npy_of("<f4", false, "(3, 2)", &data));
    assert!(NpyRows::open(&memory, &ReadOptions::default()).unwrap().is_none());
    let cut = rows(&npy_of("<f4", false, "(4, 2)", &data)).unwrap_err().to_string();
    assert!(cut.contains("a.npy") && cut.contains("incomplete"), "{cut}");
}

#[test]
fn fortran_order_is_turned() {
    let values: Vec<f32> = (0..24).map(|value| value as f32).collect();
    let c = array(npy_of("<f4", false, "(2, 3, 4)", &bytes(&values, f32::to_le_bytes)));
    let mut turned = Vec::new();
    for k in 0..4 {
        for j in 0..3 {
            for i in 0..2 {
                turned.push(values[(i * 3 + j) * 4 + k]);
            }
        }
    }
    let fortran = array(npy_of("<f4", true, "(2, 3, 4)", &bytes(&turned, f32::to_le_bytes)));
    assert_eq!(c, fortran);
    assert_eq!((c.rows(), c.width()), (2, 12));
    let image = c.image().unwrap();
    assert_eq!((image.height, image.width, image.channels), (3, 4, 1));
    let flat = array(npy_of("<f4", true, "(3, 2)", &bytes(&[1f32, 3.0, 5.0, 2.0, 4.0, 6.0], f32::to_le_bytes)));
    assert_eq!(flat.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn headers_of_every_version_and_spelling() {
    let data = bytes(&[1f32, 2.0], f32::to_le_bytes);
    for dictionary in [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }",
        "{\"shape\":(2,1),\"descr\":\"<f4\",\"fortran_order\":False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L)}",
    ] {
        let one = npy(dictionary, &data);
        assert_eq!(array(one.clone()).values(), [1.0, 2.0], "{dictionary}");
        let header = &one[10..one.len() - 8];
        let mut two = b"\x93NUMPY\x02\x00".to_vec();
        two.extend((header.len() as u32).to_le_bytes());
        two.extend(header);
        two.extend(&data);
        assert_eq!(array(two).values(), [1.0, 2.0], "{dictionary}");
    }
}

#[test]
fn labels_of_every_type_become_text() {
    let labels = |descr: &str, shape: &str, data: &[u8]| {
        let column =
            read_npy_labels(&Source::bytes("y.npy", npy_of(descr, false, shape, data)), &ReadOptions::default())
                .unwrap();
        (0..column.len()).map(|row| column.text(row).map(|text| text.into_owned())).collect::<Vec<_>>()
    };
    let some = |texts: &[&str]| texts.iter().map(|text| Some(text.to_string())).collect::<Vec<_>>();
    assert_eq!(
        labels("<i8", "(2,)", &bytes(&[-3i64, i64::MAX], i64::to_le_bytes)),
        some(&["-3", "9223372036854775807"])
    );
    assert_eq!(labels("|u1", "(3, 1)", &[0, 9, 255]), some(&["0", "9", "255"]));
    assert_eq!(labels("|b1", "(2,)", &[0, 1]), some(&["false", "true"]));
    assert_eq!(labels("<f4", "(2,)", &bytes(&[0.1f32, 2.0], f32::to_le_bytes)), some(&["0.1", "2"]));
    assert_eq!(labels("<f8", "(2,)", &bytes(&[f64::NAN, 2.0], f64::to_le_bytes)), [None, Some("2".into())]);
    assert_eq!(labels("|S3", "(2,)", b"ab\0xyz"), some(&["ab", "xyz"]));
    let text: Vec<u8> = "é\0ab".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    assert_eq!(labels("<U2", "(2,)", &text), some(&["é", "ab"]));
    let text: Vec<u8> = "é\0\0\0".chars().flat_map(|c| (c as u32).to_be_bytes()).collect();
    assert_eq!(labels(">U2", "(2,)", &text), [Some("é".into()), None]);
    let one_hot = Source::bytes("y.npy", npy_of("|u1", false, "(1, 2)", &[0, 1]));
    let error = read_npy_labels(&one_hot, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("argmax"), "{error}");
}

#[test]
fn bad_files_are_refused_before_anything_is_allocated() {
    for (bytes, message) in [
        (
            npy_of("<f4", false, "(10, 2)", &[0; 79]),
            "a.npy: the array of float32 with shape [10, 2] is cut short: 80 bytes expected, 79 found",
        ),
        (npy_of("<f8", false, "(1000000000, 1000000)", &[0; 8]), "8000000000000000 bytes expected, 8 found"),
        (npy_of("<f8", false, "(9999999999999999, 999999999999)", &[]), "over the limit"),
        (npy_of("<f8", false, "(99999999999999999999999,)", &[]), "not a size this machine can hold"),
        (npy_of("<f8", false, "(99999999999999999, 0)", &[]), "is empty"),
        (npy_of("<f8", false, "()", &[0; 8]), "without dimensions"),
        (npy_of("|O", false, "(1,)", &[0; 8]), "the NumPy element type '|O' is not supported"),
        (npy_of("<c8", false, "(1,)", &[0; 8]), "'<c8' is not supported"),
        (npy_of("<U4", false, "(1,)", &[0; 16]), "text as features"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]), "structured"),
        (npy("{'descr': '<f4', 'shape': (1,)}", &[0; 4]), "lacks"),
        (npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", &[]), "neither True nor False"),
        (npy("{'descr': '<f4", &[]), "open string"),
        (npy("[]", &[]), "where '{' is expected"),
        (npy(&format!("{{'shape': ({})}}", "1,".repeat(100)), &[]), "the number of dimensions is 33"),
        (b"\x93NUMPY\x09\x00".to_vec(), "format version 9"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "the NPY header, in bytes, is 4294967295, over the limit"),
        (b"\x93NUMPY\x01\x00\x10\x00{'de".to_vec(), "the NPY header is cut short: 16 bytes expected, 4 found"),
    ] {
        let error = refused(bytes);
        assert!(error.contains(message), "{error}\n{message}");
    }
}

#[test]
fn chunks_put_together_are_the_array() {
    let values: Vec<f32> = (0..300).map(|value| value as f32).collect();
    let file = npy_of("<f4", false, "(100, 3)", &bytes(&values, f32::to_le_bytes));
    let whole = array(file.clone());
    for rows in [1, 33, 100, 1000] {
        let opened = open(&Source::bytes("a.npy", file.clone()), &ReadOptions::default()).unwrap();
        let mut chunks = opened.chunks(rows).unwrap().map(Result::unwrap);
        let mut joined = chunks.next().unwrap();
        for chunk in chunks {
            assert_eq!(chunk.features.first_row(), joined.features.rows() as u64);
            joined.append(chunk).unwrap();
        }
        assert_eq!(joined.features, Features::Array(whole.clone()));
    }
}
