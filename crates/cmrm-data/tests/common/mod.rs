//! Helpers that several test files share.
#![allow(dead_code, missing_docs)]

use cmrm::SparseRows;
use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::{Error, Features, Input, Table};
use proptest::prelude::*;

pub fn csv(text: impl AsRef<[u8]>) -> Source {
    Source::bytes("t.csv", text.as_ref().to_vec())
}

pub fn read_csv(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Input, Error> {
    read(&csv(text), options)
}

pub fn labelled(label: &str) -> ReadOptions {
    ReadOptions { label: Some(label.into()), ..ReadOptions::default() }
}

pub fn table(input: &Input) -> &Table {
    match &input.features {
        Features::Table(table) => table,
        _ => panic!("an array where a table is expected"),
    }
}

/// All cells as text, `-` for a missing one.
pub fn cells(input: &Input) -> Vec<Vec<String>> {
    let table = table(input);
    let cell = |row, column: &cmrm_data::Column| column.text(row).map_or("-".to_string(), |text| text.into_owned());
    (0..table.rows()).map(|row| table.columns().iter().map(|column| cell(row, column)).collect()).collect()
}

/// An NPY file of version 1 with this dictionary and these bytes.
pub fn npy(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut header = dictionary.to_string();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

pub fn npy_of(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    npy(&format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"), data)
}

pub fn sparse(input: &Input) -> &SparseRows<f32> {
    match &input.features {
        Features::Sparse(array) => &array.rows,
        _ => panic!("no sparse array"),
    }
}

/// All numbers, row after row.
pub fn dense(rows: &SparseRows<f32>) -> Vec<f32> {
    let mut values = vec![0.0; rows.rows() * rows.width()];
    for (row, cells) in rows.view().iter_rows().enumerate() {
        cells.iter().for_each(|(column, value)| values[row * rows.width() + column] = value);
    }
    values
}

/// Every kept number as its row, its column and itself.
pub fn triples(rows: &SparseRows<f32>) -> Vec<(usize, usize, f32)> {
    let all = rows.view().iter_rows().enumerate();
    all.flat_map(|(row, cells)| cells.iter().map(move |(column, value)| (row, column, value))).collect()
}

/// Sparse rows, some of them empty.
pub fn matrices() -> impl Strategy<Value = SparseRows<f32>> {
    let number = prop_oneof![-100f32..100.0, any::<f32>().prop_filter("a number", |value| value.is_finite())];
    let number = number.prop_filter("not zero", |value| *value != 0.0);
    (1..12usize).prop_flat_map(move |width| {
        let row = prop::collection::btree_map(0..width as u32, number.clone(), 0..=width);
        prop::collection::vec(row, 1..10).prop_map(move |rows| {
            let mut matrix = SparseRows::empty(width).unwrap();
            rows.into_iter().for_each(|row| matrix.push(&row.into_iter().collect::<Vec<_>>()).unwrap());
            matrix
        })
    })
}
