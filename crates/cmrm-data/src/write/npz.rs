//! Archives in NumPy's format: features and, where there are any, labels in one file.

use std::io::{Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::npy::{array_header, write_numbers};
use super::write_npy_labels;
use crate::error::{Error, Problem, Result};

/// Writes the array `features`, rows of 32-bit floats, and perhaps the array `labels`, uncompressed as `numpy.savez` does.
pub struct NpzWriter<W: Write + Seek> {
    archive: ZipWriter<W>,
    width: usize,
    /// Numbers that are still to come.
    left: u64,
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Starts an archive for so many rows of `width` numbers: an entry cannot be changed once it is written.
    pub fn new(writer: W, rows: usize, width: usize) -> Result<Self> {
        let left = rows as u64 * width as u64;
        let mut archive = ZipWriter::new(writer);
        archive.start_file("features.npy", entry(left.saturating_mul(4))).map_err(failed)?;
        archive.write_all(&array_header(rows as u64, width)?)?;
        Ok(NpzWriter { archive, width, left })
    }

    /// Adds rows.
    pub fn write(&mut self, values: &[f32]) -> Result<()> {
        if !values.len().is_multiple_of(self.width) || values.len() as u64 > self.left {
            let (expected, found) = (self.left, values.len() as u64);
            return Err(Error::new(Problem::Shape {
                what: "numbers for the rest of the array".into(),
                expected,
                found,
            }));
        }
        self.left -= values.len() as u64;
        write_numbers(&mut self.archive, values)
    }

    /// Writes the labels, one a row, and the end of the archive.
    pub fn finish<S: AsRef<str>>(mut self, labels: Option<&[S]>) -> Result<()> {
        if self.left > 0 {
            return Err(Error::internal(format!("{} numbers of the array are missing", self.left)));
        }
        if let Some(labels) = labels {
            let longest = labels.iter().map(|label| label.as_ref().len()).max().unwrap_or(0) as u64;
            let bytes = (labels.len() as u64).saturating_mul(longest).saturating_mul(4);
            self.archive.start_file("labels.npy", entry(bytes)).map_err(failed)?;
            write_npy_labels(&mut self.archive, labels)?;
        }
        self.archive.finish().map_err(failed)?.flush()?;
        Ok(())
    }
}

/// An entry of about so many bytes, without a date: the same data gives the same file.
fn entry(bytes: u64) -> SimpleFileOptions {
    let plain = SimpleFileOptions::DEFAULT.compression_method(CompressionMethod::Stored);
    plain.large_file(bytes > u64::from(u32::MAX / 2))
}

fn failed(error: zip::result::ZipError) -> Error {
    match error {
        zip::result::ZipError::Io(error) => error.into(),
        other => Error::internal(format!("an NPZ archive: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::Features;
    use crate::read::{ReadOptions, Source, read_npz};

    fn written(labels: Option<&[&str]>) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = NpzWriter::new(&mut bytes, 3, 2).unwrap();
        writer.write(&[1.0, 2.0]).unwrap();
        writer.write(&[3.0, 4.0, 5.0, -6.5]).unwrap();
        writer.finish(labels).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn an_archive_reads_back() {
        for labels in [None, Some(&["a", "", "grün"][..])] {
            let bytes = written(labels);
            assert_eq!(bytes, written(labels));
            let input = read_npz(&Source::bytes("x.npz", bytes), &ReadOptions::default()).unwrap();
            let Features::Array(array) = input.features else { panic!("an array") };
            assert_eq!((array.values(), array.width()), (&[1.0, 2.0, 3.0, 4.0, 5.0, -6.5][..], 2));
            let read =
                input.labels.map(|column| (0..3).map(|row| column.text(row).map(|text| text.into_owned())).collect());
            let expected = labels.map(|_| vec![Some("a".to_owned()), None, Some("grün".to_owned())]);
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn rows_that_were_not_promised_are_refused_and_so_is_an_unfinished_array() {
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = NpzWriter::new(&mut bytes, 1, 2).unwrap();
        assert!(writer.write(&[1.0]).is_err());
        assert!(writer.write(&[1.0; 4]).is_err());
        assert!(writer.finish::<&str>(None).is_err());
    }
}
