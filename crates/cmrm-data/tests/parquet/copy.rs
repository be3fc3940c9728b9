//! Whole numbers that no double holds, and files written again with other labels: every digit and every type stays.

use cmrm_data::read::{Opened, ReadOptions, open, read};
use cmrm_data::write::{Change, can_copy_parquet, copy_parquet};
use cmrm_data::{Column, Kind, Override, Table};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

use crate::common::{cells, table};
use crate::{column, raw, source, written};

/// A file of accounts that no double holds, and of other long integers.
fn accounts(parity: i64) -> Vec<u8> {
    let schema = "message schema { REQUIRED INT64 acct; OPTIONAL INT64 n; REQUIRED INT64 cents (DECIMAL(18,2));
        REQUIRED BYTE_ARRAY y (UTF8); REQUIRED FLOAT f; REQUIRED INT64 at (TIMESTAMP(MICROS,false)); }";
    raw(schema, WriterProperties::builder().build(), |at, writer| {
        match writer {
            ColumnWriter::Int64ColumnWriter(writer) => match at {
                0 => writer.write_batch(&[(1 << 60) + parity, (1 << 60) + 7, 3], None, None),
                // Exact as doubles, however large.
                1 => writer.write_batch(&[1 << 60, 17_280_000_000_000_000], Some(&[1, 0, 1]), None),
                2 => writer.write_batch(&[999_999_999_999_999_999, 150, -5], None, None),
                _ => writer.write_batch(&[1, 2, 3], None, None),
            },
            ColumnWriter::FloatColumnWriter(writer) => writer.write_batch(&[0.1, 0.2, 0.3], None, None),
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                writer.write_batch(&["a", "b", "a"].map(ByteArray::from), None, None)
            }
            _ => unreachable!(),
        }
        .unwrap();
    })
}

#[test]
fn whole_numbers_that_no_double_holds_are_names() {
    let input = read(&source(accounts(0)), &ReadOptions::default()).unwrap();
    let found = table(&input);
    let kinds: Vec<Kind> = found.columns()[..3].iter().map(Column::kind).collect();
    assert_eq!(kinds, [Kind::Categorical, Kind::Numeric, Kind::Categorical]);
    let text = |name: &str, row: usize| found.column(name).unwrap().text(row).unwrap().into_owned();
    assert_eq!((text("acct", 0), text("acct", 1)), ("1152921504606846976".into(), "1152921504606846983".into()));
    assert_eq!((text("n", 0), text("n", 2)), (((1u64 << 60) as f64).to_string(), "17280000000000000".into()));
    let doubt = found.column("acct").unwrap().doubt.clone().unwrap();
    assert!(doubt.contains("2^53") && doubt.contains("--type 'acct=numeric'"), "{doubt}");
    // Said so, they are numbers, and a decimal is a name with all its digits.
    let mut options = ReadOptions::default();
    options.overrides.insert("acct".into(), Override::Numeric);
    options.overrides.insert("cents".into(), Override::Categorical);
    let said = read(&source(accounts(0)), &options).unwrap();
    assert_eq!(table(&said).column("acct").unwrap().kind(), Kind::Numeric);
    let cents = table(&said).column("cents").unwrap();
    assert_eq!([0, 1, 2].map(|row| cents.text(row).unwrap().into_owned()), ["9999999999999999.99", "1.5", "-0.05"]);
}

#[test]
fn files_that_belong_together_agree_on_names() {
    let folder = tempfile::tempdir().unwrap();
    let small = Table::new(vec![column("acct", Kind::Numeric, &[Some("1")])]).unwrap();
    let large = raw("message schema { REQUIRED INT64 acct; }", WriterProperties::builder().build(), |_, writer| {
        if let ColumnWriter::Int64ColumnWriter(writer) = writer {
            writer.write_batch(&[i64::MAX], None, None).unwrap();
        }
    });
    std::fs::write(folder.path().join("1.parquet"), written(&[small])).unwrap();
    std::fs::write(folder.path().join("2.parquet"), large).unwrap();
    let input = cmrm_data::read::read_path(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(cells(&input), [["1"], ["9223372036854775807"]]);
}

#[test]
fn a_copy_differs_in_nothing_but_labels() {
    let input = accounts(1);
    let Opened::Parquet(file) = open(&source(input.clone()), &ReadOptions::default()).unwrap() else { panic!() };
    assert!(can_copy_parquet(&file, 3) && can_copy_parquet(&file, 0) && !can_copy_parquet(&file, 2));
    let copied = |label: usize, changes: &[Change<'_>]| {
        let mut bytes = Vec::new();
        copy_parquet(&file, &mut bytes, label, changes).map(|()| bytes).map_err(|error| error.to_string())
    };
    let (keep, drop) = (Change::Keep, Change::Drop);
    let read_all = |bytes: Vec<u8>| cells(&read(&source(bytes), &ReadOptions::default()).unwrap());
    let mut rows = read_all(input.clone());
    assert_eq!(read_all(copied(3, &[keep; 3]).unwrap()), rows);
    let changed = copied(3, &[keep, drop, Change::Label("c")]).unwrap();
    rows.remove(1);
    rows[1][3] = "c".into();
    assert_eq!(read_all(changed.clone()), rows);
    let types = |bytes: Vec<u8>| {
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        file.metadata().file_metadata().schema().clone()
    };
    assert_eq!(types(changed), types(input));
    let renumbered = copied(0, &[Change::Label("1152921504606846985"), keep, keep]).unwrap();
    assert_eq!(read_all(renumbered)[0][0], "1152921504606846985");
    let error = copied(0, &[keep, keep, Change::Label("x")]).unwrap_err();
    assert!(error.contains("t.parquet, row 2, column 'acct': 'x' cannot be a label there"), "{error}");
    assert!(error.contains("as .csv"), "{error}");
}

#[test]
fn a_copy_of_several_row_groups_keeps_its_rows_and_metadata() {
    let group = |digit: &str| {
        let x = column("x", Kind::Numeric, &[Some(digit), Some("9")]);
        Table::new(vec![x, column("y", Kind::Categorical, &[Some("a"), None])]).unwrap()
    };
    let copied = |bytes: Vec<u8>, changes: &[Change<'_>]| {
        let Opened::Parquet(file) = open(&source(bytes), &ReadOptions::default()).unwrap() else { panic!() };
        let mut copy = Vec::new();
        copy_parquet(&file, &mut copy, file.names().len() - 1, changes).unwrap();
        copy
    };
    let changes = [Change::Keep, Change::Label("b"), Change::Drop, Change::Drop, Change::Label("c"), Change::Keep];
    let copy = copied(written(&["1", "2", "3"].map(group)), &changes);
    let input = read(&source(copy), &ReadOptions::default()).unwrap();
    assert_eq!(cells(&input), [["1", "a"], ["9", "b"], ["3", "c"], ["9", "-"]]);

    let about = vec![KeyValue::new("about".to_string(), "a frame".to_string())];
    let properties = WriterProperties::builder().set_key_value_metadata(Some(about.clone())).build();
    let described = raw("message schema { REQUIRED DOUBLE y; }", properties, |_, writer| {
        if let ColumnWriter::DoubleColumnWriter(writer) = writer {
            writer.write_batch(&[1.0], None, None).unwrap();
        }
    });
    let file = SerializedFileReader::new(bytes::Bytes::from(copied(described, &[Change::Label("2")]))).unwrap();
    assert_eq!(file.metadata().file_metadata().key_value_metadata(), Some(&about));
}
