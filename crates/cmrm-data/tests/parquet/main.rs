//! Parquet: every type, missing cells, chunks over row groups, copies, and what is refused.

#[path = "../common/mod.rs"]
mod common;
mod copy;

use std::sync::Arc;

use cmrm_data::read::{Limits, ReadOptions, Source, open, read};
use cmrm_data::table::ColumnBuilder;
use cmrm_data::write::ParquetTableWriter;
use cmrm_data::{Column, Kind, LabelOptions, Override, Table};
use common::{cells, labelled, table};
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

fn written(tables: &[Table]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ParquetTableWriter::new(&mut bytes);
    for table in tables {
        writer.write(table).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

fn source(bytes: impl Into<Vec<u8>>) -> Source {
    Source::bytes("t.parquet", bytes.into())
}

fn refused(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> String {
    read(&source(bytes), options).unwrap_err().to_string()
}

fn column(name: &str, kind: Kind, cells: &[Option<&str>]) -> Column {
    let mut builder = ColumnBuilder::new(kind);
    for cell in cells {
        match cell {
            Some(text) => assert!(builder.push_text(text)),
            None => builder.push_missing(),
        }
    }
    builder.finish(name)
}

fn sample() -> Table {
    Table::new(vec![
        column("n", Kind::Numeric, &[Some("1.5"), None, Some("-1e300")]),
        column("b", Kind::Boolean, &[None, Some("true"), Some("false")]),
        column("c", Kind::Categorical, &[Some("é"), Some("x,y"), None]),
        column("d", Kind::Date, &[Some("2024-02-29"), Some("1969-12-31 23:59:59.5"), None]),
        column("y", Kind::Categorical, &[Some("01"), Some("1"), Some("1")]),
    ])
    .unwrap()
}

#[test]
fn what_is_written_is_read_back() {
    let input = read(&source(written(&[sample()])), &ReadOptions::default()).unwrap();
    // A missing number is NaN inside, which equals nothing.
    assert_eq!(format!("{:?}", table(&input)), format!("{:?}", sample()));
    let input = read(&source(written(&[sample(), sample()])), &labelled("y")).unwrap();
    let labels = input.encode_labels(&LabelOptions::default()).unwrap().labels;
    assert_eq!((labels.classes, labels.indices), (vec!["01".into(), "1".into()], vec![0, 1, 1, 0, 1, 1]));
    assert_eq!(table(&input).names(), ["n", "b", "c", "d"]);
}

/// Writes one row group of required columns with the crate's own writer.
fn raw(schema: &str, properties: WriterProperties, write: impl Fn(usize, &mut ColumnWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut at = 0;
    while let Some(mut column) = group.next_column().unwrap() {
        write(at, column.untyped());
        column.close().unwrap();
        at += 1;
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

const EVERY_TYPE: &str = "message schema {
    REQUIRED INT32 plain;
    REQUIRED INT32 small (INTEGER(8,true));
    REQUIRED INT32 natural (INTEGER(32,false));
    REQUIRED INT64 long;
    REQUIRED INT64 huge (INTEGER(64,false));
    REQUIRED INT32 day (DATE);
    REQUIRED INT64 milli (TIMESTAMP(MILLIS,true));
    REQUIRED INT64 micro (TIMESTAMP(MICROS,false));
    REQUIRED INT64 nano (TIMESTAMP(NANOS,true));
    REQUIRED INT96 spark;
    REQUIRED FLOAT single;
    REQUIRED DOUBLE double;
    REQUIRED FIXED_LEN_BYTE_ARRAY (2) half (FLOAT16);
    REQUIRED INT32 cents (DECIMAL(9,2));
    REQUIRED FIXED_LEN_BYTE_ARRAY (5) euros (DECIMAL(10,3));
    REQUIRED BYTE_ARRAY pounds (DECIMAL(10,1));
    REQUIRED FIXED_LEN_BYTE_ARRAY (16) id (UUID);
    REQUIRED BYTE_ARRAY text (UTF8);
    REQUIRED BYTE_ARRAY level (ENUM);
    REQUIRED BOOLEAN flag;
}";

fn every_type(at: usize, writer: &mut ColumnWriter<'_>) {
    let fixed = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
    match writer {
        ColumnWriter::Int32ColumnWriter(writer) => writer.write_batch(
            &[[7, -1], [-8, 8], [-1, 5], [19_782, -1], [12_345, -5]][match at {
                0..=2 => at,
                5 => 3,
                _ => 4,
            }],
            None,
            None,
        ),
        ColumnWriter::Int64ColumnWriter(writer) => {
            let values = match at {
                3 => [i64::MIN, 3],
                4 => [-1, 3],
                6 => [1_717_150_500_250, -1],
                7 => [1_717_150_500_250_000, -1],
                _ => [1_717_150_500_250_000_000, -1],
            };
            writer.write_batch(&values, None, None)
        }
        ColumnWriter::Int96ColumnWriter(writer) => {
            // 2024-05-31 is Julian day 2,460,462; half past one in the morning.
            let nanoseconds = 5_400_000_000_000u64;
            let mut value = Int96::new();
            value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, 2_460_462);
            let mut epoch = Int96::new();
            epoch.set_data(0, 0, 2_440_588);
            writer.write_batch(&[value, epoch], None, None)
        }
        ColumnWriter::FloatColumnWriter(writer) => writer.write_batch(&[0.1, -0.0], None, None),
        ColumnWriter::DoubleColumnWriter(writer) => writer.write_batch(&[0.1, f64::MAX], None, None),
        ColumnWriter::FixedLenByteArrayColumnWriter(writer) => match at {
            12 => writer.write_batch(&[fixed(&[0x00, 0x3c]), fixed(&[0x00, 0xc0])], None, None),
            14 => writer.write_batch(&[fixed(&[0, 0, 0, 0x04, 0xd2]), fixed(&[0xff; 5])], None, None),
            _ => writer.write_batch(&[fixed(&[0x11; 16]), fixed(&[0xee; 16])], None, None),
        },
        ColumnWriter::ByteArrayColumnWriter(writer) => match at {
            15 => writer.write_batch(&[ByteArray::from(vec![0x04, 0xd2]), ByteArray::from(vec![0xff])], None, None),
            _ => writer.write_batch(&[ByteArray::from("a"), ByteArray::from("bé")], None, None),
        },
        ColumnWriter::BoolColumnWriter(writer) => writer.write_batch(&[true, false], None, None),
    }
    .unwrap();
}

#[test]
fn every_type_has_its_meaning() {
    let expected = [
        ["7", "-8", "4294967295", "-9223372036854776000", "18446744073709551615"],
        [
            "2024-02-29",
            "2024-05-31 10:15:00.25",
            "2024-05-31 10:15:00.25",
            "2024-05-31 10:15:00.25",
            "2024-05-31 01:30:00",
        ],
        ["0.10000000149011612", "0.1", "1", "123.45", "1.234"],
        ["123.4", "11111111-1111-1111-1111-111111111111", "a", "a", "true"],
    ]
    .concat();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
    ] {
        for dictionary in [true, false] {
            let properties =
                WriterProperties::builder().set_compression(compression).set_dictionary_enabled(dictionary).build();
            let bytes = raw(EVERY_TYPE, properties, every_type);
            let input = read(&source(bytes), &ReadOptions::default()).unwrap();
            let rows = cells(&input);
            assert_eq!(rows[0], expected, "{compression}");
            assert_eq!(rows[1][..4], ["-1", "8", "5", "3"]);
            assert_eq!(
                rows[1][5..10],
                [
                    "1969-12-31",
                    "1969-12-31 23:59:59.999",
                    "1969-12-31 23:59:59.999999",
                    "1969-12-31 23:59:59.999999",
                    "1970-01-01"
                ]
            );
            assert_eq!(rows[1][13..16], ["-0.05", "-0.001", "-0.1"]);
        }
    }
    // As labels, integers keep every digit.
    let bytes = raw(EVERY_TYPE, WriterProperties::builder().build(), every_type);
    for (label, classes) in
        [("long", ["-9223372036854775808", "3"]), ("huge", ["3", "18446744073709551615"]), ("single", ["-0", "0.1"])]
    {
        let input = read(&source(bytes.clone()), &labelled(label)).unwrap();
        assert_eq!(input.encode_labels(&LabelOptions::default()).unwrap().labels.classes, classes);
    }
    // The types that a column is turned into on request.
    let mut options = ReadOptions::default();
    options.overrides.insert("plain".into(), Override::Categorical);
    options.overrides.insert("flag".into(), Override::Numeric);
    options.overrides.insert("text".into(), Override::Ignore);
    let input = read(&source(bytes.clone()), &options).unwrap();
    assert_eq!(table(&input).column("plain").unwrap().kind(), Kind::Categorical);
    assert_eq!(table(&input).column("flag").unwrap().text(0).unwrap(), "1");
    assert!(table(&input).column("text").is_none());
    options.overrides.insert("level".into(), Override::Date);
    let error = refused(bytes, &options);
    assert!(error.starts_with("t.parquet, row 0, column 'level': 'a' is not a date value"), "{error}");
}

#[test]
fn encodings_that_writers_choose_between() {
    let schema =
        "message schema { REQUIRED INT64 i; REQUIRED BYTE_ARRAY s (UTF8); REQUIRED DOUBLE f; REQUIRED BOOLEAN b; }";
    for version in
        [parquet::file::properties::WriterVersion::PARQUET_1_0, parquet::file::properties::WriterVersion::PARQUET_2_0]
    {
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_dictionary_enabled(false)
            .set_column_encoding("i".into(), Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding("s".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
            .set_column_encoding("f".into(), Encoding::BYTE_STREAM_SPLIT)
            .build();
        let bytes = raw(schema, properties, |_, writer| {
            match writer {
                ColumnWriter::Int64ColumnWriter(writer) => {
                    writer.write_batch(&(0..500).map(|i| i * i).collect::<Vec<_>>(), None, None)
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => writer.write_batch(
                    &(0..500).map(|i| ByteArray::from(format!("s{i}").as_str())).collect::<Vec<_>>(),
                    None,
                    None,
                ),
                ColumnWriter::DoubleColumnWriter(writer) => {
                    writer.write_batch(&(0..500).map(|i| f64::from(i) / 3.0).collect::<Vec<_>>(), None, None)
                }
                ColumnWriter::BoolColumnWriter(writer) => {
                    writer.write_batch(&(0..500).map(|i| i % 3 == 0).collect::<Vec<_>>(), None, None)
                }
                _ => unreachable!(),
            }
            .unwrap();
        });
        let rows = cells(&read(&source(bytes), &ReadOptions::default()).unwrap());
        assert_eq!(rows.len(), 500);
        assert_eq!(rows[499], ["249001", "s499", &(499.0 / 3.0).to_string(), "false"]);
    }
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("s".into(), Encoding::DELTA_BYTE_ARRAY)
        .build();
    let bytes = raw("message schema { REQUIRED BYTE_ARRAY s (UTF8); }", properties, |_, writer| {
        if let ColumnWriter::ByteArrayColumnWriter(writer) = writer {
            writer.write_batch(&[ByteArray::from("a"), ByteArray::from("ab")], None, None).unwrap();
        }
    });
    assert!(refused(bytes, &ReadOptions::default()).contains("DELTA_BYTE_ARRAY is not supported"));
}

#[test]
fn chunks_put_together_are_the_file() {
    let part = |start: usize, rows: usize| {
        let cells: Vec<Option<String>> =
            (start..start + rows).map(|row| (row % 5 != 0).then(|| format!("{}", row % 11))).collect();
        let cells: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
        Table::new(vec![column("n", Kind::Numeric, &cells), column("y", Kind::Categorical, &cells)]).unwrap()
    };
    let bytes = written(&[part(0, 2500), part(2500, 1), part(2501, 1200)]);
    let whole = read(&source(bytes.clone()), &ReadOptions::default()).unwrap();
    assert_eq!(cells(&whole), {
        let mut all = part(0, 2500);
        all.append(part(2500, 1201)).unwrap();
        let all = cmrm_data::Input {
            features: cmrm_data::Features::Table(all),
            labels: None,
            ids: None,
            source: String::new(),
        };
        cells(&all)
    });
    for rows in [1, 999, 4000] {
        let mut joined: Option<cmrm_data::Input> = None;
        for chunk in open(&source(bytes.clone()), &ReadOptions::default()).unwrap().chunks(rows).unwrap() {
            let chunk = chunk.unwrap();
            assert!(chunk.features.rows() <= rows);
            match &mut joined {
                None => joined = Some(chunk),
                Some(joined) => {
                    assert_eq!(chunk.features.first_row(), joined.features.rows() as u64);
                    joined.append(chunk).unwrap();
                }
            }
        }
        assert_eq!(cells(&joined.unwrap()), cells(&whole));
    }
}

#[test]
fn a_cut_or_foreign_file_is_refused() {
    let plain = ReadOptions::default();
    let bytes = written(&[sample()]);
    for (bytes, message) in [
        (bytes[..bytes.len() - 1].to_vec(), "it does not end with the magic PAR1; the file is incomplete"),
        (bytes[..11].to_vec(), "11 bytes cannot hold a footer"),
        (b"PAR1\xff\xff\xff\x7fPAR1".to_vec(), "the footer is 2147483647 bytes long, but only 4 bytes precede it"),
        (b"PAR1\0\0\0\0PARE".to_vec(), "an encrypted Parquet file is not supported"),
        (b"not a table at all".to_vec(), "it does not end with the magic PAR1"),
    ] {
        let error = refused(bytes, &plain);
        assert!(error.starts_with("t.parquet: ") && error.contains(message), "{error}");
    }
    // Pages that are overwritten with zeros are found out as well.
    let mut zeroed = bytes.clone();
    zeroed[4..40].fill(0);
    assert!(refused(zeroed, &plain).contains("not a readable Parquet file"));
    assert!(refused(bytes.clone(), &labelled("Y ")).contains("did you mean 'y'?"));
    // The codec of the first column chunk is a field of the footer: 1 is snappy, 4 brotli (doubled by zigzag).
    let brotli = bytes.windows(4).rposition(|window| window == [b'n', 0x15, 0x02, 0x16]);
    let mut brotli_bytes = bytes.clone();
    brotli_bytes[brotli.unwrap() + 2] = 0x08;
    let error = refused(brotli_bytes, &plain);
    assert!(error.contains("Parquet's compression BROTLI") && error.contains("write it with snappy"), "{error}");
    let nested = "message schema { REQUIRED GROUP g { REQUIRED INT32 a; REQUIRED INT32 b; } REQUIRED INT32 c; }";
    let nested = raw(nested, WriterProperties::builder().build(), |_, writer| {
        if let ColumnWriter::Int32ColumnWriter(writer) = writer {
            writer.write_batch(&[1, 2], None, None).unwrap();
        }
    });
    let error = refused(nested.clone(), &plain);
    assert!(error.starts_with("t.parquet, column 'g.a': a nested column is not supported"), "{error}");
    let mut ignoring = ReadOptions::default();
    for name in ["g.a", "g.b"] {
        ignoring.overrides.insert(name.into(), Override::Ignore);
    }
    assert_eq!(cells(&read(&source(nested), &ignoring).unwrap()), [["1"], ["2"]]);
}

#[test]
fn sizes_are_limited() {
    let bytes = written(&[sample()]);
    let limits = Limits { unpacked_bytes: 100, ..Limits::default() };
    let error = refused(bytes.clone(), &ReadOptions { limits, ..ReadOptions::default() });
    assert!(
        error.contains("the table of 3 rows and 5 columns, at eight bytes per cell, is 120, over the limit of 100")
    );
    let limits = Limits { page_bytes: 10, ..Limits::default() };
    let error = refused(bytes, &ReadOptions { limits, ..ReadOptions::default() });
    assert!(error.contains("over the limit of 10"), "{error}");
}

#[test]
fn the_row_numbers_of_a_data_frame_are_no_feature() {
    let index = column("__index_level_0__", Kind::Numeric, &[Some("0"), Some("1")]);
    let table_with = Table::new(vec![column("a", Kind::Numeric, &[Some("5"), Some("6")]), index]).unwrap();
    let input = read(&source(written(&[table_with])), &ReadOptions::default()).unwrap();
    assert_eq!(table(&input).names(), ["a"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_are_refused_or_read_but_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        cuts in prop::bool::weighted(0.2),
    ) {
        let mut bytes = written(&[sample(), sample()]);
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        let limits = Limits { unpacked_bytes: 1 << 24, page_bytes: 1 << 20 };
        let _ = read(&source(bytes), &ReadOptions { limits, ..ReadOptions::default() });
    }
}
