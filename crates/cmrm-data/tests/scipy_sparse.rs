//! SciPy's sparse matrices in NPZ files.

mod common;

use std::io::{Cursor, Write};

use cmrm::SparseRows;
use cmrm_data::read::{ArrayNames, Limits, ReadOptions, Source, read};
use cmrm_data::{Error, Features, Input};
use common::{dense, matrices, npy_of, sparse, triples};
use proptest::prelude::*;
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

fn read_with(arrays: &[(&str, Vec<u8>)], options: &ReadOptions) -> Result<Input, Error> {
    read(&Source::bytes("a.npz", zipped(arrays, CompressionMethod::Deflated)), options)
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
            let rows = sparse(&input);
            assert_eq!((&dense(rows)[..], rows.width(), &input.labels), (&expected[..], 4, &None));
            assert_eq!(rows.kept(), 4, "numbers at the same place are one, and zeros are dropped");
        }
    }
}

/// Two rows of blocks, each one row high and two columns wide.
fn bsr() -> Arrays {
    let blocks: Vec<u8> = [1.0, 0.0, 0.0, 2.5, 3.0, -4.0].iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    vec![
        ("indices", ints(&[0, 1, 1])),
        ("indptr", ints(&[0, 2, 3])),
        ("format", format("bsr")),
        ("shape", longs(&[2, 4])),
        ("data", npy_of("<f8", false, "(3, 1, 2)", &blocks)),
    ]
}

/// Diagonals 3, 0, 1 and 2 with padding, a number that SciPy never looks at.
fn dia() -> Arrays {
    let data = [[9.0, 9.0, 9.0, 2.5], [1.0, 0.0, 9.0, 9.0], [9.0, 0.0, 3.0, 9.0], [9.0, 9.0, 0.0, -4.0]];
    let bytes: Vec<u8> = data.iter().flatten().flat_map(|value: &f64| value.to_le_bytes()).collect();
    vec![
        ("offsets", ints(&[3, 0, 1, 2])),
        ("format", format("dia")),
        ("shape", longs(&[2, 4])),
        ("data", npy_of("<f8", false, "(4, 4)", &bytes)),
    ]
}

