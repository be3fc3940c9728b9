//! Files to refuse, and a good one beside them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use cmrm_data::{Column, Table};

/// A good table of sixty rows, and more lines after it.
pub fn table(path: &Path, more: &str) {
    crate::common::write_table(path, 60);
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text + more).unwrap();
}

/// The first bytes of a Parquet file.
pub fn cut_parquet(path: &Path) {
    let table = Table::new(vec![
        Column::numeric("x", (0..50).map(f64::from).collect()),
        Column::categorical("y", &(0..50).map(|row| ["no", "yes"][row % 2]).collect::<Vec<_>>()),
    ]);
    cmrm_data::write::write_table(path, &table.unwrap()).unwrap();
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// Magic, version and header of an NPY file.
fn npy_header(kind: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    [b"\x93NUMPY\x01\x00\x76\x00".to_vec(), format!("{header:<117}\n").into_bytes()].concat()
}

/// An NPY file of floats that declares `shape`.
pub fn npy(path: &Path, shape: &str, values: &[f32]) {
    let mut bytes = npy_header("<f4", shape);
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

/// Labels 0 and 1 in turn, as text.
pub fn labels(path: &Path, rows: usize) {
    fs::write(path, (0..rows).map(|row| format!("{}\n", row % 2)).collect::<String>()).unwrap();
}

/// An archive of a few hundred kilobytes that unpacks to 300 MB of zeros.
pub fn zip_bomb(path: &Path) {
    let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("X.npy", options).unwrap();
    archive.write_all(&npy_header("|u1", "(300, 1000000)")).unwrap();
    let zeros = vec![0; 1_000_000];
    for _ in 0..300 {
        archive.write_all(&zeros).unwrap();
    }
    archive.finish().unwrap();
}

/// A finished run of the good table, in `run`.
pub fn run(folder: &Path) {
    table(&folder.join("good.csv"), "");
    let fit = ["fit", "good.csv", "--label", "churned", "--epochs", "1", "--hidden", "4", "--out", "run", "--quiet"];
    crate::common::succeed(folder, &fit);
}

/// Replaces text in a file, which must hold it; the two have the same length where the file counts its bytes.
pub fn replace(path: &Path, old: &str, new: &str) {
    let bytes = fs::read(path).unwrap();
    let at = bytes.windows(old.len()).position(|piece| piece == old.as_bytes()).expect("the text is there");
    let new = [&bytes[..at], new.as_bytes(), &bytes[at + old.len()..]].concat();
    fs::write(path, new).unwrap();
}
