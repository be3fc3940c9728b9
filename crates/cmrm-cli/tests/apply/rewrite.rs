//! What `clean` leaves as it is, and what it cannot write.

use std::fs;
use std::path::Path;

use cmrm_data::{Column, Table};

use crate::common::{cmrm, json, refuse};

/// Row 2 becomes `b`, row 3 goes.
const DECISIONS: &str = "row,given_label,action,label\n2,a,relabel,b\n3,b,drop,\n";

fn folder(data: &str, bytes: impl AsRef<[u8]>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(data), bytes).unwrap();
    fs::write(folder.path().join("d.csv"), DECISIONS).unwrap();
    folder
}

/// What `clean` makes of a file.
fn cleaned(data: &str, text: &str, out: &str, more: &[&str]) -> String {
    let folder = folder(data, text);
    json(folder.path(), &[&["clean", data, "d.csv", "--out", out], more].concat());
    fs::read_to_string(folder.path().join(out)).unwrap()
}

#[test]
fn cells_come_out_as_they_were_written() {
    let text = "note,x,y\n\" keep me \",1,a\nb  ,2,b\nc,3,a\nd,4,b";
    let label = ["--label", "y"];
    assert_eq!(cleaned("t.csv", text, "o.csv", &label), "note,x,y\n\" keep me \",1,a\nb  ,2,b\nc,3,b\n");
    // The user's formulas are the user's.
    let text = "note,x,y\n=1+1,1,a\n\"u\n,v\",2,b\n-x,3,\"a\"\nd,4,b\n";
    assert_eq!(cleaned("t.csv", text, "o.csv", &label), "note,x,y\n=1+1,1,a\n\"u\n,v\",2,b\n-x,3,\"b\"\n");
}

#[test]
fn the_dialect_of_the_file_stays() {
    let german = "\u{feff}Größe;y;Notiz\r\n1,5;a; u\r\n2,5;b;\"v;w\"\r\n3,5;a;x\r\n4,5;b;y\r\n";
    let label = ["--label", "y"];
    let expected = "\u{feff}Größe;y;Notiz\r\n1,5;a; u\r\n2,5;b;\"v;w\"\r\n3,5;b;x\r\n";
    assert_eq!(cleaned("t.csv", german, "o.csv", &label), expected);
    let tabs = expected.replace("\"v;w\"", "\"v\tw\"").replace(';', "\t").replace("\"v\tw\"", "\"v;w\"");
    assert_eq!(cleaned("t.csv", german, "o.tsv", &label), tabs);
    let stated = german.replacen('\u{feff}', "sep=;\r\n", 1);
    assert_eq!(cleaned("t.csv", &stated, "o.csv", &label), expected.replacen('\u{feff}', "sep=;\r\n", 1));
    let bare = "1.5|a\n2.5|b\n3.5|a\n4.5|b\n";
    assert_eq!(cleaned("t.csv", bare, "o.csv", &["--label", "1"]), "1.5|a\n2.5|b\n3.5|b\n");
    assert_eq!(cleaned("t.tsv", "x\ty\n1\ta\n2\tb\n3\ta\n4\tb\n", "o.csv", &label), "x,y\n1,a\n2,b\n3,b\n");
}

#[test]
fn a_file_without_header_gets_names_where_it_needs_them() {
    let folder = folder("t.csv", "1.5|a\n2.5|b\n3.5|a\n4.5|b\n");
    let clean = |out: &str| {
        let output = cmrm(folder.path(), &["clean", "t.csv", "d.csv", "--label", "1", "--out", out]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).contains("the new file gets column names")
    };
    assert!(!clean("o.csv") && clean("o.parquet"));
}

/// A file is read in one way: by a fit, whose decisions say which rows they are about, and by what applies them.
#[test]
fn decisions_of_a_run_fit_the_file_that_it_read() {
    let rows = |row: fn(usize) -> String| (0..60).map(row).collect::<String>();
    let german = rows(|n| format!("{}.{:03};{},{}5;{}\n", 1 + n % 5, n * 7, n, n % 10, ["ja", "nein"][n % 2]));
    let spam = rows(|n| format!("{},see you {n} times at lunch\n", ["ham", "spam"][n % 2]));
    for (text, label, class) in
        [(format!("Menge;Preis;y\n{german}"), "y", "ja"), (format!("spam,text\n{spam}"), "spam", "ham")]
    {
        let folder = folder("t.csv", &text);
        let fit = ["fit", "t.csv", "--label", label, "--model", "linear", "--quiet", "--out", "run"];
        assert!(cmrm(folder.path(), &fit).status.success());
        let run = fs::read_to_string(folder.path().join("run/run.json")).unwrap();
        let run: serde_json::Value = serde_json::from_str(&run).unwrap();
        let rows = run["rows_fingerprint"].as_str().unwrap_or_else(|| panic!("{run}"));
        let decisions = format!("row,given_label,action,label,fingerprint\n0,{class},drop,,{rows}\n");
        fs::write(folder.path().join("d.csv"), decisions).unwrap();
        json(folder.path(), &["clean", "t.csv", "d.csv", "--label", label, "--out", "o.csv"]);
        assert_eq!(fs::read_to_string(folder.path().join("o.csv")).unwrap().lines().count(), 60);
    }
}

