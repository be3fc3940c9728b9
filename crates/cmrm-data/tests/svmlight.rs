//! svmlight's and libsvm's format.

mod common;

use std::fmt::Write as _;
use std::io::Write;

use cmrm_data::read::{Expected, Format, ReadOptions, Source, read, read_labels};
use cmrm_data::{Error, Input};
use common::{matrices, sparse, triples};
use proptest::prelude::*;

fn read_text(text: impl AsRef<[u8]>) -> Result<Input, Error> {
    read(&Source::bytes("a.svm", text.as_ref().to_vec()), &ReadOptions::default())
}

fn refuse(text: &str) -> String {
    read_text(text).unwrap_err().to_string()
}

fn labels(input: &Input) -> Vec<Option<String>> {
    let column = input.labels.as_ref().expect("labels");
    (0..column.len()).map(|row| column.text(row).map(|text| text.into_owned())).collect()
}

/// What a model expects that was fitted on unnamed columns.
fn for_model(width: usize) -> ReadOptions {
    let expected = Some(Expected::of_array(width));
    ReadOptions { format: Some(Format::Svmlight), expected, ..ReadOptions::default() }
}

#[test]
fn rows_labels_comments_and_queries() {
    let text =
        "\u{feff}# made by hand\r\n+1 3:0.5 1:2e0\t7:-1 # a comment 9:9\r\n\r\n-1 qid:12 2:0 4:1\n  spam\n1 qid:3\n";
    let input = read_text(text).unwrap();
    let rows = sparse(&input);
    // The indices are the columns, sorted, and a zero that is written out is still none.
    assert_eq!(triples(rows), [(0, 1, 2.0), (0, 3, 0.5), (0, 7, -1.0), (1, 4, 1.0)]);
    assert_eq!((rows.rows(), rows.width()), (4, 8));
    assert_eq!(labels(&input), [Some("1"), Some("-1"), Some("spam"), Some("1")].map(|name| name.map(String::from)));
    assert_eq!(read_labels(&Source::bytes("a.svm", text), &ReadOptions::default()).unwrap(), input.labels.unwrap());
}

#[test]
fn labels_may_be_missing() {
    let input = read_text("a 0:1\n1:1\nqid:4 2:1\nqid:5 # no numbers\n").unwrap();
    assert_eq!(labels(&input), [Some("a".to_string()), None, None, None]);
    let input = read_text("0:1\n1:1 2:1").unwrap();
    assert_eq!((input.labels.as_ref(), sparse(&input).rows()), (None, 2));
    let source = Source::bytes("a.svm", "0:1\n");
    let error = read_labels(&source, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("the set of labels is empty; give one label per row"), "{error}");
}

#[test]
fn a_column_is_its_index_however_the_file_counts() {
    // No index 0 in either file, and yet the second is no guess away from the first.
    let training = read_text("1 1:1 3:1\n0 2:1\n").unwrap();
    assert_eq!(sparse(&training).width(), 4);
    let new = read(&Source::bytes("new", "1 2:5\n"), &for_model(4)).unwrap();
    assert_eq!((triples(sparse(&new)), sparse(&new).width()), (vec![(0, 2, 5.0)], 4));
    assert_eq!(sparse(&read_text("1 16777215:1\n").unwrap()).width(), 1 << 24);
}

#[test]
fn a_model_says_how_wide_rows_are() {
    let source = Source::bytes("new.svm", "1 1:1\n0 2:1 9:1\n1 4:1\n");
    assert_eq!(sparse(&read(&source, &for_model(10)).unwrap()).width(), 10);
    assert_eq!(sparse(&read(&Source::bytes("new.svm", "1\n"), &for_model(10)).unwrap()).width(), 10);
    assert_eq!(
        read(&source, &for_model(9)).unwrap_err().to_string(),
        "new.svm, row 1: the largest index is 9, over the limit of 8; the model knows no index beyond that: leave such \
         numbers out, or fit it on data that has them"
    );
    // A model with named columns takes no width from them.
    let mut named = for_model(20);
    named.expected.as_mut().unwrap().unnamed = false;
    assert_eq!(sparse(&read(&source, &named).unwrap()).width(), 10);
}

