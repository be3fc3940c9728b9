//! Arrow IPC files and streams, as pyarrow 26 and polars 2 wrote them (`fuzz/corpus/arrow`).

mod common;

use std::path::Path;

use cmrm_data::read::{Format, Limits, ReadOptions, Source, open, read};
use cmrm_data::{Input, Kind, Override};
use common::{cells, labelled, table};

fn seed(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/arrow").join(name)).unwrap()
}

fn read_seed(name: &str, options: &ReadOptions) -> Input {
    read(&Source::bytes(name, seed(name)), options).unwrap_or_else(|error| panic!("{error}"))
}

fn ignoring(names: &[&str]) -> ReadOptions {
    let overrides = names.iter().map(|name| (name.to_string(), Override::Ignore)).collect();
    ReadOptions { overrides, ..ReadOptions::default() }
}

/// Every column that the seeds `types_…` have, and its five cells.
const TYPES: [(&str, Kind, [&str; 5]); 21] = [
    ("i8", Kind::Numeric, ["1", "-", "-3", "4", "5"]),
    ("u64", Kind::Categorical, ["18446744073709551615", "1", "2", "3", "-"]),
    ("f16", Kind::Numeric, ["1.5", "2.5", "-", "4", "5"]),
    ("f32", Kind::Numeric, ["1.5", "2.5", "3", "4", "5"]),
    ("f64", Kind::Numeric, ["0.1", "-", "NaN", "4", "5"]),
    ("b", Kind::Boolean, ["true", "-", "false", "true", "true"]),
    ("s", Kind::Categorical, ["a", "", "ü", "-", "long text of more than twelve bytes"]),
    ("ls", Kind::Categorical, ["a", "b", "c", "-", "d"]),
    ("sv", Kind::Categorical, ["short", "-", "a rather long text indeed", "", "x"]),
    ("d", Kind::Categorical, ["red", "blue", "red", "-", "green"]),
    ("di", Kind::Numeric, ["10", "20", "10", "-", "20"]),
    ("d32", Kind::Date, ["2024-01-02", "2024-01-02", "2024-01-02", "2024-01-02", "-"]),
    ("d64", Kind::Date, ["1969-12-31", "1969-12-31", "1969-12-31", "1969-12-31", "1969-12-31"]),
    ("ts", Kind::Date, ["1970-01-01", "1970-01-01 00:00:01", "1969-12-31 23:59:59", "-", "1970-01-01 00:00:05"]),
    (
        "tms",
        Kind::Date,
        ["1970-01-01", "1970-01-01 00:00:00.001", "1969-12-31 23:59:59.999", "-", "1970-01-01 00:00:00.005"],
    ),
    (
        "tus",
        Kind::Date,
        ["1970-01-01", "1970-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999", "-", "1970-01-01 00:00:00.000005"],
    ),
    // A microsecond is the finest that is kept.
    ("tns", Kind::Date, ["1970-01-01", "1970-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999", "-", "1970-01-01"]),
    ("dec", Kind::Numeric, ["1.25", "-", "-3.5", "0", "99.99"]),
    ("nul", Kind::Numeric, ["-", "-", "-", "-", "-"]),
    ("time", Kind::Numeric, ["1", "2", "3", "-", "5"]),
    ("bin", Kind::Categorical, ["a", "b", "-", "", "z"]),
];

#[test]
fn every_type_in_every_form() {
    for name in ["types_plain", "types_lz4", "types_zstd_batches", "types_stream"] {
        let input = read_seed(name, &ReadOptions::default());
        let (found, columns) = (cells(&input), table(&input).columns());
        assert_eq!(columns.len(), TYPES.len());
        for (at, (column, kind, expected)) in TYPES.iter().enumerate() {
            assert_eq!((columns[at].name.as_str(), columns[at].kind()), (*column, *kind), "{name}");
            for row in 0..5 {
                assert_eq!(found[row][at], expected[row], "{name}, {column}, {row}");
            }
        }
    }
}

