//! Text in files whose columns have types, where a user says that it is something else.

mod common;

use cmrm_data::read::{ReadOptions, Source, open, read};
use cmrm_data::table::ColumnBuilder;
use cmrm_data::write::ParquetTableWriter;
use cmrm_data::{Column, Kind, Override, Table};
use common::cells;

fn stating(columns: &[(&str, Override)]) -> ReadOptions {
    let overrides = columns.iter().map(|(name, rule)| (name.to_string(), *rule)).collect();
    ReadOptions { overrides, ..ReadOptions::default() }
}

fn names(name: &str, cells: &[Option<&str>]) -> Column {
    let mut builder = ColumnBuilder::new(Kind::Categorical);
    for cell in cells {
        match cell {
            Some(text) => builder.push_name(text),
            None => builder.push_missing(),
        }
    }
    builder.finish(name)
}

#[test]
fn all_cells_of_a_parquet_column_decide_how_it_is_written() {
    let mut bytes = Vec::new();
    let mut writer = ParquetTableWriter::new(&mut bytes);
    // Only the last row group tells the month from the day.
    for (days, prices) in [
        (&[Some("05/06/2024"), Some("NaT"), None][..], &[Some("1,234"), Some(""), Some("1,5")][..]),
        (&[Some(" 06/15/2024 ")], &[Some("2,75 €")]),
    ] {
        writer.write(&Table::new(vec![names("day", days), names("price", prices)]).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let source = Source::bytes("t.parquet", bytes);
    let options = stating(&[("day", Override::Date), ("price", Override::Numeric)]);
    let expected = [["2024-05-06", "1.234"], ["-", "-"], ["-", "1.5"], ["2024-06-15", "2.75"]];
    assert_eq!(cells(&read(&source, &options).unwrap()), expected);
    let chunks = open(&source, &options).unwrap().chunks(1).unwrap();
    assert_eq!(chunks.flat_map(|chunk| cells(&chunk.unwrap())).collect::<Vec<_>>(), expected);
    // What is stated in full needs no look.
    let error = read(&source, &stating(&[("day", Override::DateDayFirst)])).unwrap_err().to_string();
    assert!(error.starts_with("t.parquet, row 3, column 'day': ' 06/15/2024 ' is not a date value"), "{error}");
}

#[test]
fn a_few_bad_cells_count_as_missing_as_in_a_text_file() {
    let days: Vec<String> =
        (0..40).map(|row| if row == 7 { "soon".into() } else { format!("{}/01/24", row % 28 + 1) }).collect();
    let column = Column::categorical("day", &days);
    let mut bytes = Vec::new();
    let mut writer = ParquetTableWriter::new(&mut bytes);
    writer.write(&Table::new(vec![column]).unwrap()).unwrap();
    writer.finish().unwrap();
    let source = Source::bytes("t.parquet", bytes);
    let options = stating(&[("day", Override::Date)]);
    let found = cells(&read(&source, &options).unwrap());
    assert_eq!((found[7][0].as_str(), found[27][0].as_str()), ("-", "2024-01-28"));
    let error = read(&source, &ReadOptions { strict: true, ..options }).unwrap_err().to_string();
    assert!(error.starts_with("t.parquet, row 7, column 'day': 'soon' is not a date value"), "{error}");
}

#[test]
fn all_cells_of_an_arrow_column_decide_how_it_is_written() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/arrow/types_plain");
    let mut bytes = std::fs::read(path).unwrap();
    // The names of a dictionary, written over with numbers of the same length.
    let names = b"redbluegreen";
    let at = bytes.windows(names.len()).position(|window| window == names).unwrap();
    bytes[at..at + names.len()].copy_from_slice(b"1,52,753,125");
    let opened = open(&Source::bytes("t.arrow", bytes), &stating(&[("d", Override::Numeric)])).unwrap();
    for rows in [1, 5] {
        let chunks = opened.chunks(rows).unwrap();
        let found: Vec<String> = chunks.flat_map(|chunk| cells(&chunk.unwrap())).map(|row| row[9].clone()).collect();
        assert_eq!(found, ["1.5", "2.75", "1.5", "-", "3.125"]);
    }
}