#[test]
fn blocks_and_diagonals_are_the_same_matrix() {
    for arrays in [bsr(), dia()] {
        let input = read_with(&arrays, &ReadOptions::default()).unwrap();
        assert_eq!(dense(sparse(&input)), DENSE);
    }
    // Below the diagonal offsets are negative.
    let bytes: Vec<u8> = [5.0f64, 6.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let below = with(with(dia(), "offsets", ints(&[-1])), "data", npy_of("<f8", false, "(1, 2)", &bytes));
    let input = read_with(&below, &ReadOptions::default()).unwrap();
    assert_eq!(triples(sparse(&input)), [(1, 0, 5.0)]);
}

#[test]
fn unsorted_rows_are_sorted() {
    let arrays = with(csr(), "indices", ints(&[3, 0, 3, 3, 2]));
    let input = read_with(&arrays, &ReadOptions::default()).unwrap();
    assert_eq!(triples(sparse(&input)), [(0, 0, 2.0), (0, 3, 1.5), (1, 2, -4.0), (1, 3, 3.0)]);
}

#[test]
fn other_formats_are_refused_with_the_way_out() {
    let lil = with(csr(), "format", format("lil"));
    assert_eq!(
        refuse(&lil),
        "a.npz: a SciPy sparse matrix of format 'lil' is not supported; save it as CSR: scipy.sparse.save_npz(file, \
         matrix.tocsr())"
    );
    let line = with(csr(), "shape", longs(&[4]));
    assert!(refuse(&line).contains("dimensions of the sparse array: expected 2, found 1"));
}

#[test]
fn whatever_does_not_hold_together_is_refused() {
    for (arrays, message) in [
        (
            with(csr(), "indptr", ints(&[0, 3])),
            "'indptr', one more than the matrix has rows (csr, bsr) or columns (csc): expected 3",
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
        (with(csr(), "shape", longs(&[2, 0])), "a matrix of 2 rows and 0 columns is empty"),
        (with(bsr(), "shape", longs(&[2, 3])), "blocks of 1 by 2 do not fill a matrix of 2 rows and 3 columns"),
        (with(bsr(), "indices", ints(&[0, 1, 2])), "entry 2 is at row 1 and column 4"),
        (with(bsr(), "indices", longs(&[0, 1, i64::MAX])), "entry 2 is at row 1"),
        (with(bsr(), "data", doubles(&[1.0])), "dimensions of 'data' in the format bsr: expected 3, found 1"),
        (with(dia(), "data", doubles(&[1.0])), "dimensions of 'data' in the format dia: expected 2, found 1"),
        (with(dia(), "offsets", ints(&[0])), "rows of 'data', one for each of 'offsets': expected 1, found 4"),
        (with(dia(), "offsets", doubles(&[0.0])), "0 at position 0 is not a whole number"),
    ] {
        let error = refuse(&arrays);
        assert!(error.starts_with("a.npz") && error.contains(message), "{error}\n{message}");
    }
    let mut missing = csr();
    missing.retain(|(name, _)| *name != "indices");
    assert!(refuse(&missing).contains("the array 'indices' is missing"));
}

#[test]
fn a_declared_size_takes_no_memory() {
    // Only the numbers and the rows count: a row of half a million columns is none too many.
    let wide = read_with(&with(csr(), "shape", longs(&[2, 500_000])), &ReadOptions::default()).unwrap();
    assert_eq!((sparse(&wide).width(), sparse(&wide).kept()), (500_000, 4));
    let error = refuse(&with(coo(), "shape", longs(&[1 << 40, 4])));
    assert_eq!(
        error,
        "a.npz: the number of rows, for a file of this length, is 1099511627776, over the limit of 33554432; leave out \
         rows without numbers, or write the file again if it should not have so many"
    );
    let error = refuse(&with(coo(), "shape", longs(&[2, 1 << 40])));
    assert!(
        error.contains("the number of columns is 1099511627776, over the limit of 16777216; keep fewer columns"),
        "{error}"
    );
    let limits = Limits { unpacked_bytes: 1 << 10, ..Limits::default() };
    let tight = ReadOptions { limits, ..ReadOptions::default() };
    assert!(read_with(&with(coo(), "shape", longs(&[128, 4])), &tight).is_ok());
    assert!(read_with(&with(coo(), "shape", longs(&[129, 4])), &tight).is_err());
    // A diagonal may be declared anywhere.
    let far = with(dia(), "offsets", longs(&[i64::MIN, i64::MAX, 0, -1]));
    assert_eq!(sparse(&read_with(&far, &ReadOptions::default()).unwrap()).rows(), 2);
}

#[test]
fn an_array_asked_for_by_name_is_taken_as_it_is() {
    let arrays = ArrayNames { features: Some("data".into()), labels: None };
    let input = read_with(&csr(), &ReadOptions { arrays, ..ReadOptions::default() }).unwrap();
    assert!(matches!(input.features, Features::Array(array) if (array.rows(), array.width()) == (5, 1)));
}

/// The matrix as SciPy would save it in each of the formats.
fn every_format(rows: &SparseRows<f32>) -> Vec<Arrays> {
    let (height, width) = (rows.rows(), rows.width());
    let head = |name: &str| vec![("format", format(name)), ("shape", longs(&[height as i64, width as i64]))];
    let floats = |values: &[f32], shape: &str| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        npy_of("<f4", false, shape, &bytes)
    };
    let list = |values: &[f32]| floats(values, &format!("({},)", values.len()));
    // Sorted by `key`, and in each group from the last to the first, since no order is promised there.
    let grouped = |key: fn(&(usize, usize, f32)) -> usize, groups: usize| {
        let mut cells = triples(rows);
        cells.reverse();
        cells.sort_by_key(key);
        let starts: Vec<i64> =
            (0..=groups).map(|at| cells.iter().filter(|cell| key(cell) < at).count() as i64).collect();
        (cells, starts)
    };
    let mut all = Vec::new();
    let (cells, starts) = grouped(|cell| cell.0, height);
    let columns: Vec<i32> = cells.iter().map(|cell| cell.1 as i32).collect();
    let values: Vec<f32> = cells.iter().map(|cell| cell.2).collect();
    all.push(
        [head("csr"), vec![("indptr", longs(&starts)), ("indices", ints(&columns)), ("data", list(&values))]].concat(),
    );
    let (cells, starts) = grouped(|cell| cell.1, width);
    let (at_rows, at_columns): (Vec<i32>, Vec<i32>) = cells.iter().map(|cell| (cell.0 as i32, cell.1 as i32)).unzip();
    let values: Vec<f32> = cells.iter().map(|cell| cell.2).collect();
    all.push(
        [head("csc"), vec![("indptr", longs(&starts)), ("indices", ints(&at_rows)), ("data", list(&values))]].concat(),
    );
    all.push(
        [head("coo"), vec![("row", ints(&at_rows)), ("col", ints(&at_columns)), ("data", list(&values))]].concat(),
    );
    // One block that is the whole matrix, and every diagonal.
    let numbers = dense(rows);
    let block = floats(&numbers, &format!("(1, {height}, {width})"));
    all.push([head("bsr"), vec![("indptr", ints(&[0, 1])), ("indices", ints(&[0])), ("data", block)]].concat());
    let offsets: Vec<i32> = (1 - height as i32..width as i32).collect();
    let mut diagonals = vec![7.0; offsets.len() * width];
    for (at, value) in numbers.iter().enumerate() {
        let (row, column) = (at / width, at % width);
        diagonals[(column + height - 1 - row) * width + column] = *value;
    }
    let diagonals = floats(&diagonals, &format!("({}, {width})", offsets.len()));
    all.push([head("dia"), vec![("offsets", ints(&offsets)), ("data", diagonals)]].concat());
    all
}

proptest! {
    #[test]
    fn every_format_gives_back_the_matrix(rows in matrices()) {
        for arrays in every_format(&rows) {
            let input = read_with(&arrays, &ReadOptions::default()).unwrap();
            prop_assert_eq!(sparse(&input), &rows, "{:?}", arrays[0].1);
        }
    }
}
