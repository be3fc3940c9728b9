//! Several files as one: folders and patterns, and streams that are put aside.

mod common;

use std::path::Path;

use cmrm_data::read::{ReadOptions, Source, files_of, open_path, read, read_path};
use cmrm_data::write::write_table;
use cmrm_data::{Column, Kind, Table};
use common::{cells, labelled, table};

fn put(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

fn refused(path: &Path) -> String {
    read_path(path, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn parquet_files_follow_each_other_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (file, from) in [("part-1.parquet", 3), ("part-0.parquet", 0)] {
        let numbers = (from..from + 3).map(f64::from).collect();
        let columns = vec![Column::numeric("x", numbers), Column::categorical("y", &["a", "b", file])];
        write_table(&folder.path().join(file), &Table::new(columns).unwrap()).unwrap();
    }
    put(folder.path(), &[("_SUCCESS", ""), (".part-0.parquet.crc", "junk")]);
    let input = read_path(folder.path(), &labelled("y")).unwrap();
    assert_eq!(cells(&input), [["0"], ["1"], ["2"], ["3"], ["4"], ["5"]]);
    assert_eq!(input.labels.as_ref().unwrap().text(5).unwrap(), "part-1.parquet");
    assert_eq!(input.source, folder.path().display().to_string());
    let pattern = folder.path().join("part-?.parquet");
    assert_eq!(read_path(&pattern, &labelled("y")).unwrap().features, input.features);
    assert_eq!(files_of(&pattern).len(), 2);
    let chunks = open_path(folder.path(), &labelled("y")).unwrap().chunks(2).unwrap();
    let starts: Vec<u64> = chunks.map(|chunk| chunk.unwrap().features.first_row()).collect();
    assert_eq!(starts, [0, 2, 3, 5]);
}

#[test]
fn a_columns_kind_fits_its_cells_in_all_files() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), &[("a.csv", "n,d,t\n1,,2024-01-01\n"), ("b.csv", "d,t,n\n2024-05-06,2024-01-02,x\n")]);
    let input = read_path(folder.path(), &ReadOptions::default()).unwrap();
    // The order is the first file's, the kinds are everyone's: no cell in one file says nothing.
    assert_eq!(cells(&input), [["1", "-", "2024-01-01"], ["x", "2024-05-06", "2024-01-02"]]);
    let kinds: Vec<Kind> = table(&input).columns().iter().map(|column| column.kind()).collect();
    assert_eq!(kinds, [Kind::Categorical, Kind::Date, Kind::Date]);
}

#[test]
fn json_files_have_the_keys_of_all() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), &[("1.jsonl", "{\"a\": 1}\n"), ("2.jsonl", "{\"b\": \"x\"}\n{\"a\": 3, \"b\": null}")]);
    let input = read_path(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(cells(&input), [["1", "-"], ["-", "x"], ["3", "-"]]);
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let empty = refused(folder.path());
    assert!(empty.contains("is empty") && empty.contains("or tables of one format"), "{empty}");
    put(folder.path(), &[("a.csv", "x,y\n1,2\n"), ("b.csv", "x,z\n1,2\n")]);
    let error = refused(folder.path());
    assert!(
        error.contains("b.csv, column 'y': the column is missing here;") && error.contains("a.csv has it"),
        "{error}"
    );
    put(folder.path(), &[("b.csv", "x,y,z\n1,2,3\n")]);
    assert!(refused(folder.path()).contains("b.csv, column 'z': the column is not in"));
    put(folder.path(), &[("b.csv", "x,y\n1,2\n1\n")]);
    // A row is named as its own file counts it.
    assert!(refused(folder.path()).contains("b.csv, row 1 (line 3): 1 cells, expected 2"));
    put(folder.path(), &[("b.jsonl", "{\"x\": 1}")]);
    std::fs::remove_file(folder.path().join("b.csv")).unwrap();
    let error = refused(folder.path());
    assert!(error.contains("b.jsonl: a file of format json, but") && error.contains("is of format csv"), "{error}");
    let nothing = refused(&folder.path().join("*.parquet"));
    assert!(nothing.contains("*.parquet: no file has such a name"), "{nothing}");
    let numbers = Table::new(vec![Column::numeric("x", vec![1.0])]).unwrap();
    let names = Table::new(vec![Column::categorical("x", &["a"])]).unwrap();
    write_table(&folder.path().join("1.parquet"), &numbers).unwrap();
    write_table(&folder.path().join("2.parquet"), &names).unwrap();
    let error = refused(&folder.path().join("*.parquet"));
    assert!(error.contains("2.parquet, column 'x': the column is categorical here and numeric in"), "{error}");
}

#[test]
fn a_stream_is_read_like_a_file() {
    let text = "a,b\n1,x\n2,y\n";
    let source = Source::stream("standard input", text.as_bytes()).unwrap();
    let input = read(&source, &ReadOptions::default()).unwrap();
    assert_eq!(
        (cells(&input), input.source.as_str()),
        (vec![vec!["1".into(), "x".into()], vec!["2".into(), "y".into()]], "standard input")
    );
}

#[test]
#[cfg(feature = "zstd")]
fn zstd_is_unpacked_within_the_limit() {
    use cmrm_data::read::Limits;
    let packed = zstd::encode_all(&b"a,b\n1,x\n2,y\n"[..], 3).unwrap();
    for name in ["t.csv.zst", "t"] {
        let input = read(&Source::bytes(name, packed.clone()), &ReadOptions::default()).unwrap();
        assert_eq!(cells(&input), [["1", "x"], ["2", "y"]]);
    }
    // Two frames are one file, as with gzip.
    let frames = [zstd::encode_all(&b"a\n1\n"[..], 3).unwrap(), zstd::encode_all(&b"2\n"[..], 3).unwrap()].concat();
    assert_eq!(cells(&read(&Source::bytes("t", frames), &ReadOptions::default()).unwrap()), [["1"], ["2"]]);
    let bomb = zstd::encode_all(&vec![b'1'; 1 << 22][..], 3).unwrap();
    let limits = Limits { unpacked_bytes: 1 << 20, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let error = read(&Source::bytes("bomb.csv.zst", bomb), &options).unwrap_err().to_string();
    assert!(error.contains("over the limit of 1048576"), "{error}");
    let cut = read(&Source::bytes("cut.csv.zst", packed[..packed.len() - 4].to_vec()), &ReadOptions::default());
    assert!(cut.unwrap_err().to_string().starts_with("cut.csv.zst: "));
}
