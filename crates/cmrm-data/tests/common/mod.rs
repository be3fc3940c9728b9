//! Helpers that several test files share.
#![allow(dead_code, missing_docs)]

use cmrm_data::read::{ReadOptions, Source, read};
use cmrm_data::{Error, Features, Input, Table};

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
        Features::Array(_) => panic!("an array where a table is expected"),
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