#[test]
fn chunks_are_the_whole_and_labels_keep_their_text() {
    let whole = read_seed("types_zstd_batches", &labelled("i8"));
    assert_eq!(whole.labels.as_ref().unwrap().text(2).unwrap(), "-3");
    for rows in [1, 2, 3, 100] {
        let source = Source::bytes("t", seed("types_zstd_batches"));
        let mut chunks = open(&source, &labelled("i8")).unwrap().chunks(rows).unwrap();
        let mut joined = chunks.next().unwrap().unwrap();
        for chunk in chunks {
            let chunk = chunk.unwrap();
            assert_eq!(chunk.features.first_row(), joined.features.rows() as u64);
            joined.append(chunk).unwrap();
        }
        assert_eq!((cells(&joined), &joined.labels), (cells(&whole), &whole.labels));
    }
}

#[test]
fn what_polars_writes() {
    let expected = [
        ["1", "a", "u", "2024-01-01 10:00:00"],
        ["2", "bb", "v", "-"],
        ["-", "a text that is longer than twelve", "u", "2024-01-03"],
    ];
    for name in ["polars_zstd", "polars_stream"] {
        assert_eq!(cells(&read_seed(name, &ReadOptions::default())), expected, "{name}");
    }
}

#[test]
fn dictionaries_grow_and_are_replaced() {
    for name in ["dictionary_delta", "dictionary_replaced"] {
        assert_eq!(cells(&read_seed(name, &ReadOptions::default())), [["a"], ["b"], ["c"], ["a"]], "{name}");
    }
}

#[test]
fn nested_columns_are_refused_or_passed_over() {
    let source = Source::bytes("nested.feather", seed("nested"));
    let error = read(&source, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("nested.feather, column 'l': a nested column is not supported"), "{error}");
    assert!(error.contains("ignore the column"), "{error}");
    // What lies behind them is found all the same.
    let input = read_seed("nested", &ignoring(&["l", "st", "svl"]));
    assert_eq!(table(&input).names(), ["i8", "s", "un"]);
    assert_eq!(cells(&input)[4], ["5", "long text of more than twelve bytes", "5"]);
}

#[test]
fn a_damaged_file_is_refused() {
    let read_bytes = |bytes: Vec<u8>| {
        let options = ReadOptions { format: Some(Format::Arrow), ..ReadOptions::default() };
        read(&Source::bytes("t.arrow", bytes), &options).unwrap_err().to_string()
    };
    let (file, stream) = (seed("types_plain"), seed("types_stream"));
    let cut = read_bytes(file[..file.len() / 2].to_vec());
    assert!(cut.contains("does not end with a footer") && cut.contains("copy, download or write it again"), "{cut}");
    let cut = read_bytes(stream[..stream.len() - 300].to_vec());
    assert!(cut.contains("is cut short") && cut.contains("incomplete"), "{cut}");
    assert!(read_bytes(b"FEA1....".to_vec()).contains("Feather version 1"));
    assert!(read_bytes(b"hello, this is no arrow file".to_vec()).contains("t.arrow"));
    assert!(read_bytes(Vec::new()).contains("does not start with a schema"));
    // A schema and the end: columns without rows.
    let schema = 8 + u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
    assert!(read_bytes(stream[..schema].to_vec()).contains("no rows"));
}

#[test]
fn bodies_unpack_to_no_more_than_the_limit() {
    let limits = Limits { unpacked_bytes: 64, ..Limits::default() };
    let source = Source::bytes("t.arrow", seed("types_lz4"));
    let error = read(&source, &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err().to_string();
    assert!(error.contains("over the limit of"), "{error}");
}

#[test]
fn packed_files_and_names() {
    use std::io::Write;
    for name in ["types_plain", "types_stream"] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(&seed(name)).unwrap();
        let input = read(&Source::bytes("t.gz", gz.finish().unwrap()), &ReadOptions::default()).unwrap();
        assert_eq!(cells(&input), cells(&read_seed("types_plain", &ReadOptions::default())));
    }
    for name in ["types_plain", "types_stream", "polars_stream"] {
        let source = Source::bytes("any name", seed(name));
        assert_eq!(Format::detect(&source, &ReadOptions::default()).unwrap(), Format::Arrow, "{name}");
    }
    assert_eq!("feather".parse::<Format>().unwrap(), Format::Arrow);
}
