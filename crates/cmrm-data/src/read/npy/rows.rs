//! Rows of an array in a file, read where and when they are wanted, by any number of threads.

use std::fs::File;

use cmrm::audit::RowSource;

use super::{Dtype, ElementKind, Header, Open};
use crate::error::{Error, Result};
use crate::read::source::Content;
use crate::read::{ReadOptions, Source};

/// A row-major array of numbers in a file, which need not fit into memory.
#[derive(Debug)]
pub struct NpyRows {
    file: File,
    header: Header,
    name: String,
    rows: usize,
    width: usize,
}

impl NpyRows {
    /// Opens the file; `None` for what cannot be read in any order: packed files, bytes in memory, arrays with the first
    /// index fastest, and on systems where threads share the place they read from.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Option<Self>> {
        let Content::File(path) = source.content() else { return Ok(None) };
        let Open { header, present, .. } = super::open(source, options)?;
        if header.fortran || present.is_none() || !cfg!(unix) {
            return Ok(None);
        }
        let in_file = |error: Error| error.in_file(source.name());
        header.dtype.check_numeric().map_err(in_file)?;
        let (rows, width) = header.rows_and_width().map_err(in_file)?;
        let file = File::open(path).map_err(|error| in_file(error.into()))?;
        Ok(Some(NpyRows { file, header, name: source.name().to_string(), rows, width }))
    }

    /// Puts `count` rows from `first` on into `values`, whatever was there.
    fn read_into(&self, first: usize, count: usize, values: &mut Vec<f32>) -> std::io::Result<()> {
        const PLAIN: Dtype = Dtype { kind: ElementKind::Float, size: 4, big_endian: cfg!(target_endian = "big") };
        let dtype = self.header.dtype;
        let offset = self.header.data_offset + first as u64 * self.width as u64 * dtype.size as u64;
        if dtype == PLAIN {
            values.resize(count * self.width, 0.0);
            return read_exact_at(&self.file, bytemuck::cast_slice_mut(values), offset);
        }
        let mut bytes = vec![0; count * self.width * dtype.size];
        read_exact_at(&self.file, &mut bytes, offset)?;
        values.clear();
        dtype.append_f32(&bytes, values);
        Ok(())
    }
}

impl RowSource<f32> for NpyRows {
    fn rows(&self) -> usize {
        self.rows
    }

    fn classes(&self) -> usize {
        self.width
    }

    fn read<'a>(&'a self, first: usize, count: usize, room: &'a mut Vec<f32>) -> cmrm::Result<&'a [f32]> {
        self.read_into(first, count, room).map_err(|error| cmrm::Error::Invalid {
            what: "rows of an array",
            reason: format!("{}, from row {first}: {error}; did the file change meanwhile?", self.name),
        })?;
        Ok(room)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(not(unix))]
fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
