//! Matrix Market files.

mod common;

use std::io::Write;

use cmrm_data::read::{Format, Limits, ReadOptions, Source, read, read_labels};
use cmrm_data::{Error, Features, Input};
use common::{matrices, sparse, triples};
use proptest::prelude::*;

fn read_text(text: &str) -> Result<Input, Error> {
    read(&Source::bytes("a.mtx", text.as_bytes().to_vec()), &ReadOptions::default())
}

/// A sparse matrix with this field and symmetry, behind its first line.
fn entries(kind: &str, rest: &str) -> Vec<(usize, usize, f32)> {
    triples(sparse(&read_text(&format!("%%MatrixMarket matrix coordinate {kind}\n{rest}")).unwrap()))
}

fn refuse(text: &str) -> String {
    read_text(text).unwrap_err().to_string()
}

#[test]
fn every_field_and_symmetry_of_coordinates() {
    let text = "% a comment\n%\n\n 2   3  3\n1 3 2.5\r\n\n% in between\n2 1 -1e1\n1 1 0\n";
    assert_eq!(entries("real general", text), [(0, 2, 2.5), (1, 0, -10.0)]);
    assert_eq!(entries("INTEGER General", "2 2 1\n2 2 -7\n"), [(1, 1, -7.0)]);
    assert_eq!(entries("pattern general", "2 2 2\n1 2\n2 1\n"), [(0, 1, 1.0), (1, 0, 1.0)]);
    assert_eq!(entries("double general", "1 1 2\n1 1 1\n1 1 2"), [(0, 0, 3.0)], "added up, as SciPy does");
    assert_eq!(entries("real symmetric", "2 2 2\n1 1 4\n2 1 5\n"), [(0, 0, 4.0), (0, 1, 5.0), (1, 0, 5.0)]);
    assert_eq!(entries("pattern symmetric", "2 2 1\n2 1\n"), [(0, 1, 1.0), (1, 0, 1.0)]);
    assert_eq!(entries("real skew-symmetric", "2 2 2\n2 1 5\n1 1 0\n"), [(0, 1, -5.0), (1, 0, 5.0)]);
    let input = read_text("%%MatrixMarket matrix coordinate pattern general\n3 500000 0\n").unwrap();
    assert_eq!((sparse(&input).rows(), sparse(&input).width(), input.labels), (3, 500_000, None));
}

#[test]
fn arrays_are_dense() {
    let array = |kind: &str, rest: &str| match read_text(&format!("%%MatrixMarket matrix array {kind}\n{rest}")) {
        Ok(Input { features: Features::Array(array), .. }) => (array.values().to_vec(), array.width()),
        other => panic!("{other:?}"),
    };
    assert_eq!(array("real general", "2 3\n1\n2\n3\n4\n5\n6\n"), (vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0], 3));
    assert_eq!(array("integer general", "2 1\n% several in a line\n1 2"), (vec![1.0, 2.0], 1));
    assert_eq!(array("real symmetric", "2 2\n1\n2\n3\n"), (vec![1.0, 2.0, 2.0, 3.0], 2));
    assert_eq!(
        array("real skew-symmetric", "3 3\n1\n2\n3\n"),
        (vec![0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0], 3)
    );
    assert_eq!(array("real skew-symmetric", "1 1\n"), (vec![0.0], 1));
}

#[test]
fn complex_matrices_are_refused_with_a_way_out() {
    for kind in ["coordinate complex general", "coordinate complex hermitian", "array complex symmetric"] {
        let error = refuse(&format!("%%MatrixMarket matrix {kind}\n1 1 1\n1 1 1 1\n"));
        assert!(error.starts_with("a.mtx, line 1: a matrix of complex numbers is not supported"), "{error}");
        assert!(error.contains("scipy.sparse.hstack([matrix.real, matrix.imag])"), "{error}");
    }
}