#[test]
fn large_integers_keep_every_digit() {
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/arrow/types_plain");
    let folder = folder("t.arrow", fs::read(seed).unwrap());
    fs::write(folder.path().join("d.csv"), "row,action\n4,drop\n").unwrap();
    for more in [&[][..], &["--type", "u64=categorical"]] {
        json(folder.path(), &[&["clean", "t.arrow", "d.csv", "--label", "b", "--out", "o.csv"], more].concat());
        let text = fs::read_to_string(folder.path().join("o.csv")).unwrap();
        assert!(text.lines().nth(1).unwrap().starts_with("1,18446744073709551615,1.5,"), "{text}");
    }
}

#[test]
fn parquet_is_copied_with_all_its_columns() {
    let folder = folder("t.txt", "");
    // Readers leave out what a data frame counts its rows with, and so did the new file.
    let columns = vec![
        Column::numeric("__index_level_0__", vec![9.0, 8.0, 7.0, 6.0]),
        Column::numeric("x", vec![1.0, 2.0, 3.0, 4.0]),
        Column::categorical("y", &["a", "b", "a", "b"]),
    ];
    let at = |name: &str| folder.path().join(name);
    cmrm_data::write::write_table(&at("t.parquet"), &Table::new(columns).unwrap()).unwrap();
    json(folder.path(), &["clean", "t.parquet", "d.csv", "--label", "y", "--out", "o.parquet"]);
    let options = cmrm_data::read::ReadOptions { id: Some("__index_level_0__".into()), ..Default::default() };
    let input = cmrm_data::read::read_path(&at("o.parquet"), &options).unwrap();
    let ids = input.ids.unwrap();
    assert_eq!([0, 1, 2].map(|row| ids.text(row).unwrap().into_owned()), ["9", "8", "7"]);
    let cmrm_data::Features::Table(table) = input.features else { panic!("no table") };
    let labels = table.column("y").unwrap();
    assert_eq!([0, 1, 2].map(|row| labels.text(row).unwrap().into_owned()), ["a", "b", "b"]);
    // Whoever calls the rows by it can clean them too, and a new file that is no copy has the columns in their order.
    json(
        folder.path(),
        &["clean", "t.parquet", "d.csv", "--label", "y", "--id", "__index_level_0__", "--out", "o.csv"],
    );
    assert_eq!(fs::read_to_string(at("o.csv")).unwrap(), "__index_level_0__,x,y\n9,1,a\n8,2,b\n7,3,b\n");
}

#[test]
fn labels_of_numbers_are_those_of_the_run() {
    let seed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/arrow/types_plain");
    let folder = folder("t.arrow", fs::read(seed).unwrap());
    // Rounded, it would be another label than the one that was decided on.
    fs::write(folder.path().join("d.csv"), "row,given_label,action\n0,18446744073709551615,drop\n").unwrap();
    json(folder.path(), &["clean", "t.arrow", "d.csv", "--label", "u64", "--out", "o.csv"]);
}

#[test]
fn what_cannot_be_written_is_said_with_what_can() {
    let folder = folder("t.svm", "0 1:0.5\n1 2:0.5\n0 1:0.25\n1 2:0.75\n");
    let at = |name: &str| folder.path().join(name);
    let words = refuse(folder.path(), &["clean", "t.svm", "d.csv", "--out", "o.svm"]);
    assert!(words.contains("t.svm: svmlight files cannot be written again"), "{words}");
    assert!(words.contains("the first word of each line") && words.contains("--labels"), "{words}");
    // The way out works.
    fs::write(at("y.csv"), "y\na\nb\na\nb\n").unwrap();
    json(folder.path(), &["clean", "y.csv", "d.csv", "--label", "y", "--out", "new.csv", "--force"]);
    assert_eq!(fs::read_to_string(at("new.csv")).unwrap(), "y\na\nb\nb\n");
    let words = refuse(folder.path(), &["clean", "t.svm", "d.csv", "--labels", "y.csv", "--out", "o.csv"]);
    assert!(words.contains("apply the decisions to the file of labels, y.csv"), "{words}");

    fs::write(at("t.csv"), "x,y\n1,a\n2,b\n3,a\n4,b\n").unwrap();
    for out in ["o.xlsx", "o.jsonl"] {
        for verb in [&["clean", "t.csv", "d.csv"][..], &["audit", "t.csv", "--folds", "2"]] {
            let words = refuse(folder.path(), &[verb, &["--label", "y", "--out", out]].concat());
            assert!(words.trim_end().ends_with("use .csv, .tsv or .parquet"), "{words}");
        }
    }
}
