//! SciPy's sparse matrices in NPZ files.

mod common;

use std::io::{Cursor, Write};

use cmrm_data::read::{ArrayNames, Limits, ReadOptions, Source, read};
use cmrm_data::{Array, Error, Features};
use common::npy_of;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// What the cases below hold, and one number of it in two parts.
const DENSE: [f32; 8] = [1.0, 0.0, 0.0, 2.5, 0.0, 0.0, 3.0, -4.0];

type Arrays = Vec<(&'static str, Vec<u8>)>;

fn zipped(arrays: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn refuse(arrays: &[(&str, Vec<u8>)]) -> String {
    read_with(arrays, &ReadOptions::default()).unwrap_err().to_string()
}

fn read_with(arrays: &[(&str, Vec<u8>)], options: &ReadOptions) -> Result<Array, Error> {
    read(&Source::bytes("a.npz", zipped(arrays, CompressionMethod::Deflated)), options).map(|input| {
        match input.features {
            Features::Array(array) => array,
            Features::Table(_) => panic!("a table where an array is expected"),
        }
    })
}

fn longs(values: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy_of("<i8", false, &format!("({},)", values.len()), &bytes)
}

fn ints(values: &[i32]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy_of("<i4", false, &format!("({},)", values.len()), &bytes)
}

fn doubles(values: &[f64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy_of("<f8", false, &format!("({},)", values.len()), &bytes)
}

fn format(name: &str) -> Vec<u8> {
    npy_of(&format!("|S{}", name.len()), false, "()", name.as_bytes())
}

/// Two rows and four columns; the last number of row 0 comes twice and is added up.
fn csr() -> Arrays {
    vec![
        ("indices", ints(&[0, 3, 3, 2, 3])),
        ("indptr", ints(&[0, 3, 5])),
        ("format", format("csr")),
        ("shape", longs(&[2, 4])),
        ("data", doubles(&[1.0, 2.0, 0.5, 3.0, -4.0])),
    ]
}

fn csc() -> Arrays {
    vec![
        ("indices", longs(&[0, 1, 1, 0, 0])),
        ("indptr", longs(&[0, 1, 1, 2, 5])),
        (
            "format",
            npy_of("<U3", false, "()", &"csc".chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>()),
        ),
        ("shape", longs(&[2, 4])),
        ("data", doubles(&[1.0, 3.0, -4.0, 2.0, 0.5])),
        ("_is_array", npy_of("|b1", false, "()", &[1])),
    ]
}

fn coo() -> Arrays {
    vec![
        ("row", ints(&[1, 0, 0, 1, 0])),
        ("col", ints(&[3, 3, 0, 2, 3])),
        ("format", format("coo")),
        ("shape", longs(&[2, 4])),
        ("data", ints(&[-4, 2, 1, 3, 0])),
    ]
}

/// The same arrays with one of them replaced.
fn with(mut arrays: Arrays, name: &str, bytes: Vec<u8>) -> Arrays {
    arrays.iter_mut().find(|(known, _)| *known == name).unwrap().1 = bytes;
    arrays
}

#[test]
fn compressed_rows_compressed_columns_and_coordinates_are_the_same_matrix() {
    let whole = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, -4.0];
    for (arrays, expected) in [(csr(), DENSE), (csc(), DENSE), (coo(), whole)] {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let source = Source::bytes("a.npz", zipped(&arrays, method));
            let input = read(&source, &ReadOptions::default()).unwrap();
            let Features::Array(array) = input.features else { panic!("no array") };
            assert_eq!((array.values(), array.width(), input.labels), (&expected[..], 4, None));
        }
    }
}

#[test]
fn other_formats_are_refused_with_the_way_out() {
    let bsr = with(csr(), "format", format("bsr"));
    assert_eq!(
        refuse(&bsr),
        "a.npz: a SciPy sparse matrix of format 'bsr' is not supported; save it as CSR: scipy.sparse.save_npz(file, \
         matrix.tocsr())"
    );
    let mut dia = with(csr(), "format", format("dia"));
    dia.retain(|(name, _)| !name.starts_with("ind"));
    dia.push(("offsets", ints(&[0])));
    assert!(refuse(&dia).contains("format 'dia' is not supported"));
    let line = with(csr(), "shape", longs(&[4]));
    assert!(refuse(&line).contains("dimensions of the sparse array: expected 2, found 1"));
}

#[test]
fn whatever_does_not_hold_together_is_refused() {
    for (arrays, message) in [
        (
            with(csr(), "indptr", ints(&[0, 3])),
            "'indptr', one more than the matrix has rows (csr) or columns (csc): expected 3",
        ),
        (
            with(csr(), "indptr", ints(&[0, 3, 4])),
            "the last entry of 'indptr', the length of 'indices': expected 5, found 4",
        ),
        (with(csr(), "indptr", ints(&[0, 9, 5])), "'indptr' falls from 9 to 5 at 1"),
        (with(csr(), "indptr", ints(&[1, 3, 5])), "'indptr' starts at 1 instead of 0"),
        (with(csr(), "indptr", ints(&[0, -3, 5])), "column 'indptr': not a readable NPZ file: -3 at position 1"),
        (
            with(csr(), "indices", ints(&[0, 3, 4, 2, 3])),
            "entry 2 is at row 0 and column 4 of a matrix with 2 rows and 4",
        ),
        (with(csc(), "indices", longs(&[0, 1, 1, 2, 0])), "entry 3 is at row 2 and column 3"),
        (with(csr(), "data", doubles(&[1.0])), "numbers in 'data', one for each of 'indices': expected 5, found 1"),
        (with(csr(), "data", npy_of("<c8", false, "(0,)", &[])), "element type '<c8' is not supported"),
        (with(coo(), "col", ints(&[0])), "entries of 'col', one for each of 'row': expected 5, found 1"),
        (
            with(coo(), "row", doubles(&[0.0; 5])),
            "column 'row': not a readable NPZ file: 0 at position 0 is not a size",
        ),
        (with(csr(), "shape", longs(&[2, -4])), "column 'shape': not a readable NPZ file: -4 at position 1"),
        (with(csr(), "shape", longs(&[2, 0])), "a sparse matrix of 2 rows and 0 columns is empty"),
        (with(csr(), "shape", longs(&[i64::MAX, i64::MAX])), "is 18446744073709551615, over the limit of 4294967296"),
    ] {
        let error = refuse(&arrays);
        assert!(error.starts_with("a.npz") && error.contains(message), "{error}\n{message}");
    }
    let mut missing = csr();
    missing.retain(|(name, _)| *name != "indices");
    assert!(refuse(&missing).contains("the array 'indices' is missing"));
}

#[test]
fn the_dense_size_is_limited_before_the_memory_is_taken() {
    let large = with(csr(), "shape", longs(&[12_000, 500_000]));
    let error = refuse(&large);
    assert!(
        error.starts_with(
            "a.npz: the sparse matrix of 12000 rows and 500000 columns, as the dense array it is read into, in bytes, is \
             24000000000, over the limit of 4294967296; keep fewer columns"
        ),
        "{error}"
    );
    let limits = Limits { unpacked_bytes: 1 << 20, ..Limits::default() };
    let small = with(csr(), "shape", longs(&[2, 1 << 20]));
    assert!(read_with(&small, &ReadOptions { limits, ..ReadOptions::default() }).is_err());
}

#[test]
fn an_array_asked_for_by_name_is_taken_as_it_is() {
    let arrays = ArrayNames { features: Some("data".into()), labels: None };
    let array = read_with(&csr(), &ReadOptions { arrays, ..ReadOptions::default() }).unwrap();
    assert_eq!((array.rows(), array.width()), (5, 1));
}
