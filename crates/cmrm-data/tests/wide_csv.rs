//! Text files whose rows are longer than the sample that their dialect is detected from, and bytes that no text has.

mod common;

use std::io::Write;

use cmrm_data::LabelOptions;
use cmrm_data::read::{ReadOptions, Source, read};
use common::{csv, labelled, read_csv, table};

const COLUMNS: usize = 60_000;
const ROWS: usize = 6;

/// How a table is written.
#[derive(Debug, Clone, Copy)]
struct Form {
    header: bool,
    label_first: bool,
    delimiter: char,
    quoted: bool,
    line_end: &'static str,
}

const PLAIN: Form = Form { header: true, label_first: false, delimiter: ',', quoted: false, line_end: "\n" };

/// Six rows of 60,000 numbers and a label: every line is longer than 256 KiB.
fn wide(form: Form) -> String {
    let line = |label: String, cells: &mut dyn Iterator<Item = String>| {
        let mut cells: Vec<String> = cells.collect();
        let place = if form.label_first { 0 } else { cells.len() };
        cells.insert(place, label);
        cells.join(&form.delimiter.to_string()) + form.line_end
    };
    let name = |name: String| if form.quoted { format!("\"{name}\"") } else { name };
    let mut text = String::new();
    if form.header {
        text += &line(name("class".into()), &mut (0..COLUMNS).map(|at| name(format!("gene{at}"))));
    }
    for row in 0..ROWS {
        let label = ["sick", "well"][row % 2].to_string();
        text += &line(label, &mut (0..COLUMNS).map(|at| format!("{}.25", value(row, at))));
    }
    text
}

fn value(row: usize, column: usize) -> usize {
    (row * 7919 + column * 31) % 1000
}

fn check(source: &Source, form: Form) {
    let options = labelled(if form.label_first { "0" } else { "-1" });
    let input = read(source, &options).unwrap_or_else(|error| panic!("{form:?}: {error}"));
    let read = table(&input);
    assert_eq!((read.rows(), read.columns().len()), (ROWS, COLUMNS), "{form:?}");
    let name = if form.header { "gene" } else { "x" };
    for at in [0, 1, COLUMNS / 2, COLUMNS - 1] {
        assert_eq!(read.columns()[at].name, format!("{name}{at}"), "{form:?}");
        for row in 0..ROWS {
            assert_eq!(read.columns()[at].text(row).unwrap(), format!("{}.25", value(row, at)), "{form:?}");
        }
    }
    let labels = input.encode_labels(&LabelOptions::default()).unwrap().labels;
    assert_eq!((labels.classes, labels.indices), (vec!["sick".into(), "well".into()], vec![0, 1, 0, 1, 0, 1]));
}

#[test]
fn rows_longer_than_the_sample_are_read_in_every_form() {
    for header in [true, false] {
        for label_first in [true, false] {
            for (delimiter, quoted, line_end) in [(',', false, "\n"), ('\t', true, "\r\n")] {
                let form = Form { header, label_first, delimiter, quoted, line_end };
                check(&csv(wide(form)), form);
            }
        }
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(wide(PLAIN).as_bytes()).unwrap();
    check(&Source::bytes("t.csv.gz", packed.finish().unwrap()), PLAIN);
}

#[test]
fn one_row_longer_than_the_sample_among_short_ones() {
    let long = "x".repeat(1 << 19);
    for text in [format!("a,b\n1,{long}\n2,y\n"), format!("a,{long}\n1,x\n2,y\n"), format!("a,b\n1,x\n2,{long}\n")] {
        let input = read_csv(&text, &ReadOptions::default()).unwrap();
        assert_eq!((table(&input).rows(), table(&input).columns().len()), (2, 2));
    }
}

#[test]
fn names_that_come_twice_in_a_wide_header_are_named_truly() {
    let text = wide(PLAIN).replacen(&format!("gene{}", COLUMNS - 1), "gene3", 1);
    let error = read_csv(&text, &labelled("class")).unwrap_err().to_string();
    let expected = format!("t.csv, line 1: the header names 'gene3' twice, at columns 3 and {}", COLUMNS - 1);
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_row_that_never_ends_is_refused_in_words() {
    let never = "1,2,3\n".repeat(12 << 20);
    let mut options = ReadOptions::default();
    options.text.delimiter = Some(b',');
    for (text, place) in
        [(format!("\"{never}"), "t.csv, line 1"), (format!("a,b,c\n1,\"{never}"), "t.csv, row 0 (line 2)")]
    {
        let error = read_csv(text, &options).unwrap_err().to_string();
        let expected = format!("{place}: not a readable CSV file: the row that starts here is longer than 64 MiB");
        assert!(error.starts_with(&expected) && error.contains("never closed"), "{error}");
    }
}

#[test]
fn a_nul_byte_is_refused_wherever_it_stands() {
    let plain = ReadOptions::default();
    let refused = |text: &str| read_csv(text, &plain).unwrap_err().to_string();
    let many = "1,x\n".repeat(90_000);
    for (text, message) in [
        ("a,b\0\n1,x\n".to_string(), "t.csv, line 1: not a readable CSV file: cell 1 of this row contains a NUL byte"),
        (
            "a,b\n1,\0x\n".to_string(),
            "t.csv, row 0 (line 2), column 'b': not a readable CSV file: the cell contains a NUL",
        ),
        (
            format!("a,b\n{many}2,x\0y\n"),
            "t.csv, row 90000 (line 90002), column 'b': not a readable CSV file: the cell",
        ),
        (format!("{many}\0,x\n"), "t.csv, row 90000 (line 90001), column 'x0': not a readable CSV file: the cell"),
    ] {
        let error = refused(&text);
        assert!(error.starts_with(message) && error.ends_with("save it as UTF-8 text"), "{error}\n{message}");
    }
    // UTF-16 without a mark of its byte order.
    let utf16: Vec<u8> = "a,b\n1,x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = read_csv(utf16, &plain).unwrap_err().to_string();
    assert!(error.contains("NUL byte") && error.contains("UTF-16"), "{error}");
}
