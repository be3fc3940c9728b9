//! How much memory a small Parquet file may ask for.

use cmrm_data::read::{ReadOptions, Source, open, read};
use cmrm_data::write::ParquetTableWriter;
use cmrm_data::{Column, Table};

/// A file whose one column is always 7.
fn constant(million_rows: usize) -> Source {
    let table = Table::new(vec![Column::numeric("a", vec![7.0; 1_000_000])]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ParquetTableWriter::new(&mut bytes);
    (0..million_rows).for_each(|_| writer.write(&table).unwrap());
    writer.finish().unwrap();
    assert!(bytes.len() < 1_000_000, "{}", bytes.len());
    Source::bytes("t.parquet", bytes)
}

#[test]
fn a_column_that_repeats_one_value_takes_no_more_memory_than_a_packed_file_may() {
    let large = constant(34);
    let error = read(&large, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "t.parquet: the table of 34000000 rows and 1 columns, at eight bytes per cell, is 272000000, over the limit of \
         268435456; if you trust the file, leave out columns that hardly vary, or write it plainly: in pandas \
         to_parquet(file, compression=None, use_dictionary=False)"
    );
    // In chunks it is never in memory as a whole, and what fits is read.
    let chunk = open(&large, &ReadOptions::default()).unwrap().chunks(10).unwrap().next().unwrap().unwrap();
    assert_eq!(chunk.features.rows(), 10);
    assert_eq!(read(&constant(1), &ReadOptions::default()).unwrap().features.rows(), 1_000_000);
}
