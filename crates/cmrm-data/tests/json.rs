//! JSON Lines and JSON arrays of objects.

mod common;

use cmrm_data::read::{Expected, ExpectedColumn, Format, Limits, ReadOptions, Source, open, read, read_labels};
use cmrm_data::table::Style;
use cmrm_data::{Error, Input, Kind, Override};
use common::{cells, labelled, read_csv, table};
use proptest::prelude::*;

fn read_json(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Input, Error> {
    read(&Source::bytes("t.jsonl", text.as_ref().to_vec()), options)
}

fn refused(text: impl AsRef<[u8]>) -> String {
    read_json(text, &ReadOptions::default()).unwrap_err().to_string()
}

fn kinds(input: &Input) -> Vec<Kind> {
    table(input).columns().iter().map(|column| column.kind()).collect()
}

const LINES: &str = r#"{"age": 31, "plan": "free", "since": "2024-01-02", "paid": true, "y": "no"}
{"age": null, "plan": "pro", "paid": false, "y": "yes"}

{"y": "no", "age": 4.5e1, "plan": "NA", "since": "2024-02-03", "paid": true}
"#;

#[test]
fn keys_are_columns_with_the_kinds_of_their_values() {
    let input = read_json(LINES, &labelled("y")).unwrap();
    assert_eq!(table(&input).names(), ["age", "plan", "since", "paid"]);
    assert_eq!(kinds(&input), [Kind::Numeric, Kind::Categorical, Kind::Date, Kind::Boolean]);
    let expected =
        [["31", "free", "2024-01-02", "true"], ["-", "pro", "-", "false"], ["45", "-", "2024-02-03", "true"]];
    assert_eq!(cells(&input), expected);
    let labels = input.labels.unwrap();
    assert_eq!((0..3).map(|row| labels.text(row).unwrap()).collect::<Vec<_>>(), ["no", "yes", "no"]);
}

#[test]
fn lines_and_arrays_are_the_same_rows() {
    let lines = read_json(LINES, &ReadOptions::default()).unwrap();
    let rows: Vec<&str> = LINES.lines().filter(|line| !line.is_empty()).collect();
    let spread = LINES.replace(", ", ",\n  ").replace('{', "{\n");
    for text in [format!("[{}]", rows.join(",\n")), format!(" [ {} ] \n", rows.join(" , ")), rows.join(""), spread] {
        let input = read_json(&text, &ReadOptions::default()).unwrap();
        assert_eq!((cells(&input), kinds(&input)), (cells(&lines), kinds(&lines)), "{text}");
    }
}

#[test]
fn the_format_is_known_by_content_then_by_name() {
    let detect = |name: &str, text: &str| {
        Format::detect(&Source::bytes(name, text.as_bytes().to_vec()), &ReadOptions::default()).unwrap()
    };
    assert_eq!(detect("rows", LINES), Format::Json);
    assert_eq!(detect("rows.txt", " [\n {\"a\": 1}]"), Format::Json);
    assert_eq!(detect("rows", "\u{feff}{\"a\": 1}"), Format::Json);
    assert_eq!(detect("rows.ndjson", "oops"), Format::Json);
    assert_eq!(detect("rows.json.gz", "[1]"), Format::Json);
    assert_eq!(detect("rows", "[a],[b]\n1,2\n"), Format::Csv);
    assert_eq!(detect("rows.csv", LINES), Format::Csv);
    assert_eq!("jsonl".parse::<Format>().unwrap(), Format::Json);
}

#[test]
fn objects_become_columns_with_dots() {
    let text = r#"[{"a": {"b": 1, "c": {"d": "x"}}, "e": 1}, {"a": null, "e": 2}, {"a": {}, "e": 3}]"#;
    let input = read_json(text, &ReadOptions::default()).unwrap();
    assert_eq!(table(&input).names(), ["a.b", "a.c.d", "e"]);
    assert_eq!(cells(&input), [["1", "x", "1"], ["-", "-", "2"], ["-", "-", "3"]]);
    // Only a key that never has a value of its own gives way.
    let input = read_json("{\"a\": 5}\n{\"a\": {\"b\": 6}}", &ReadOptions::default()).unwrap();
    assert_eq!(cells(&input), [["5", "-"], ["-", "6"]]);
    let twice = refused(r#"{"a": {"b": 1}, "a.b": 2}"#);
    assert!(twice.contains("column 'a.b'") && twice.contains("twice"), "{twice}");
    let deep = format!("{}1{}", "{\"a\": ".repeat(9), "}".repeat(9));
    let error = refused(deep);
    assert!(
        error.contains("row 0 (line 1), column 'a.a.a.a.a.a.a.a'") && error.contains("ignore the column"),
        "{error}"
    );
    assert!(read_json(format!("{}1{}", "{\"a\": ".repeat(8), "}".repeat(8)), &ReadOptions::default()).is_ok());
}

#[test]
fn texts_have_their_escapes_and_numbers_their_digits() {
    let text = r#"{"t": " \u00fc\ud83d\ude00 \"q\" \\ {[ ", "\u0061": 12345678901234567890123, "n": 1.10}"#;
    let mut options = ReadOptions::default();
    let input = read_json(text, &options).unwrap();
    // A double does not hold the long one.
    assert_eq!(kinds(&input), [Kind::Categorical, Kind::Categorical, Kind::Numeric]);
    assert_eq!(cells(&input), [["ü😀 \"q\" \\ {[", "12345678901234567890123", "1.1"]]);
    options.overrides.insert("n".into(), Override::Categorical);
    let input = read_json(text, &options).unwrap();
    assert_eq!(cells(&input), [["ü😀 \"q\" \\ {[", "12345678901234567890123", "1.10"]]);
}

#[test]
fn what_is_no_cell_is_refused_where_it_is_wanted() {
    let text = "{\"a\": 1}\n{\"a\": 2, \"tags\": [\"x\", {\"y\": []}]}\n";
    let error = refused(text);
    for part in ["t.jsonl, row 1 (line 2), column 'tags'", "an array within a row", "ignore the column"] {
        assert!(error.contains(part), "{error}");
    }
    let mut options = ReadOptions::default();
    options.overrides.insert("tags".into(), Override::Ignore);
    let input = read_json(text, &options).unwrap();
    assert_eq!(
        (cells(&input), table(&input).skipped()),
        (vec![vec!["1".into()], vec!["2".into()]], &["tags".into()][..])
    );
    // A model that does not know the column does not mind it either.
    let columns = vec![ExpectedColumn {
        name: "a".into(),
        kind: Kind::Numeric,
        style: Style::PLAIN,
        tolerant: false,
        needed: true,
    }];
    let expected = ReadOptions {
        expected: Some(Expected { columns, unnamed: false, width: 0, complete: true }),
        ..ReadOptions::default()
    };
    assert_eq!(cells(&read_json(text, &expected).unwrap()).len(), 2);
    let error = read_json("{\"b\": 1}", &expected).unwrap_err().to_string();
    assert!(error.contains("missing columns of the model: 'a'"), "{error}");
}

#[test]
fn bad_files_are_refused_with_their_place() {
    for (text, parts) in [
        ("", &["empty"][..]),
        ("[ ]", &["no rows"]),
        ("{\"a\": 1}\n{\"a\": 1, \"a\": 2}", &["row 1 (line 2), column 'a'", "twice"]),
        ("{\"a\": 1}\n\n{\"a\": ", &["row 1 (line 3)", "ends before the row does", "never closed"]),
        ("[{\"a\": 1},\n", &["line 2", "ends before the array does"]),
        ("[{\"a\": 1}\n{\"a\": 2}]", &["row 1 (line 2)", "a comma or the end of the array"]),
        ("[{\"a\": 1},]", &["row 1 (line 1)", "found ']'"]),
        ("[{\"a\": 1}] x", &["nothing behind the array", "found 'x'"]),
        ("[[1, 2], [3, 4]]", &["row 0 (line 1)", "expected an object", "found an array"]),
        ("{\"a\": 1}\n17\n", &["row 1 (line 2)", "found a number"]),
        ("{\"a\": NaN}", &["row 0 (line 1)", "NaN and Infinity are not JSON, write null"]),
        ("{\"a\": 01}", &["row 0 (line 1)", "invalid number"]),
        ("{\"a\": 1\n \"b\": 2}", &["row 0 (line 1)", "line 2 of the row"]),
        ("{\"a\": \"\\ud800\"}", &["row 0 (line 1), column 'a'", "hex escape"]),
        ("{\"a\":{\"0\":1,\"1\":2},\"b\":{\"0\":3,\"1\":4}}", &["an object for each column", "orient=\"records\""]),
        ("{}", &["list of feature columns is empty"]),
    ] {
        let error = refused(text);
        assert!(error.starts_with("t.jsonl"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{text}: '{part}' is not in: {error}");
        }
    }
    let error = refused(b"{\"a\": 1}\n{\"a\": \"caf\xe9\"}\n");
    assert!(error.contains("row 1 (line 2)") && error.contains("byte 19 is not valid UTF-8"), "{error}");
    assert!(refused(b"\xff\xfe{\0}\0").contains("UTF-16"));
    let mut options = ReadOptions::default();
    options.overrides.insert("a".into(), Override::Numeric);
    let error = read_json("{\"a\": 1}\n{\"a\": \"x\"}", &options).unwrap_err().to_string();
    assert!(error.contains("row 1 (line 2), column 'a': 'x' is not a numeric value"), "{error}");
}

#[test]
fn rows_that_share_no_keys_do_not_fill_the_memory() {
    let rows: String = (0..2000).map(|row| format!("{{\"key{row}\": 1}}\n")).collect();
    let limits = Limits { unpacked_bytes: 1 << 20, ..Limits::default() };
    let error = read_json(&rows, &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err().to_string();
    assert!(error.contains("over the limit of 1048576") && error.contains("same keys"), "{error}");
    let nested = format!("{{\"a\": {}", "[{\"b\":".repeat(100_000));
    assert!(refused(nested).contains("ends before the row does"));
}

#[test]
fn a_file_of_labels() {
    let labels =
        read_labels(&Source::bytes("y.json", b"[{\"y\": \"007\"}, {\"y\": 8}]".to_vec()), &ReadOptions::default());
    assert_eq!(labels.unwrap().text(0).unwrap(), "007");
}

/// A value of a CSV file and of a JSON file.
fn value() -> impl Strategy<Value = (String, String)> {
    prop_oneof![
        any::<i32>().prop_map(|number| (number.to_string(), number.to_string())),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|n| (format!("{n:?}"), format!("{n:?}"))),
        any::<bool>().prop_map(|flag| (flag.to_string(), flag.to_string())),
        "[a-z0-9é./ -]{0,10}".prop_map(|text| (format!("\"{text}\""), format!("\"{text}\""))),
        Just((String::new(), "null".into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The same cells are the same table, whichever format holds them, in chunks and as a whole.
    #[test]
    fn json_and_csv_agree(rows in prop::collection::vec((value(), value(), value()), 1..20), chunk in 1..6usize) {
        let csv: String = rows.iter().map(|(a, b, c)| format!("{},{},{}\n", a.0, b.0, c.0)).collect();
        let json: String =
            rows.iter().map(|(a, b, c)| format!("{{\"a\":{},\"b\":{},\"c\":{}}}\n", a.1, b.1, c.1)).collect();
        let mut header = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
        (header.text.header, header.text.delimiter) = (Some(true), Some(b','));
        let from_csv = read_csv(format!("a,b,c\n{csv}"), &header).unwrap();
        let from_json = read_json(&json, &ReadOptions::default()).unwrap();
        prop_assert_eq!(cells(&from_json), cells(&from_csv));
        prop_assert_eq!(kinds(&from_json), kinds(&from_csv));
        let source = Source::bytes("t.jsonl", json.into_bytes());
        let mut chunks = open(&source, &ReadOptions::default()).unwrap().chunks(chunk).unwrap();
        let mut joined = chunks.next().unwrap().unwrap();
        for piece in chunks {
            let piece = piece.unwrap();
            prop_assert_eq!(piece.features.first_row(), joined.features.rows() as u64);
            joined.append(piece).unwrap();
        }
        prop_assert_eq!(cells(&joined), cells(&from_json));
    }
}