#[test]
fn what_is_not_of_the_format_is_refused_with_its_line() {
    for (text, message) in [
        ("1 1:1\n\n0 2:x\n", "row 1 (line 3): not a readable svmlight file: '2:x' does not end with a number"),
        (
            "1 1:1 2\n",
            "row 0 (line 1): not a readable svmlight file: '2' has no colon; write every number as index:value",
        ),
        ("1 -1:1\n", "'-1:1' does not start with an index, a whole number from 0 on"),
        ("1 +1:1\n", "'+1:1' does not start with an index"),
        ("1 :1\n", "':1' does not start with an index"),
        ("1 16777216:1\n", "row 0 (line 1): an index is 16777216, over the limit of 16777215; keep fewer columns"),
        ("1 99999999999999999999:1\n", "an index is 18446744073709551615, over the limit"),
        ("1 1:\n", "'1:' does not end with a number"),
        (
            "1 3:1 1:1 3:0\n",
            "row 0 (line 1): not a readable svmlight file: the row has index 3 twice; keep one of the two",
        ),
        ("1,3 1:1\n", "row 0 (line 1): a row with several labels, '1,3', is not supported; keep one label a row"),
        ("x\u{0}1 1:1\n", "line 1: not a readable svmlight file: the line contains a NUL byte"),
        ("# nothing\n\n", "the file is empty"),
        ("1\n0\n", "the set of features is empty; write the features of a row behind its label"),
    ] {
        let error = refuse(text);
        assert!(error.starts_with("a.svm") && error.contains(message), "{error}\n{message}");
    }
    let error = read_text(b"1 1:1\n1 2:\xff\n").unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("byte 10"), "{error}");
    let error = read_text(b"\xff\xfe1\x00").unwrap_err().to_string();
    assert!(error.contains("UTF-16"), "{error}");
    let options = ReadOptions { label: Some("y".into()), ..ReadOptions::default() };
    let error = read(&Source::bytes("a.svm", "1 1:1\n"), &options).unwrap_err().to_string();
    assert!(error.contains("no column 'y'; its labels are the first word of each line"), "{error}");
}

#[test]
fn a_line_without_end_is_refused() {
    let text = "1 1:1 ".repeat((64 << 20) / 6 + 1);
    assert!(refuse(&text).contains("line 1: not a readable svmlight file: the line is longer than 64 MiB"));
}

fn detect(name: &str, text: &str) -> Format {
    Format::detect(&Source::bytes(name, text.as_bytes().to_vec()), &ReadOptions::default()).unwrap()
}

#[test]
fn the_format_is_known_by_name_and_by_content() {
    for name in ["a.svm", "a.libsvm", "A.SVMLIGHT", "a.svm.gz"] {
        assert_eq!(detect(name, "whatever"), Format::Svmlight);
    }
    let long = format!("1 {}", (0..2000).map(|at| format!("{at}:0.25 ")).collect::<String>());
    for text in
        ["1 1:1 5:2.5\n-1 2:1\n", "+1 1:1\n", "# by hand\n\nspam 0:1\n", "1 qid:3 1:1\n", "3:1 4:1\n2:1\n", &long]
    {
        assert_eq!(detect("news20", text), Format::Svmlight, "{text}");
        assert_eq!(detect("a9a.txt", text), Format::Svmlight, "{text}");
        assert_eq!(detect("a.csv", text), Format::Csv, "the name says that this is a table");
    }
    for text in [
        "a b\n1 2\n",
        "1 2 3\n",
        "label 1:1\nlabel x\n",
        "time value\n1 10:30\n",
        "8 08:30 09:15\n",
        "1 12:30 11:15\n",
        "2024-01-01T10:30:00,1\n",
        "\"a\" 1:1\n",
        "a,b 1:2\n",
        "1;2 1:2\n",
        "a:b c:d\n",
        "key: 1\nother: 2\n",
        "1\n2\n",
        "",
    ] {
        assert!(text.is_empty() || detect("data", text) == Format::Csv, "{text}");
    }
    assert_eq!("libsvm".parse::<Format>().unwrap(), Format::Svmlight);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(rows in matrices(), seed in any::<u64>()) {
        let mut text = String::new();
        for (row, cells) in rows.view().iter_rows().enumerate() {
            let mut cells: Vec<_> = cells.iter().collect();
            // Any order will do.
            let first = seed as usize % cells.len().max(1);
            cells.rotate_left(first);
            write!(text, "class{}", row % 3).unwrap();
            cells.iter().for_each(|(column, value)| write!(text, " {column}:{value:e}").unwrap());
            text.push_str(if seed % 2 == 0 { "\n" } else { " # end\r\n" });
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        for bytes in [text.into_bytes(), packed.finish().unwrap()] {
            let input = read(&Source::bytes("a.svm", bytes), &for_model(rows.width())).unwrap();
            prop_assert_eq!(sparse(&input), &rows);
            let expected: Vec<_> = (0..rows.rows()).map(|row| Some(format!("class{}", row % 3))).collect();
            prop_assert_eq!(labels(&input), expected);
        }
    }
}