#[test]
fn what_is_not_of_the_format_is_refused_with_its_line() {
    let sized = |rest: &str| format!("%%MatrixMarket matrix coordinate real general\n% c\n{rest}");
    let dense = |rest: &str| format!("%%MatrixMarket matrix array real general\n{rest}");
    for (text, message) in [
        ("a b\n".to_string(), "line 1: not a readable Matrix Market file: the first line is not such as"),
        ("%%MatrixMarket vector coordinate real general\n".into(), "the first line is not such as"),
        ("%%MatrixMarket matrix coordinate real\n".into(), "the first line is not such as"),
        ("%%MatrixMarket matrix list real general\n".into(), "the form 'list' is neither coordinate nor array"),
        ("%%MatrixMarket matrix array pattern general\n1 1\n".into(), "the form array has no field pattern"),
        ("%%MatrixMarket matrix array text general\n1 1\n".into(), "a matrix of 'text' is not supported; write real"),
        ("%%MatrixMarket matrix array real odd\n1 1\n".into(), "the symmetry 'odd' is not supported"),
        ("%%MatrixMarket matrix array real symmetric\n1 2\n".into(), "a symmetric matrix of 1 rows and 2 columns"),
        (sized(""), "the line of sizes is missing"),
        (
            sized("1 1\n"),
            "line 3: not a readable Matrix Market file: expected the line of sizes: rows, columns and numbers",
        ),
        (sized("1 -1 1\n"), "expected the line of sizes"),
        (dense("1 1 1\n"), "line 2: not a readable Matrix Market file: expected the line of sizes: rows and columns"),
        (sized("0 1 0\n"), "a matrix of 0 rows and 1 columns is empty"),
        (dense("1 0\n"), "a matrix of 1 rows and 0 columns is empty"),
        (sized("1 1 1\n1 1\n"), "line 4: not a readable Matrix Market file: '1 1' is not a row, a column and a number"),
        (sized("1 1 1\n1 1 1 1\n"), "'1 1 1 1' is not a row, a column and a number"),
        (sized("1 1 1\n1 1 x\n"), "'1 1 x' is not a row, a column and a number"),
        (
            sized("1 1 1\n0 1 1\n"),
            "line 4: not a readable Matrix Market file: row 0 and column 1, counted from 1, of a matrix",
        ),
        (sized("1 1 1\n1 2 1\n"), "row 1 and column 2, counted from 1, of a matrix with 1 rows and 1 columns"),
        (sized("1 1 1\n1 1 1\n1 1 1\n"), "line 5: not a readable Matrix Market file: more than the 1 numbers"),
        (
            sized("1 1 3\n1 1 1\n"),
            "it ends after 1 of the 3 numbers that the line of sizes declares; the file is incomplete",
        ),
        (dense("2 1\n1\n"), "it ends after 1 of the 2 numbers"),
        (dense("1 1\n1\n2\n"), "line 4: not a readable Matrix Market file: more than the 1 numbers"),
        (dense("1 1\none\n"), "line 3: not a readable Matrix Market file: 'one' is not a number"),
        (
            "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n".into(),
            "3 on the diagonal of a skew-symmetric matrix, which is zero",
        ),
    ] {
        let error = refuse(&text);
        assert!(error.starts_with("a.mtx") && error.contains(message), "{error}\n{message}");
    }
}

#[test]
fn a_declared_size_takes_no_memory() {
    let coordinate = "%%MatrixMarket matrix coordinate real symmetric\n";
    let error = refuse(&format!("{coordinate}1000000000000 1000000000000 1\n1 1 1\n"));
    assert!(
        error.contains("the number of rows, for a file of this length, is 1000000000000, over the limit of"),
        "{error}"
    );
    let error = refuse(&format!("{coordinate}3 3 18446744073709551615\n1 1 1\n"));
    assert!(error.contains("ends after 1 of the 18446744073709551615 numbers"), "{error}");
    for kind in ["general", "symmetric", "skew-symmetric"] {
        let most = u64::MAX;
        let error = refuse(&format!("%%MatrixMarket matrix array real {kind}\n{most} {most}\n1\n"));
        assert!(error.contains("it ends after 1 of the"), "{error}");
    }
    let limits = Limits { unpacked_bytes: 1 << 10, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let rows = |rows: usize| Source::bytes("a", format!("%%MatrixMarket matrix coordinate real general\n{rows} 1 0\n"));
    assert!(read(&rows(128), &options).is_ok() && read(&rows(129), &options).is_err());
}

#[test]
fn the_content_tells_the_format_whatever_the_name() {
    let detect = |name: &str, text: &str| {
        Format::detect(&Source::bytes(name, text.as_bytes().to_vec()), &ReadOptions::default()).unwrap()
    };
    assert_eq!(detect("a.csv", "%%MatrixMarket matrix"), Format::Mtx);
    assert_eq!(detect("a", "%%matrixmarket MATRIX"), Format::Mtx);
    assert_eq!(detect("a.mtx.gz", "no such thing"), Format::Mtx);
    assert_eq!(detect("a", "%MatrixMarket,1\n"), Format::Csv);
    let source = Source::bytes("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n");
    let error = read_labels(&source, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the set of labels is empty; give one label per row as a column of a CSV file"), "{error}");
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(rows in matrices(), packed in any::<bool>()) {
        let mut cells = triples(&rows);
        cells.reverse();
        let mut text = format!(
            "%%MatrixMarket matrix coordinate real general\n%\n{} {} {}\n", rows.rows(), rows.width(), cells.len()
        );
        cells.iter().for_each(|(row, column, value)| text.push_str(&format!("{} {} {value:e}\n", row + 1, column + 1)));
        let mut bytes = text.into_bytes();
        if packed {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(&bytes).unwrap();
            bytes = packer.finish().unwrap();
        }
        let input = read(&Source::bytes("a", bytes), &ReadOptions::default()).unwrap();
        prop_assert_eq!(sparse(&input), &rows);
    }

    #[test]
    fn dense_matrices_are_turned_into_rows(width in 1..6usize, values in prop::collection::vec(any::<i16>(), 1..30)) {
        let rows = values.len().div_ceil(width);
        let number = |row: usize, column: usize| values.get(row * width + column).copied().unwrap_or(0);
        let mut text = format!("%%MatrixMarket matrix array integer general\n{rows} {width}\n");
        for column in 0..width {
            (0..rows).for_each(|row| text.push_str(&format!("{}\n", number(row, column))));
        }
        let Features::Array(array) = read_text(&text).unwrap().features else { panic!("no array") };
        let expected: Vec<f32> = (0..rows * width).map(|at| number(at / width, at % width).into()).collect();
        prop_assert_eq!(array.values(), &expected[..]);
    }
}
