//! Files to refuse, and a good one beside them.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use cmrm_data::write::ParquetTableWriter;
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

/// The entries by which an Excel workbook is known.
pub fn workbook(path: &Path) {
    let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
    for name in ["[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(b"<xml/>").unwrap();
    }
    archive.finish().unwrap();
}

/// A gzip file that breaks off in a block of 65,535 bytes.
pub fn cut_gzip(path: &Path) {
    let head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\xff\xff\0\0";
    fs::write(path, [&head[..], b"a,y\n1,no\n2,yes\n"].concat()).unwrap();
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

/// A small matrix as SciPy writes it, with this width and these starts of the rows, which are 0, 1 and 2.
pub fn sparse(path: &Path, format: &str, width: u64, starts: &[u32]) {
    let mut archive = zip::ZipWriter::new(File::create(path).unwrap());
    let mut add = |name: &str, kind: &str, shape: &str, bytes: Vec<u8>| {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&[npy_header(kind, shape), bytes].concat()).unwrap();
    };
    let ints = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    add("indices", "<i4", "(2,)", ints(&[0, 3]));
    add("indptr", "<i4", "(3,)", ints(starts));
    add("format", "|S3", "()", format.as_bytes().to_vec());
    add("shape", "<i8", "(2,)", [2, width].iter().flat_map(|size| size.to_le_bytes()).collect());
    add("data", "<f4", "(2,)", [1f32, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect());
    archive.finish().unwrap();
}

/// Forty million rows of one number and one label, in some kilobytes.
pub fn constant_parquet(path: &Path) {
    let rows = 1_000_000;
    let table =
        Table::new(vec![Column::numeric("x", vec![1.0; rows]), Column::categorical("y", &vec!["no"; rows])]).unwrap();
    let mut writer = ParquetTableWriter::new(File::create(path).unwrap());
    (0..40).for_each(|_| writer.write(&table).unwrap());
    writer.finish().unwrap();
}

/// A header of 60,000 names, two of which are the same, and a row: each longer than 256 KiB.
pub fn wide_table(path: &Path) {
    let names: String = (0..59_999).map(|at| format!("gene{at},")).collect();
    fs::write(path, format!("{names}gene7,class\n{}sick\n", "0.25,".repeat(60_000))).unwrap();
}

/// 32,000 rows of 16,000 classes.
pub fn many_classes(path: &Path) {
    let rows: String = (0..32_000).map(|row| format!("{},{}\n", row % 7, row / 2)).collect();
    fs::write(path, format!("x,y\n{rows}")).unwrap();
}

/// A finished run of the good table, in `run`.
pub fn run(folder: &Path) {
    table(&folder.join("good.csv"), "");
    let fit = ["fit", "good.csv", "--label", "churned", "--epochs", "1", "--hidden", "4", "--out", "run", "--quiet"];
    crate::common::succeed(folder, &fit);
}

/// The same as an earlier version left it, without checksums.
pub fn earlier_run(folder: &Path) {
    run(folder);
    crate::common::unseal(&folder.join("run"));
}

/// Replaces text in a file, which must hold it; the two have the same length where the file counts its bytes.
pub fn replace(path: &Path, old: &str, new: &str) {
    let bytes = fs::read(path).unwrap();
    let at = bytes.windows(old.len()).position(|piece| piece == old.as_bytes()).expect("the text is there");
    let new = [&bytes[..at], new.as_bytes(), &bytes[at + old.len()..]].concat();
    fs::write(path, new).unwrap();
}
